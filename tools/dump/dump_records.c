/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record dump: one JSON object a line for each record, names resolved.
 * A line stands for itself, so it repeats the file and the thread.
 */
#include "dump.h"
#include "dump_tables.h"
#include "json_line.h"
#include "message.h"

static void block_lines(struct dump *dump, const struct input *input, struct filter *filter,
                        const struct names *names, const struct rbwp_block *block)
{
    bool filtered = filter_is_set(&dump->options->filter);
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        if (filtered && !filter_record(filter, &record))
            continue;
        if (record.kind == RBWP_GPU_WORK)
            record.stop_ns = gpu_bias_stop(&dump->bias, record.proc_id, record.slot,
                                           record.start_ns, record.stop_ns);
        json_record_line(&dump->out, input->path, names, block->header.thread_id, block->first_ns,
                         &record);
    }
}

static void all_lines(struct dump *dump, struct input *input, struct filter *filter,
                      struct names *names, struct table_dump *tables)
{
    struct rbwp_block block;
    while (!out_failed(&dump->out) && input_next(input, &block))
        if (block.header.records == 0)
            table_dump_lines(tables, &dump->out, names, &block);
        else if (filter_block(filter, &block))
            block_lines(dump, input, filter, names, &block);
}

enum exit_code dump_records(struct dump *dump, struct input *input)
{
    struct names names;
    struct table_dump tables;
    struct filter filter;
    enum exit_code code = EXIT_BAD_DATA;
    if (!names_load(&names, input->reader)) {
        message("out of memory");
        return code;
    }
    filter_start(&filter, &dump->options->filter, input->reader, &names);
    if (table_dump_begin(&tables, dump, input)) {
        all_lines(dump, input, &filter, &names, &tables);
        code = tables.tables.broken || tables.tables.failed ? EXIT_PARTIAL : EXIT_GOOD;
    }
    table_dump_end(&tables);
    filter_stop(&filter);
    names_free(&names);
    return code;
}
