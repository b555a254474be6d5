/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block dump: a file as one JSON object, in the order of the file.
 *
 * Written in one pass, so what is known only at the end (counts, tables,
 * trailer, problems) comes after the blocks. A block's head is written with
 * its first wanted record; a block without one leaves no trace but in the
 * counts. The record writer is the hot loop of the tool: fixed pieces of text
 * are copied with constant lengths and digits go straight into the buffer.
 *
 * Blocks become text on several threads. Where a filter goes from record to
 * record, and in blocks with very many of them, the text is made here, piece
 * by piece.
 */
#include "dump_columns.h"
#include "dump_tables.h"
#include "json_line.h"
#include "json_text.h"
#include "message.h"
#include "pair_walk.h"
#include "result_print.h"

#include <stdlib.h>
#include <string.h>

struct block_dump {
    struct dump *dump;
    struct filter filter;
    struct table_dump tables;
    bool filtered, failed;
    struct ordered_jobs *jobs; /* of struct block_job */
    struct blocks_shown shown;
};

enum {
    RECORD_TEXT_MAX = 320, /* longest text of one record: fixed text, six numbers */
    PIECE_RECORDS = 64 << 10
};

static char *put_gpu_work(char *at, const struct rbwp_record *record)
{
    at = PUT(at, "GPU_WORK\",\"proc_id\":");
    at = put_u64(at, record->proc_id);
    at = PUT(at, ",\"slot\":");
    at = put_u64(at, record->slot);
    at = PUT(at, ",\"start\":");
    at = put_i64(at, record->start_ns);
    at = PUT(at, ",\"stop\":");
    at = put_i64(at, record->stop_ns);
    return PUT(at, "}");
}

static char *put_record(char *at, const struct rbwp_record *record)
{
    at = PUT(at, "{\"ts\":");
    at = put_i64(at, record->time_ns);
    at = PUT(at, ",\"ts_bytes\":");
    *at++ = (char)('0' + record->time_bytes);
    at = PUT(at, ",\"offset\":");
    at = put_u64(at, record->offset);
    at = PUT(at, ",\"type\":\"");
    switch (record->kind) {
    case RBWP_COARSE_BEGIN:
        at = PUT(at, "COARSE_BEGIN\",\"slot\":");
        at = put_u64(at, record->slot);
        return PUT(at, "}");
    case RBWP_COARSE_END:
        return PUT(at, "COARSE_END\"}");
    case RBWP_FINE_BEGIN:
        at = PUT(at, "FINE_BEGIN\",\"sub_item\":");
        at = put_u64(at, record->sub_item);
        return PUT(at, "}");
    case RBWP_FINE_END:
        return PUT(at, "FINE_END\"}");
    default:
        return put_gpu_work(at, record);
    }
}

static void block_head(struct out *out, const struct rbwp_block *block, bool first)
{
    out_text(out, first ? "\n{" : ",\n{");
    json_u64(out, "offset", block->offset);
    out_text(out, ",");
    result_json_members(out, file_block_columns, &(struct result_at){.row = &block->header});
    json_open(out, "records", '[');
}

/* The facts beside GPU_WORK records, if that is what the block holds. */
static void gpu_extras(struct out *out, const struct rbwp_block *block)
{
    uint64_t proc_id;
    uint32_t count;
    if (!rbwp_gpu_extras(block, &proc_id, &count))
        return;
    json_open(out, "gpu", '{');
    json_u64(out, "proc_id", proc_id);
    json_open(out, "entries", '[');
    for (uint32_t i = 0; i < count; i++) {
        struct rbwp_gpu_extra extra;
        rbwp_gpu_extra_get(block, i, &extra);
        out_text(out, i ? ",\n{" : "\n{");
        result_json_members(out, dump_gpu_columns, &(struct result_at){.row = &extra});
        out_text(out, "}");
    }
    out_text(out, "]}");
}

/* An extension: its tag and size, and what is in it if the format says what its tag means. Of
 * those only rows of tables have a place among the filters' conditions. */
static void opaque_block(struct block_dump *blocks, const struct rbwp_block *block)
{
    struct out *out = &blocks->dump->out;
    struct table_block seen;
    table_dump_take(&blocks->tables, block, &seen);
    if (blocks->filtered && !table_dump_wants(&blocks->tables, &seen))
        return;
    block_head(out, block, blocks->shown.blocks++ == 0);
    out_text(out, "]");
    json_bool(out, "opaque", true);
    json_name(out, "tag", (const char *)block->data,
              block->header.data_bytes < 4 ? block->header.data_bytes : 4);
    gpu_extras(out, block);
    table_dump_members(&blocks->tables, out, block, &seen);
    out_text(out, "}");
}

/* ---- records to text ------------------------------------------------------------------- */

struct block_text {
    const struct gpu_bias *bias;
    char *text;
    size_t used, room;
    uint64_t records;
    bool failed;
};

/* The next records of a block, at most PIECE_RECORDS of those that the filter (NULL: none) wants.
 * False at the end. separated: there were some before. */
