/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The span dump: begins paired with ends, names resolved, one JSON object
 * each, in the order in which they end (unfinished ones at the end of the
 * file or where damage cut them).
 *
 * Blocks go through the reorder window into the pairing. Where the reader
 * skipped damaged bytes, any thread may have lost records, so the window is
 * emptied and every open span is given up there: a span that is marked
 * finished has really seen both ends.
 */
#include "dump.h"
#include "json_line.h"
#include "message.h"
#include "reorder.h"
#include "spans.h"

#include <inttypes.h>

struct span_dump {
    struct dump *dump;
    const struct input *input;
    struct names names;
    struct filter filter;
    struct reorder reorder;
    struct span_builder builder;
    bool failed; /* out of memory: blocks were left out */
};

/* ---- one span ----------------------------------------------------------- */

static struct filter_span judge(const struct span *span)
{
    static const unsigned kinds[] = {[SPAN_COARSE] = FILTER_COARSE_BEGIN | FILTER_COARSE_END,
                                     [SPAN_FINE] = FILTER_FINE_BEGIN | FILTER_FINE_END,
                                     [SPAN_GPU] = FILTER_GPU_WORK};
    int64_t first_ns = span->has_begin ? span->begin_ns : span->end_ns;
    int64_t last_ns = span->has_end ? span->end_ns : INT64_MAX;
    return (struct filter_span){.thread_id = span->thread_id,
                                .slot = span->slot,
                                .kinds = kinds[span->kind],
                                .first_ns = first_ns < last_ns ? first_ns : last_ns,
                                .last_ns = first_ns < last_ns ? last_ns : first_ns,
                                .has_duration = span_has_duration(span),
                                .duration_ns = span_duration_ns(span)};
}

/* The span without what noticing its end adds, if it is GPU work and --gpu-bias is given. */
static struct span corrected(const struct dump *dump, const struct span *span)
{
    struct span result = *span;
    const struct rbwp_record work = {
        .proc_id = span->proc_id, .start_ns = span->begin_ns, .stop_ns = span->end_ns};
    if (span->kind == SPAN_GPU)
        result.end_ns = gpu_bias_stop(&dump->bias, &work);
    return result;
}

static void write_span(void *context, const struct span *stored)
{
    struct span_dump *spans = context;
    struct out *out = &spans->dump->out;
    const struct span whole = corrected(spans->dump, stored), *span = &whole;
    struct filter_span judged = judge(span);
    if (out_failed(out) || !filter_takes_span(&spans->filter, &judged))
        return;
    bool lines = spans->dump->options->ndjson;
    out_text(out, lines ? "" : spans->dump->written ? ",\n" : "\n");
    spans->dump->written++;
    json_span(out, spans->input->path, &spans->names, span);
    out_text(out, lines ? "\n" : "");
}

/* ---- the file ----------------------------------------------------------- */

static void pair(void *context, const struct rbwp_block *block, bool late)
{
    struct span_dump *spans = context;
    if (late && spans->reorder.late_blocks <= INPUT_PROBLEM_LINES)
        message_plain("%s: offset %" PRIu64 ": block %" PRIu32 " of thread %" PRIu64
                      " is out of order by more than %d blocks; its spans may be wrong",
                      spans->input->name, block->offset, block->header.sequence,
                      block->header.thread_id, REORDER_BLOCKS);
    filter_resolve(&spans->filter, block->first_ns);
    span_builder_block(&spans->builder, block);
}

static void pair_all(struct span_dump *spans, struct input *input)
{
    struct rbwp_block block;
    uint64_t problems = 0;
    while (!out_failed(&spans->dump->out) && input_next(input, &block)) {
        uint64_t problems_now = rbwp_reader_problem_count(input->reader);
        if (problems_now != problems) {
            reorder_flush(&spans->reorder);
            span_builder_break(&spans->builder);
            problems = problems_now;
        }
        if (block.header.records > 0 && !reorder_push(&spans->reorder, &block))
            spans->failed = true;
    }
    reorder_flush(&spans->reorder);
    span_builder_break(&spans->builder);
}

static enum exit_code report(const struct span_dump *spans)
{
    const struct span_builder *builder = &spans->builder;
    const char *name = spans->input->name;
    uint64_t late = spans->reorder.late_blocks;
    if (late > INPUT_PROBLEM_LINES)
        message_plain("%s: ... and %" PRIu64 " more blocks out of order", name,
                      late - INPUT_PROBLEM_LINES);
    if (builder->unfinished || builder->strays)
        message_plain("%s: %" PRIu64 " unfinished spans, %" PRIu64 " ends without a begin", name,
                      builder->unfinished, builder->strays);
    if (spans->failed || builder->failed)
        message_plain("%s: not all blocks could be held; spans are missing", name);
    bool whole = !spans->failed && !builder->failed && late == 0;
    return whole ? EXIT_GOOD : EXIT_PARTLY;
}

enum exit_code dump_spans(struct dump *dump, struct input *input)
{
    struct span_dump spans = {.dump = dump, .input = input};
    if (!names_load(&spans.names, input->reader)) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    filter_start(&spans.filter, &dump->options->filter, input->reader, &spans.names);
    reorder_start(&spans.reorder, pair, &spans);
    span_builder_start(&spans.builder, write_span, &spans);
    pair_all(&spans, input);
    enum exit_code code = report(&spans);
    span_builder_stop(&spans.builder);
    reorder_stop(&spans.reorder);
    filter_stop(&spans.filter);
    names_free(&spans.names);
    return code;
}
