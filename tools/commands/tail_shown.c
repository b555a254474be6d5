/* SPDX-License-Identifier: Apache-2.0 */
/* tail_shown.c - see tail_shown.h. */
#include "tail_shown.h"

#include <stdlib.h>

void tail_shown_free(struct tail_shown *shown)
{
    thread_map_free(&shown->map);
    free(shown->threads);
    free(shown->ahead);
    *shown = (struct tail_shown){0};
}

static struct shown_thread *find_thread(struct tail_shown *shown, uint64_t thread_id)
{
    uint32_t number = thread_map_number(&shown->map, thread_id);
    if (number == THREAD_NONE || !thread_array_grow(&shown->threads, &shown->thread_capacity,
                                                    number + 1, sizeof *shown->threads))
        return NULL;
    return &shown->threads[number];
}

static bool note_ahead(struct tail_shown *shown, const struct rbwp_block *block)
{
    if (block->offset < shown->committed)
        return true;
    if (!thread_array_grow(&shown->ahead, &shown->ahead_capacity, shown->ahead_count + 1,
                           sizeof *shown->ahead))
        return false;
    shown->ahead[shown->ahead_count++] =
        (struct shown_ahead){.offset = block->offset,
                             .thread = thread_map_find(&shown->map, block->header.thread_id),
                             .records = block->header.records};
    return true;
}

const struct shown_thread *tail_shown_block(struct tail_shown *shown,
                                            const struct rbwp_block *block, uint32_t *skip_out)
{
    uint32_t records = block->header.records;
    *skip_out = 0;
    struct shown_thread *thread = find_thread(shown, block->header.thread_id);
    if (!thread || !note_ahead(shown, block))
        return NULL;
    if (thread->shown > thread->in_file) {
        uint64_t before = thread->shown - thread->in_file;
        *skip_out = before < records ? (uint32_t)before : records;
    }
    thread->in_file += records;
    if (thread->shown < thread->in_file)
        thread->shown = thread->in_file;
    return thread;
}

void tail_shown_begin_live(struct tail_shown *shown, uint64_t committed, bool recounts)
{
    uint32_t kept = 0;
    shown->committed = committed;
    shown->recounts = recounts;
    for (uint32_t i = 0; i < shown->map.count && i < shown->thread_capacity; i++)
        shown->threads[i].at = shown->threads[i].in_file;
    for (uint32_t i = 0; i < shown->ahead_count; i++) {
        struct shown_ahead ahead = shown->ahead[i];
        if (ahead.offset < committed)
            continue;
        shown->threads[ahead.thread].at -= ahead.records;
        shown->ahead[kept++] = ahead;
    }
    shown->ahead_count = kept;
    for (uint32_t i = 0; recounts && i < shown->map.count && i < shown->thread_capacity; i++)
        shown->threads[i].shown = shown->threads[i].in_file;
}

bool tail_shown_has(struct tail_shown *shown, const struct rbwp_live_record *live,
                    struct shown_thread **thread_out)
{
    struct shown_thread *thread = find_thread(shown, live->thread_id);
    *thread_out = thread;
    if (!thread)
        return false;
    bool has = thread->at++ < thread->shown;
    if (!has && shown->recounts && live->ticks <= thread->last_ticks) {
        thread->shown = thread->at;
        has = true;
    }
    return has;
}

void tail_shown_add(struct shown_thread *thread, const struct rbwp_live_record *live,
                    int64_t *time_ns)
{
    thread->shown = thread->at;
    thread->last_ticks = live->ticks;
    if (*time_ns < thread->floor_ns)
        *time_ns = thread->floor_ns;
    thread->floor_ns = *time_ns;
}
