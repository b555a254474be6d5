/* SPDX-License-Identifier: Apache-2.0 */
/* From blocks to pairs: reorder.h, then record_pairs.h, with breaks where data are missing. */
#include "pair_walk.h"

#include "losses.h"
#include "message.h"

#include <inttypes.h>
#include <stdlib.h>

static void pair_walk_pair(void *context, const struct rbwp_block *block, bool late)
{
    struct pair_walk *walk = context;
    if (late && walk->reorder.late_blocks <= INPUT_PROBLEM_LINES)
        message_plain("%s: offset %" PRIu64 ": block %" PRIu32 " of thread %" PRIu64
                      " is out of order by more than %d blocks; its spans may be wrong",
                      walk->input->name, block->offset, block->header.sequence,
                      block->header.thread_id, REORDER_BLOCKS);
    walk->block_begins(walk->context, block);
    pair_builder_block(&walk->builder, block);
    walk->last_ns = block->last_ns > walk->last_ns ? block->last_ns : walk->last_ns;
    if (walk->block_ended)
        walk->block_ended(walk->context, block);
}

/* The last sign of life, INT64_MIN where a thread may have gone on unseen. */
static int64_t last_sign_ns(const struct pair_walk *walk)
{
    const struct rbwp_reader *reader = walk->input->reader;
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    bool finalised = rbwp_reader_header(reader)->descriptor_offset != 0;
    if (!finalised && (!trailer || walk->input->live))
        return INT64_MIN;
    return trailer && trailer->stop_ns ? trailer->stop_ns : walk->last_ns;
}

static bool still_ran(void *context, uint64_t thread_id, int64_t begin_ns, int64_t *until_ns_out)
{
    const struct pair_walk *walk = context;
    *until_ns_out = last_sign_ns(walk);
    return *until_ns_out != INT64_MIN && !walk->failed &&
           thread_infos_is_whole(&walk->threads, thread_id, begin_ns);
}

/* A header that leads to where the next block was found, or to the end, is no chance. */
static bool is_of_block(const struct rbwp_problem *problem)
{
    const struct rbwp_block_header *header = &problem->block;
    uint64_t bytes = header->stored_bytes ? header->stored_bytes : header->data_bytes;
    return problem->has_block && header->records &&
           (problem->cut_tail || problem->skipped_bytes == RBWP_BLOCK_HEADER_BYTES + bytes);
}

static void report_damage(struct pair_walk *walk, const struct rbwp_problem *problem,
                          const struct rbwp_block *next)
{
    struct file_damage damage = {.bytes = problem->skipped_bytes,
                                 .has_block = is_of_block(problem)};
    bool before = walk->before_ns != INT64_MIN;
    if (damage.has_block) {
        damage.thread_id = problem->block.thread_id;
        damage.records = problem->block.records;
    }
    if (before || next) {
        int64_t from_ns = before ? walk->before_ns : next->first_ns;
        int64_t to_ns = next ? next->first_ns : walk->before_ns;
        damage.first_ns = from_ns < to_ns ? from_ns : to_ns;
        damage.last_ns = from_ns < to_ns ? to_ns : from_ns;
    }
    walk->damaged(walk->context, &damage);
}

/* Data are missing between the block before and the next one, which is NULL at the end. */
static void break_at_problem(struct pair_walk *walk, uint64_t *problems,
                             const struct rbwp_block *next)
{
    const struct rbwp_reader *reader = walk->input->reader;
    uint64_t problems_now = rbwp_reader_problem_count(reader);
    const struct rbwp_problem *problem;
    if (problems_now == *problems)
        return;
    reorder_flush(&walk->reorder);
    pair_builder_break(&walk->builder);
    while (walk->damaged && *problems < problems_now &&
           (problem = rbwp_reader_problem(reader, (*problems)++)))
        if (problem->skipped_bytes && !(walk->input->live && problem->cut_tail))
            report_damage(walk, problem, next && next->header.records ? next : NULL);
    *problems = problems_now;
}

static void pair_walk_on_block(struct pair_walk *walk, const struct rbwp_block *block)
{
    break_at_problem(walk, &walk->problems, block);
    if (block->header.records > 0) {
        walk->failed |= !reorder_push(&walk->reorder, block);
        walk->before_ns = block->last_ns;
    } else if (walk->opaque) {
        walk->opaque(walk->context, block);
    }
}

