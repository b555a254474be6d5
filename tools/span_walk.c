/* SPDX-License-Identifier: Apache-2.0 */
/* From blocks to spans: reorder.h, then spans.h, with breaks where data are missing. */
#include "span_walk.h"
#include "message.h"

#include <inttypes.h>

static void pair(void *context, const struct rbwp_block *block, bool late)
{
    struct span_walk *walk = context;
    if (late && walk->reorder.late_blocks <= INPUT_PROBLEM_LINES)
        message_plain("%s: offset %" PRIu64 ": block %" PRIu32 " of thread %" PRIu64
                      " is out of order by more than %d blocks; its spans may be wrong",
                      walk->input->name, block->offset, block->header.sequence,
                      block->header.thread_id, REORDER_BLOCKS);
    walk->block_begins(walk->context, block);
    span_builder_block(&walk->builder, block);
    if (walk->block_ended)
        walk->block_ended(walk->context, block);
}

static void pair_all(struct span_walk *walk)
{
    struct input *input = walk->input;
    struct rbwp_block block;
    uint64_t problems = 0;
    while (!walk->enough(walk->context) && input_next(input, &block)) {
        uint64_t problems_now = rbwp_reader_problem_count(input->reader);
        if (problems_now != problems) {
            reorder_flush(&walk->reorder);
            span_builder_break(&walk->builder);
            problems = problems_now;
        }
        if (block.header.records > 0 && !reorder_push(&walk->reorder, &block))
            walk->failed = true;
    }
    reorder_flush(&walk->reorder);
    span_builder_break(&walk->builder);
}

static enum exit_code report(const struct span_walk *walk)
{
    const struct span_builder *builder = &walk->builder;
    const char *name = walk->input->name;
    uint64_t late = walk->reorder.late_blocks;
    if (late > INPUT_PROBLEM_LINES)
        message_plain("%s: ... and %" PRIu64 " more blocks out of order", name,
                      late - INPUT_PROBLEM_LINES);
    if (builder->unfinished || builder->strays)
        message_plain("%s: %" PRIu64 " unfinished spans, %" PRIu64 " ends without a begin", name,
                      builder->unfinished, builder->strays);
    if (walk->failed || builder->failed)
        message_plain("%s: not all blocks could be held; spans are missing", name);
    bool whole = !walk->failed && !builder->failed && late == 0;
    return whole ? EXIT_GOOD : EXIT_PARTLY;
}

enum exit_code span_walk(struct span_walk *walk, struct input *input)
{
    walk->input = input;
    walk->failed = false;
    reorder_start(&walk->reorder, pair, walk);
    span_builder_start(&walk->builder, walk->span, walk->context);
    pair_all(walk);
    enum exit_code code = report(walk);
    span_builder_stop(&walk->builder);
    reorder_stop(&walk->reorder);
    return code;
}
