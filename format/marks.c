/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - see marks.h. A mark is due when enough blocks have come to pay for the last one; when
 * all are used every other one goes.
 */
#include "marks.h"

#include "crc32c.h"

#include <stdlib.h>
#include <string.h>

#define MARK_BYTES 40u
#define ITEM_BYTES 24u
#define FIRST_BLOCK_BYTES 32u
#define SECTION_BYTES 24u /* head of a section and of its table */
#define SECTIONS 3u
#define THREADS_MAX 16384u /* whose state is kept, some 100 bytes each */

void mark_index_begin(struct mark_index *marks)
{
    marks->marks = calloc(MARKS_MAX + 1, sizeof *marks->marks);
    marks->off = !marks->marks;
}

void mark_index_free(struct mark_index *marks)
{
    for (uint32_t i = 0; i < marks->threads.map.count && i < marks->state_room; i++)
        free(marks->states[i].open);
    free(marks->states);
    thread_table_free(&marks->threads);
    free(marks->marks);
    free(marks->items);
    free(marks->first_blocks);
    *marks = (struct mark_index){.off = true};
}

void mark_index_give_up(struct mark_index *marks)
{
    mark_index_free(marks);
}

/* 1 + the thread's number; 0 without room. */
static uint32_t marks_number_of(struct mark_index *marks, const struct rbwp_index_range *block)
{
    struct thread_entry *entry = thread_table_find(&marks->threads, block->thread_id);
    if (entry)
        return (uint32_t)(entry - marks->threads.entries) + 1;
    if (marks->threads.map.count == THREADS_MAX)
        return 0;
    entry = thread_table_add(&marks->threads, block->thread_id);
    uint32_t count = marks->threads.map.count;
    if (!entry || !grow_zeroed32(&marks->states, &marks->state_room, count, sizeof *marks->states))
        return 0;
    marks->states[count - 1].first =
        (struct rbwp_first_block){block->thread_id, block->offset, block->first_ns, block->last_ns};
    return count;
}

/* ---- marks ------------------------------------------------------------------------------- */

static void join_gpu(struct rbwp_mark *mark, uint64_t works, int64_t first_ns, int64_t last_ns)
{
    if (works == 0)
        return;
    bool first = mark->gpu_works == 0;
    mark->gpu_first_ns = first || first_ns < mark->gpu_first_ns ? first_ns : mark->gpu_first_ns;
    mark->gpu_last_ns = first || last_ns > mark->gpu_last_ns ? last_ns : mark->gpu_last_ns;
    mark->gpu_works += works;
}

/* Drops the marks that keep says no to; never the first. */
static void leave_out(struct mark_index *marks,
                      bool (*keep)(void *context, const struct rbwp_mark *mark, uint32_t number),
                      void *context)
{
    uint32_t count = 0, item_count = 0, item = 0;
    for (uint32_t i = 0; i < marks->count; i++) {
        const struct rbwp_mark mark = marks->marks[i];
        if (i && !keep(context, &mark, i)) {
            join_gpu(&marks->marks[count - 1], mark.gpu_works, mark.gpu_first_ns, mark.gpu_last_ns);
        } else {
            if (mark.open_count)
                memmove(marks->items + item_count, marks->items + item,
                        mark.open_count * sizeof *marks->items);
            item_count += mark.open_count;
            marks->marks[count++] = mark;
        }
        item += mark.open_count;
    }
    marks->count = count;
    marks->item_count = item_count;
}

static bool is_even(void *context, const struct rbwp_mark *mark, uint32_t number)
{
    (void)context;
    (void)mark;
    return number % 2 == 0;
}

static bool add_items(struct mark_index *marks, const struct mark_thread *thread)
{
    if (!grow_array32(&marks->items, &marks->item_room, marks->item_count + thread->open_count,
                      sizeof *marks->items))
        return false;
    for (uint32_t i = 0; i < thread->open_count; i++) {
        struct rbwp_open_item *item = &marks->items[marks->item_count++];
        *item = thread->open[i];
        item->thread_id = thread->first.thread_id;
    }
    return true;
}

static void add_mark(struct mark_index *marks, uint64_t offset)
{
    const uint32_t before = marks->item_count;
    for (uint32_t i = 0; i < marks->threads.map.count; i++)
        if (marks->states[i].open_count && !add_items(marks, &marks->states[i])) {
            mark_index_give_up(marks);
            return;
        }
    const uint32_t open = marks->item_count - before;
    marks->marks[marks->count++] =
        (struct rbwp_mark){.offset = offset, .crc32c = marks->crc32c, .open_count = open};
    marks->due_offset = offset + (uint64_t)MARKS_PART * (MARK_BYTES + ITEM_BYTES * (uint64_t)open);
}

/* ---- blocks ------------------------------------------------------------------------------ */

