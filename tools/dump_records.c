/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record dump: one JSON object a line for each record, names resolved.
 * A line stands for itself, so it repeats the file and the thread.
 */
#include "dump.h"
#include "json_record.h"
#include "json_text.h"
#include "message.h"

#include <string.h>

static void record_line(struct out *out, const struct names *names,
                        const struct rbwp_record *record)
{
    out_text(out, ",");
    json_i64(out, "ts", record->time_ns);
    out_text(out, ",\"type\":\"");
    out_text(out, rbwp_kind_name(record->kind));
    out_text(out, "\"");
    switch (record->kind) {
    case RBWP_COARSE_BEGIN:
        json_slot_members(out, names, record->slot, record->time_ns);
        break;
    case RBWP_FINE_BEGIN:
        json_sub_item_members(out, names, record->sub_item, record->time_ns);
        break;
    case RBWP_GPU_WORK:
        out_text(out, ",");
        json_u64(out, "proc_id", record->proc_id);
        json_slot_members(out, names, record->slot, record->time_ns);
        out_text(out, ",");
        json_i64(out, "start", record->start_ns);
        out_text(out, ",");
        json_i64(out, "stop", record->stop_ns);
        break;
    default:
        break;
    }
    out_text(out, "}\n");
}

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
        out_text(&dump->out, "{");
        json_name(&dump->out, "file", input->path, strlen(input->path));
        json_thread_members(&dump->out, names, block->header.thread_id, block->first_ns);
        record_line(&dump->out, names, &record);
    }
}

enum exit_code dump_records(struct dump *dump, struct input *input)
{
    struct names names;
    if (!names_load(&names, input->reader)) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    struct filter filter;
    struct rbwp_block block;
    filter_start(&filter, &dump->options->filter, input->reader, &names);
    while (!out_failed(&dump->out) && input_next(input, &block))
        if (block.header.records > 0 && filter_block(&filter, &block))
            block_lines(dump, input, &filter, &names, &block);
    filter_stop(&filter);
    names_free(&names);
    return EXIT_GOOD;
}