/* False: it stopped early. */
static bool pair_all(struct pair_walk *walk)
{
    struct rbwp_block block;
    bool enough;
    while (!(enough = walk->enough(walk->context)) && input_next(walk->input, &block))
        pair_walk_on_block(walk, &block);
    return !enough;
}

/* ---- parts of the input ------------------------------------------------------ */

/* All that lies before a mark was read or is passed over: what is open there is known. */
static void pass_over(struct pair_walk *walk, uint32_t mark)
{
    const struct window *window = walk->window;
    reorder_flush(&walk->reorder);
    walk->failed |= !pair_builder_pass_over(
        &walk->builder, window->ids[mark] - window->ids[walk->mark], window_items(window, mark),
        window->trailer->marks[mark].open_count);
    walk->mark = mark;
}

static void report_threads(struct pair_walk *walk, uint64_t end_offset)
{
    const struct rbwp_trailer *trailer = walk->window->trailer;
    for (; walk->threads_told < trailer->first_block_count; walk->threads_told++) {
        const struct rbwp_first_block *first = &trailer->first_blocks[walk->threads_told];
        if (first->offset >= end_offset)
            return;
        walk->thread(walk->context, first->thread_id, first->first_ns);
    }
}

/* False: it stopped early. */
static bool pair_part(struct pair_walk *walk, const struct window_part *part)
{
    struct rbwp_block block;
    bool records = part->mark != WINDOW_TABLES;
    uint64_t next = part->offset;
    while (next < part->end && !walk->enough(walk->context) && input_next(walk->input, &block)) {
        const struct rbwp_block_header *header = &block.header;
        if (records || header->records == 0)
            pair_walk_on_block(walk, &block);
        next = block.offset + RBWP_BLOCK_HEADER_BYTES +
               (header->stored_bytes ? header->stored_bytes : header->data_bytes);
    }
    return next >= part->end;
}

static bool pair_parts(struct pair_walk *walk)
{
    const struct window *window = walk->window;
    const struct rbwp_trailer *trailer = window->trailer;
    uint64_t next = RBWP_FILE_HEADER_BYTES;
    bool whole = true;
    for (uint32_t i = 0; i < window->part_count && whole; i++) {
        const struct window_part *part = &window->parts[i];
        whole =
            part->offset == next || rbwp_reader_seek(walk->input->reader, part->offset) == RBWP_OK;
        if (part->mark != WINDOW_TABLES && part->mark != walk->mark)
            pass_over(walk, part->mark);
        if (part->mark != WINDOW_TABLES)
            report_threads(walk, part->offset);
        whole = whole && pair_part(walk, part);
        next = part->end;
        if (part->mark != WINDOW_TABLES && whole)
            walk->mark = part->mark + 1;
    }
    if (whole && walk->mark + 1 < trailer->mark_count)
        pass_over(walk, trailer->mark_count - 1);
    report_threads(walk, UINT64_MAX);
    for (uint32_t i = 0; i < trailer->first_block_count; i++)
        walk->thread(walk->context, trailer->first_blocks[i].thread_id,
                     trailer->first_blocks[i].last_ns);
    walk->input->records = window->records[trailer->mark_count - 1];
    return whole;
}

