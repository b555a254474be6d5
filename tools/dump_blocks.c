/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block dump: a file as one JSON object, in the order of the file.
 *
 * Written in one pass, so what is known only at the end (counts, tables,
 * trailer, problems) comes after the blocks. A block's head is written with
 * its first wanted record; a block without one leaves no trace but in the
 * counts. The record writer is the hot loop of the tool: fixed pieces of text
 * are copied with constant lengths and digits go straight into the buffer.
 */
#include "digits.h"
#include "dump.h"
#include "json_file.h"
#include "json_text.h"
#include "message.h"

#include <string.h>

struct blocks_shown {
    uint64_t opaque, blocks, records;
};

/* Longest text of one record: fixed text, six numbers. */
#define RECORD_TEXT_MAX 320

#define PUT(at, literal) ((char *)memcpy(at, literal, sizeof(literal) - 1) + sizeof(literal) - 1)

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
    json_block_header(out, &block->header);
    out_text(out, ",\"records\":[");
}

/* The facts beside GPU_WORK records, if that is what the block holds. */
static void gpu_extras(struct out *out, const struct rbwp_block *block)
{
    uint64_t proc_id;
    uint32_t count;
    if (!rbwp_gpu_extras(block, &proc_id, &count))
        return;
    out_text(out, ",\"gpu\":{");
    json_u64(out, "proc_id", proc_id);
    out_text(out, ",\"entries\":[");
    for (uint32_t i = 0; i < count; i++) {
        struct rbwp_gpu_extra extra;
        rbwp_gpu_extra_get(block, i, &extra);
        out_text(out, i ? ",\n{" : "\n{");
        json_i64(out, "start", extra.start_ns);
        out_text(out, ",");
        json_i64(out, "stop", extra.stop_ns);
        out_text(out, ",");
        json_i64(out, "launch", extra.launch_ns);
        out_text(out, ",");
        json_u64(out, "thread_id", extra.thread_id);
        out_text(out, ",");
        json_u64(out, "start_gap", extra.start_gap_ns);
        out_text(out, ",");
        json_u64(out, "stop_gap", extra.stop_gap_ns);
        out_text(out, "}");
    }
    out_text(out, "]}");
}

/* An extension: its tag and size; what is in it is told by the part that knows the tag. */
static void opaque_block(struct out *out, const struct rbwp_block *block, bool first)
{
    block_head(out, block, first);
    out_text(out, "],\"opaque\":true,");
    json_name(out, "tag", (const char *)block->data,
              block->header.data_bytes < 4 ? block->header.data_bytes : 4);
    gpu_extras(out, block);
    out_text(out, "}");
}

static uint64_t block_records(struct dump *dump, struct filter *filter,
                              const struct rbwp_block *block, bool first_block)
{
    struct out *out = &dump->out;
    bool filtered = filter_is_set(&dump->options->filter);
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    uint64_t shown = 0;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        if (filtered && !filter_record(filter, &record))
            continue;
        if (record.kind == RBWP_GPU_WORK)
            record.stop_ns = gpu_bias_stop(&dump->bias, &record);
        if (shown++ == 0)
            block_head(out, block, first_block);
        char *at = out_room(out, RECORD_TEXT_MAX);
        at = shown == 1 ? PUT(at, "\n") : PUT(at, ",\n");
        out_end(out, put_record(at, &record));
    }
    if (shown == 0)
        return 0;
    out_text(out, "]");
    if (filtered) {
        out_text(out, ",");
        json_u64(out, "records_shown", shown);
    }
    out_text(out, "}");
    return shown;
}

static void all_blocks(struct dump *dump, struct input *input, struct filter *filter,
                       struct blocks_shown *shown)
{
    struct rbwp_block block;
    while (!out_failed(&dump->out) && input_next(input, &block)) {
        bool opaque = block.header.records == 0;
        shown->opaque += opaque;
        if (!filter_block(filter, &block))
            continue;
        bool first = shown->blocks == 0;
        uint64_t records = 0;
        if (opaque)
            opaque_block(&dump->out, &block, first);
        else
            records = block_records(dump, filter, &block, first);
        shown->records += records;
        shown->blocks += opaque || records;
    }
}

static void counts(struct dump *dump, const struct input *input, const struct blocks_shown *shown)
{
    struct out *out = &dump->out;
    json_u64(out, "block_count", input->blocks);
    out_text(out, ",");
    json_u64(out, "opaque_block_count", shown->opaque);
    out_text(out, ",");
    json_u64(out, "record_count", input->records);
    if (filter_is_set(&dump->options->filter)) {
        out_text(out, ",");
        json_u64(out, "blocks_shown", shown->blocks);
        out_text(out, ",");
        json_u64(out, "records_shown", shown->records);
    }
}

enum exit_code dump_blocks(struct dump *dump, struct input *input)
{
    struct out *out = &dump->out;
    struct names names = {0};
    bool named = filter_needs_names(&dump->options->filter);
    if (named && !names_load(&names, input->reader)) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    struct filter filter;
    struct blocks_shown shown = {0};
    filter_start(&filter, &dump->options->filter, input->reader, named ? &names : NULL);
    out_text(out, dump->written++ ? ",\n{" : "{");
    json_head(out, input);
    out_text(out, ",\n\"blocks\":[");
    all_blocks(dump, input, &filter, &shown);
    out_text(out, "],\n");
    counts(dump, input, &shown);
    out_text(out, ",\n");
    json_tail(out, input);
    out_text(out, "}");
    filter_stop(&filter);
    names_free(&names);
    return EXIT_GOOD;
}