static bool put_records(struct block_text *text, struct rbwp_record_iterator *iterator,
                        struct filter *filter, bool separated)
{
    struct rbwp_record record;
    text->used = 0;
    text->records = 0;
    while (text->records < PIECE_RECORDS) {
        if (!rbwp_record_next(iterator, &record))
            return false;
        if (filter && !filter_record(filter, &record))
            continue;
        if (record.kind == RBWP_GPU_WORK)
            record.stop_ns = gpu_bias_stop(text->bias, record.proc_id, record.slot, record.start_ns,
                                           record.stop_ns);
        if (!grow_array(&text->text, &text->room, text->used + RECORD_TEXT_MAX, 1)) {
            text->failed = true;
            return false;
        }
        char *at = text->text + text->used;
        at = text->records++ || separated ? PUT(at, ",\n") : PUT(at, "\n");
        text->used = (size_t)(put_record(at, &record) - text->text);
    }
    return true;
}

static void end_block(struct out *out, bool filtered, uint64_t shown)
{
    out_text(out, "]");
    if (filtered)
        json_u64(out, "records_shown", shown);
    out_text(out, "}");
}

static void dump_blocks_put_text(struct block_dump *blocks, const struct block_text *text)
{
    out_bytes(&blocks->dump->out, text->text, text->used);
    blocks->failed |= text->failed;
}

/* Piece by piece, here. */
static void write_block(struct block_dump *blocks, const struct rbwp_block *block)
{
    struct out *out = &blocks->dump->out;
    struct rbwp_record_iterator iterator;
    struct block_text text = {.bias = &blocks->dump->bias};
    uint64_t shown = 0;
    bool more = true;
    rbwp_record_first(block, &iterator);
    while (more && !out_failed(out)) {
        more = put_records(&text, &iterator, blocks->filtered ? &blocks->filter : NULL, shown > 0);
        if (text.records && shown == 0)
            block_head(out, block, blocks->shown.blocks == 0);
        if (text.records)
            dump_blocks_put_text(blocks, &text);
        shown += text.records;
    }
    if (shown)
        end_block(out, blocks->filtered, shown);
    blocks->shown.blocks += shown > 0;
    blocks->shown.records += shown;
    free(text.text);
}

/* ---- on other threads ------------------------------------------------------------------- */

struct block_job {
    struct rbwp_block block;
    uint8_t *data; /* the block's */
    size_t data_room;
    struct block_text text;
};

static void run_job(void *context)
{
    struct block_job *job = context;
    struct rbwp_record_iterator iterator;
    rbwp_record_first(&job->block, &iterator);
    (void)put_records(&job->text, &iterator, NULL, false);
}

static void stop_job(void *context)
{
    struct block_job *job = context;
    free(job->data);
    free(job->text.text);
}

static bool fill_job(struct block_job *job, const struct rbwp_block *block)
{
    size_t bytes = block->header.data_bytes;
    if (bytes > job->data_room) {
        free(job->data);
        job->data = malloc(bytes);
        job->data_room = job->data ? bytes : 0;
    }
    if (!job->data)
        return false;
    memcpy(job->data, block->data, bytes);
    job->block = *block;
    job->block.data = job->data;
    return true;
}

/* False when none is left. */
static bool write_job(struct block_dump *blocks)
{
    struct out *out = &blocks->dump->out;
    struct block_job *job = ordered_jobs_take(blocks->jobs);
    if (!job)
        return false;
    block_head(out, &job->block, blocks->shown.blocks++ == 0);
    dump_blocks_put_text(blocks, &job->text);
    end_block(out, false, 0);
    blocks->shown.records += job->text.records;
    return true;
}

static void hand_over(struct block_dump *blocks, const struct rbwp_block *block)
{
    struct block_job *job;
    while (!(job = ordered_jobs_next(blocks->jobs)))
        (void)write_job(blocks);
    job->text.bias = &blocks->dump->bias;
    if (fill_job(job, block))
        ordered_jobs_submit(blocks->jobs);
    else
        blocks->failed = true;
}

/* ---- the whole --------------------------------------------------------------------------- */

static void all_blocks(struct block_dump *blocks, struct input *input)
{
    struct rbwp_block block;
    while (!out_failed(&blocks->dump->out) && input_next(input, &block)) {
        bool opaque = block.header.records == 0;
        blocks->shown.opaque += opaque;
        if (!opaque && !filter_block(&blocks->filter, &block))
            continue;
        if (!opaque && !blocks->filtered && block.header.records <= PIECE_RECORDS) {
            hand_over(blocks, &block);
            continue;
        }
        while (write_job(blocks))
            ;
        if (opaque)
            opaque_block(blocks, &block);
        else
            write_block(blocks, &block);
    }
    while (write_job(blocks))
        ;
}

static bool start_blocks(struct block_dump *blocks, struct input *input, struct names *names)
{
    struct dump *dump = blocks->dump;
    bool named = filter_needs_names(&dump->options->filter);
    blocks->filtered = filter_is_set(&dump->options->filter);
    blocks->jobs = ordered_jobs_new(dump->threads, sizeof(struct block_job), run_job);
    if (!blocks->jobs || (named && !names_load(names, input->reader)))
        return message_fail("out of memory");
    file_columns_fill();
    filter_start(&blocks->filter, &dump->options->filter, input->reader, named ? names : NULL);
    return table_dump_begin(&blocks->tables, dump, input);
}