static enum exit_code pair_walk_report(const struct pair_walk *walk)
{
    const struct pair_builder *builder = &walk->builder;
    const char *name = walk->input->name;
    uint64_t late = walk->reorder.late_blocks;
    if (late > INPUT_PROBLEM_LINES)
        message_plain("%s: ... and %" PRIu64 " more blocks out of order", name,
                      late - INPUT_PROBLEM_LINES);
    if (builder->open && !walk->input->recovered) /* else the views show what is open */
        message_plain("%s: %" PRIu64 " span%s still open when it ended", name, builder->open,
                      builder->open == 1 ? " was" : "s were");
    if (builder->unfinished > builder->open || builder->strays)
        message_plain("%s: %" PRIu64 " unfinished spans, %" PRIu64 " ends without a begin", name,
                      builder->unfinished - builder->open, builder->strays);
    if (walk->failed || builder->failed)
        message_plain("%s: not all blocks could be held in memory; spans are missing", name);
    bool whole = !walk->failed && !builder->failed && late == 0;
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

void pair_walk_start(struct pair_walk *walk)
{
    walk->failed = false;
    walk->last_ns = INT64_MIN;
    reorder_start(&walk->reorder, pair_walk_pair, walk);
    pair_builder_start(&walk->builder, walk->pair, walk->context);
}

static void walk_input(struct pair_walk *walk, struct input *input)
{
    walk->input = input;
    walk->problems = walk->threads_told = walk->mark = 0;
    walk->before_ns = INT64_MIN;
    if ((walk->window ? pair_parts : pair_all)(walk))
        break_at_problem(walk, &walk->problems, NULL);
    reorder_next_file(&walk->reorder);
}

void pair_walk_part(struct pair_walk *walk, struct input *input, enum pair_join join,
                    int64_t cut_ns, int64_t until_ns)
{
    pair_builder_part(&walk->builder, join, cut_ns, until_ns);
    walk_input(walk, input);
}

enum exit_code pair_walk_finish(struct pair_walk *walk)
{
    thread_infos_start(&walk->threads, rbwp_reader_trailer(walk->input->reader));
    pair_builder_finish(&walk->builder, still_ran, walk);
    thread_infos_stop(&walk->threads);
    enum exit_code code = pair_walk_report(walk);
    pair_builder_stop(&walk->builder);
    reorder_stop(&walk->reorder);
    return code;
}

enum exit_code pair_walk(struct pair_walk *walk, struct input *input)
{
    pair_walk_start(walk);
    walk_input(walk, input);
    return pair_walk_finish(walk);
}

/* Threads and losses of a trailer, by thread id. */

static struct thread_facts *facts_of(struct thread_infos *infos, uint64_t thread_id)
{
    uint32_t number =
        thread_map_place(&infos->map, thread_id, &infos->facts, &infos->room, sizeof *infos->facts);
    if (number == THREAD_NONE)
        return NULL;
    struct thread_facts *facts = &infos->facts[number];
    if (!facts->known)
        *facts = (struct thread_facts){.known = true, .lost_until_ns = INT64_MIN};
    return facts;
}

static void note_loss(struct thread_infos *infos, const struct rbwp_loss *loss)
{
    struct thread_facts *facts = loss->thread_id ? facts_of(infos, loss->thread_id) : NULL;
    int64_t *until_ns = facts ? &facts->lost_until_ns : &infos->lost_until_ns;
    bool timed = loss->first_ns || loss->last_ns;
    int64_t last_ns = timed ? loss->last_ns : INT64_MAX;
    *until_ns = last_ns > *until_ns ? last_ns : *until_ns;
}

void thread_infos_start(struct thread_infos *infos, const struct rbwp_trailer *trailer)
{
    *infos = (struct thread_infos){.trailer = trailer, .lost_until_ns = INT64_MIN};
    for (uint32_t i = 0; trailer && i < trailer->thread_count; i++) {
        struct thread_facts *facts = facts_of(infos, trailer->threads[i].thread_id);
        if (!facts)
            continue;
        facts->first = facts->first ? facts->first : i + 1;
        facts->attached |= trailer->threads[i].detached_ns == 0;
    }
    for (uint32_t i = 0; trailer && i < trailer->loss_count; i++)
        if (losses_are_records(trailer->losses[i].cause))
            note_loss(infos, &trailer->losses[i]);
}

void thread_infos_stop(struct thread_infos *infos)
{
    free(infos->facts);
    thread_map_free(&infos->map);
    *infos = (struct thread_infos){0};
}

static const struct thread_facts *thread_infos_find(const struct thread_infos *infos,
                                                    uint64_t thread_id)
{
    uint32_t number = thread_map_find(&infos->map, thread_id);
    return number < infos->room ? &infos->facts[number] : NULL;
}

const struct rbwp_thread_info *thread_infos_first(const struct thread_infos *infos,
                                                  uint64_t thread_id)
{
    const struct thread_facts *facts = thread_infos_find(infos, thread_id);
    return facts && facts->first ? &infos->trailer->threads[facts->first - 1] : NULL;
}

bool thread_infos_is_whole(const struct thread_infos *infos, uint64_t thread_id, int64_t from_ns)
{
    const struct thread_facts *facts = thread_infos_find(infos, thread_id);
    if (infos->lost_until_ns >= from_ns)
        return false;
    return !facts || ((facts->attached || facts->first == 0) && facts->lost_until_ns < from_ns);
}