void mark_index_block(struct mark_index *marks, const struct rbwp_index_range *block,
                      bool begins_range)
{
    if (marks->off)
        return;
    if (begins_range && !marks->untold && block->offset >= marks->due_offset) {
        if (marks->count == MARKS_MAX)
            leave_out(marks, is_even, NULL);
        add_mark(marks, block->offset);
        if (marks->off)
            return;
    }
    marks->crc32c = crc32c_combine(marks->crc32c, block->crc32c, block->bytes);
    if (block->records == 0)
        return;
    uint32_t number = marks_number_of(marks, block);
    if (!number || (marks->untold && marks->untold != number)) {
        mark_index_give_up(marks);
        return;
    }
    int64_t *last_ns = &marks->states[number - 1].first.last_ns;
    *last_ns = block->last_ns > *last_ns ? block->last_ns : *last_ns;
    marks->untold = number;
}

/* No call inside of another one. */
static bool are_items(const struct rbwp_open_item *open, uint32_t count)
{
    uint32_t calls = 0;
    for (uint32_t i = 0; i < count; i++) {
        calls += open[i].kind == RBWP_COARSE_BEGIN;
        if (open[i].kind != RBWP_COARSE_BEGIN && open[i].kind != RBWP_FINE_BEGIN)
            return false;
    }
    return calls <= 1;
}

static bool take_state(struct mark_thread *thread, const struct rbwp_thread_state *state)
{
    const uint32_t still = state->still_open, count = still + state->open_count;
    if (still > thread->open_count || count < still ||
        !grow_array32(&thread->open, &thread->room, count, sizeof *thread->open))
        return false;
    if (state->open_count)
        memcpy(thread->open + still, state->open, state->open_count * sizeof *thread->open);
    thread->open_count = count;
    return are_items(thread->open, count);
}

void mark_index_tell(struct mark_index *marks, const struct rbwp_thread_state *state)
{
    if (marks->off)
        return;
    const struct thread_entry *entry = thread_table_find(&marks->threads, state->thread_id);
    if (!marks->untold || !marks->count || !entry ||
        entry != &marks->threads.entries[marks->untold - 1] ||
        !take_state(&marks->states[marks->untold - 1], state)) {
        mark_index_give_up(marks);
        return;
    }
    join_gpu(&marks->marks[marks->count - 1], state->gpu_works, state->gpu_first_ns,
             state->gpu_last_ns);
    marks->untold = 0;
}

struct joined {
    const struct block_index *index;
    uint32_t at;
};

static bool begins_range(void *context, const struct rbwp_mark *mark, uint32_t number)
{
    struct joined *joined = context;
    (void)number;
    while (joined->at < joined->index->count &&
           joined->index->ranges[joined->at].offset < mark->offset)
        joined->at++;
    return joined->at < joined->index->count &&
           joined->index->ranges[joined->at].offset == mark->offset;
}

void mark_index_joined(struct mark_index *marks, const struct block_index *index)
{
    struct joined joined = {.index = index};
    if (!marks->off)
        leave_out(marks, begins_range, &joined);
}

/* ---- the end ----------------------------------------------------------------------------- */

static uint64_t marks_bytes_of(const struct mark_index *marks)
{
    return SECTIONS * SECTION_BYTES + MARK_BYTES * (uint64_t)marks->count +
           ITEM_BYTES * (uint64_t)marks->item_count +
           FIRST_BLOCK_BYTES * (uint64_t)marks->threads.map.count;
}

/* False: not even few of them are worth their bytes. */
static bool make_fit(struct mark_index *marks, uint64_t block_bytes)
{
    while (marks->count > 2 && marks_bytes_of(marks) > block_bytes / MARKS_PART)
        leave_out(marks, is_even, NULL);
    return marks_bytes_of(marks) <= block_bytes / MARKS_PART;
}

static bool lost_records(const struct rbwp_trailer *values)
{
    for (uint32_t i = 0; i < values->loss_count; i++)
        if (loss_is_of_records(values->losses[i].cause))
            return true;
    return false;
}

static bool list_first_blocks(struct mark_index *marks)
{
    marks->first_blocks = calloc(marks->threads.map.count + 1u, sizeof *marks->first_blocks);
    for (uint32_t i = 0; marks->first_blocks && i < marks->threads.map.count; i++)
        marks->first_blocks[i] = marks->states[i].first;
    return marks->first_blocks;
}

/* A second time, where the first one could not be written, nothing changes. */
static bool marks_finish(struct mark_index *marks, uint64_t end_offset,
                         const struct rbwp_trailer *values)
{
    if (marks->off || marks->untold || !marks->count)
        return false;
    if (marks->first_blocks)
        return marks->marks[marks->count - 1].offset == end_offset;
    if ((values->kept_count && values->kept->why != RBWP_KEPT_SPLIT) || lost_records(values) ||
        !make_fit(marks, end_offset - RBWP_FILE_HEADER_BYTES))
        return false;
    add_mark(marks, end_offset);
    return !marks->off && list_first_blocks(marks);
}

void mark_index_finish(struct mark_index *marks, uint64_t end_offset, struct rbwp_trailer *values)
{
    values->mark_count = values->open_item_count = values->first_block_count = 0;
    if (!marks_finish(marks, end_offset, values)) {
        mark_index_give_up(marks);
        return;
    }
    values->marks = marks->marks;
    values->open_items = marks->items;
    values->first_blocks = marks->first_blocks;
    values->mark_count = marks->count;
    values->open_item_count = marks->item_count;
    values->first_block_count = marks->threads.map.count;
}