static void write_file(struct block_dump *blocks, struct input *input)
{
    struct dump *dump = blocks->dump;
    struct out *out = &dump->out;
    out_text(out, dump->written++ ? ",\n{" : "{");
    struct dump_document document = {file_shown_of(input, &blocks->tables.tables, 0),
                                     blocks->filtered ? &blocks->shown : NULL};
    const struct result_at at = {.row = &document};
    result_json_members(out, file_head_columns, &at);
    out_text(out, ",\n\"blocks\":[");
    all_blocks(blocks, input);
    out_text(out, "]");
    document.file = file_shown_of(input, &blocks->tables.tables, blocks->shown.opaque);
    result_json_members(out, dump_behind_blocks, &at);
    out_text(out, "}");
    if (blocks->failed)
        message("%s: out of memory; records are missing", input->name);
}

enum exit_code dump_blocks(struct dump *dump, struct input *input)
{
    struct names names = {0};
    struct block_dump blocks = {.dump = dump};
    enum exit_code code = EXIT_BAD_DATA;
    if (start_blocks(&blocks, input, &names)) {
        write_file(&blocks, input);
        code = blocks.failed || blocks.tables.tables.broken || blocks.tables.tables.failed
                   ? EXIT_PARTIAL
                   : EXIT_GOOD;
    }
    ordered_jobs_free(blocks.jobs, stop_job);
    table_dump_end(&blocks.tables);
    filter_stop(&blocks.filter);
    names_free(&names);
    return code;
}

/* ---- dump records ---------------------------------------------------------------------------- */
/*
 * The record dump: one JSON object a line for each record, names resolved.
 * A line stands for itself, so it repeats the file and the thread.
 */

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
        struct rbwp_block block;
        while (!out_failed(&dump->out) && input_next(input, &block))
            if (block.header.records == 0)
                table_dump_lines(&tables, &dump->out, &names, &block);
            else if (filter_block(&filter, &block))
                block_lines(dump, input, &filter, &names, &block);
        code = tables.tables.broken || tables.tables.failed ? EXIT_PARTIAL : EXIT_GOOD;
    }
    table_dump_end(&tables);
    filter_stop(&filter);
    names_free(&names);
    return code;
}

/* ---- dump spans ------------------------------------------------------------------------------ */
/*
 * The span dump: begins paired with ends, names resolved, one JSON object
 * each, in the order in which they end (unfinished ones at the end of the
 * file or where damage cut them).
 */

struct span_dump {
    struct dump *dump;
    const struct input *input;
    struct names names;
    struct filter filter;
};

/* The pair without what noticing its end adds, if it is GPU work and --gpu-bias is given. */
static struct record_pair corrected(const struct dump *dump, const struct record_pair *pair)
{
    struct record_pair result = *pair;
    if (pair->kind == PAIR_GPU)
        result.end_ns =
            gpu_bias_stop(&dump->bias, pair->proc_id, pair->slot, pair->begin_ns, pair->end_ns);
    return result;
}

static void dump_spans_write_pair(void *context, const struct record_pair *stored)
{
    struct span_dump *spans = context;
    struct out *out = &spans->dump->out;
    const struct record_pair whole = corrected(spans->dump, stored), *pair = &whole;
    if (out_failed(out) || !filter_takes_pair(&spans->filter, pair))
        return;
    bool lines = spans->dump->options->ndjson;
    out_text(out, lines ? "" : spans->dump->written ? ",\n" : "\n");
    spans->dump->written++;
    const struct gpu_facts *facts = &spans->dump->facts;
    const struct gpu_fact *fact =
        pair->kind == PAIR_GPU
            ? gpu_facts_of(facts, stored->proc_id, stored->slot, stored->begin_ns, stored->end_ns)
            : NULL;
    struct rbwp_text work = {"", 0};
    if (fact && fact->name)
        work = rbwp_catalog_name(facts->catalog, fact->name);
    json_span(out, spans->input->path, &spans->names, pair, fact, work);
    out_text(out, lines ? "\n" : "");
}

static void dump_spans_begin_block(void *context, const struct rbwp_block *block)
{
    struct span_dump *spans = context;
    filter_resolve(&spans->filter, block->first_ns);
    filter_see_block(&spans->filter, block);
}

static bool output_failed(void *context)
{
    const struct span_dump *spans = context;
    return out_failed(&spans->dump->out);
}

enum exit_code dump_spans(struct dump *dump, struct input *input)
{
    struct span_dump spans = {.dump = dump, .input = input};
    struct pair_walk walk = {.context = &spans,
                             .pair = dump_spans_write_pair,
                             .block_begins = dump_spans_begin_block,
                             .enough = output_failed};
    if (!names_load(&spans.names, input->reader))
        return message_bad_data("out of memory");
    filter_start(&spans.filter, &dump->options->filter, input->reader, &spans.names);
    enum exit_code code = pair_walk(&walk, input);
    filter_stop(&spans.filter);
    names_free(&spans.names);
    return code;
}
