/* SPDX-License-Identifier: Apache-2.0 */
/* recover_tail.c - see recover_tail.h. Strings stay where they are, in the reader or live file. */
#include "recover_tail.h"

#include "live_records.h"
#include "reader.h"
#include "rules.h"

#include <stdlib.h>
#include <string.h>

#define WRITER "librbwp " RBWP_VERSION_STRING

void recover_tail_block(struct recover_tail *tail, const struct rbwp_sealed_block *block)
{
    if (!tail->any || block->first_ns < tail->first_ns)
        tail->first_ns = block->first_ns;
    if (!tail->any || block->last_ns > tail->last_ns)
        tail->last_ns = block->last_ns;
    tail->any = true;
    struct thread_entry *thread = thread_table_add(&tail->seen, block->thread_id);
    if (!thread) {
        tail->memory_failed = tail->seen.map.count < THREAD_TABLE_MAX;
        return;
    }
    if (thread->info.records == 0 || block->first_ns < thread->first_ns)
        thread->first_ns = block->first_ns;
    if (thread->info.records == 0 || block->last_ns > thread->last_ns)
        thread->last_ns = block->last_ns;
    thread->info.records += block->records;
}

void recover_tail_damage(struct recover_tail *tail, const struct rbwp_block_header *header)
{
    struct rbwp_loss *damage = &tail->damage;
    if (damage->count == 0)
        *damage = (struct rbwp_loss){.thread_id = header->thread_id,
                                     .cause = RBWP_LOSS_IO,
                                     .first_ns = header->base_time_ns,
                                     .last_ns = header->base_time_ns};
    if (header->base_time_ns < damage->first_ns)
        damage->first_ns = header->base_time_ns;
    if (header->base_time_ns > damage->last_ns)
        damage->last_ns = header->base_time_ns;
    if (header->thread_id != damage->thread_id)
        damage->thread_id = 0;
    damage->count += header->records;
}

int64_t recover_tail_last_ns(const struct recover_tail *tail, uint64_t thread_id)
{
    const struct thread_entry *thread = thread_table_find(&tail->seen, thread_id);
    return thread ? thread->last_ns : 0;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* Without slots out of range (R32), and the first of each slot and id (R33, R34). */
static enum rbwp_status recover_tail_make_tables(struct recover_tail *tail,
                                                 const struct rbwp_tables *from)
{
    bool slots[RBWP_SLOTS_MAX] = {false};
    bool *ids = calloc(RBWP_SUB_ITEMS_MAX, sizeof *ids);
    tail->work_items = calloc(from->work_item_count + 1u, sizeof *tail->work_items);
    tail->sub_items = calloc(from->sub_item_count + 1u, sizeof *tail->sub_items);
    if (!ids || !tail->work_items || !tail->sub_items) {
        free(ids);
        return RBWP_E_MEMORY;
    }
    struct rbwp_tables *to = &tail->tables;
    for (uint32_t i = 0; i < from->work_item_count; i++) {
        const struct rbwp_work_item_name *item = &from->work_items[i];
        if (item->slot < RBWP_SLOTS_MAX && !slots[item->slot])
            tail->work_items[to->work_item_count++] = *item;
        if (item->slot < RBWP_SLOTS_MAX)
            slots[item->slot] = true;
    }
    for (uint32_t i = 0; i < from->sub_item_count; i++) {
        const struct rbwp_sub_item_name *item = &from->sub_items[i];
        if (!ids[item->id])
            tail->sub_items[to->sub_item_count++] = *item;
        ids[item->id] = true;
    }
    free(ids);
    tail->dropped += from->work_item_count - to->work_item_count;
    tail->dropped += from->sub_item_count - to->sub_item_count;
    to->work_items = tail->work_items;
    to->sub_items = tail->sub_items;
    return RBWP_OK;
}

/* ---- threads ---------------------------------------------------------------------------- */

/* Entries of one thread share its records: each what it says, the last one the rest (R60). */
static void count_known(struct recover_tail *tail, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct rbwp_thread_info *info = &tail->threads[i];
        struct thread_entry *seen = thread_table_find(&tail->seen, info->thread_id);
        uint64_t left = seen ? seen->info.records : 0;
        info->records = info->records < left ? info->records : left;
        if (seen) {
            seen->info.records -= info->records;
            seen->info.os_id = i + 1u; /* where the rest goes */
        }
    }
    for (uint32_t i = 0; i < tail->seen.map.count; i++) {
        struct thread_entry *seen = &tail->seen.entries[i];
        if (seen->info.os_id)
            tail->threads[seen->info.os_id - 1].records += seen->info.records;
    }
}

static enum rbwp_status recover_tail_make_threads(struct recover_tail *tail)
{
    const struct rbwp_trailer *from = &tail->trailer;
    uint32_t known = from->thread_count;
    /* A full table may have missed blocks of a thread: then nothing is said of any. */
    bool complete = tail->seen.map.count < THREAD_TABLE_MAX;
    if (!complete) {
        tail->dropped += known;
        tail->trailer.thread_count = 0;
        return RBWP_OK;
    }
    tail->threads = calloc((size_t)known + tail->seen.map.count + 1, sizeof *tail->threads);
    if (!tail->threads)
        return RBWP_E_MEMORY;
    if (known)
        memcpy(tail->threads, from->threads, known * sizeof *tail->threads);
    count_known(tail, known);
    uint32_t count = known;
    for (uint32_t i = 0; i < tail->seen.map.count; i++) {
        const struct thread_entry *seen = &tail->seen.entries[i];
        if (seen->info.os_id)
            continue;
        tail->threads[count++] = (struct rbwp_thread_info){.thread_id = seen->info.thread_id,
                                                           .attached_ns = seen->first_ns,
                                                           .records = seen->info.records,
                                                           .name = ""};
    }
    tail->trailer.threads = tail->threads;
    tail->trailer.thread_count = count;
    return RBWP_OK;
}

/* ---- the rest --------------------------------------------------------------------------- */

static void recover_tail_add_loss(struct recover_tail *tail, const struct rbwp_loss *loss)
{
    struct rbwp_trailer *trailer = &tail->trailer;
    if (loss->count)
        tail->losses[trailer->loss_count++] = *loss;
    if (loss->last_ns > trailer->stop_ns) /* before the file was written */
        trailer->stop_ns = loss->last_ns;
}

/* A part has its own losses. Of those that are counted while they happen the live file knows
 * how many earlier parts have; all others are in the last part. */
static enum rbwp_status make_losses(struct recover_tail *tail, const struct live_facts *own)
{
    const struct rbwp_trailer from = tail->trailer;
    const struct rbwp_trailer *live = own ? &own->trailer : NULL;
    tail->losses =
        calloc(from.loss_count + (live ? live->loss_count : 0) + 3u, sizeof *tail->losses);
    if (!tail->losses)
        return RBWP_E_MEMORY;
    tail->trailer.losses = tail->losses;
    tail->trailer.loss_count = 0;
    for (uint32_t i = 0; i < from.loss_count; i++)
        if (!own || !live_facts_counts(own, from.losses[i].cause))
            recover_tail_add_loss(tail, &from.losses[i]);
    for (uint32_t i = 0; live && i < live->loss_count; i++)
        if (live_facts_counts(own, live->losses[i].cause))
            recover_tail_add_loss(tail, &live->losses[i]);
    recover_tail_add_loss(tail, &tail->damage);
    recover_tail_add_loss(
        tail, &(struct rbwp_loss){.cause = RBWP_LOSS_IO, .count = tail->dropped_records});
    recover_tail_add_loss(
        tail, &(struct rbwp_loss){.cause = RBWP_LOSS_ROWS_IO, .count = tail->dropped_rows});
    return RBWP_OK;
}

void recover_tail_alive(struct recover_tail *tail, const struct live_head *head,
                        int64_t monotonic_ns)
{
    int64_t alive_ns;
    if (__builtin_add_overflow(monotonic_ns, head->offset_ns, &alive_ns) || alive_ns < 0 ||
        (uint64_t)alive_ns > TIME_MASK)
        return;
    tail->alive_ns = alive_ns;
}

static void date_session(struct recover_tail *tail)
{
    struct rbwp_trailer *trailer = &tail->trailer;
    if (!tail->any)
        return;
    if (trailer->start_ns == 0 || tail->first_ns < trailer->start_ns)
        trailer->start_ns = tail->first_ns;
    if (tail->last_ns > trailer->stop_ns)
        trailer->stop_ns = tail->last_ns;
}

/* Behind the last look at the clock, since the recording may end at any moment. */
static void end_with_recording(struct rbwp_trailer *trailer, const struct recover_part *part)
{
    const int64_t ended_ns =
        part && part->ended_ns ? __atomic_load_n(part->ended_ns, __ATOMIC_ACQUIRE) : 0;
    if (ended_ns && trailer->stop_ns > ended_ns)
        trailer->stop_ns = ended_ns;
}

/* A file keeps what it said of itself; of a live file the ring knows it. */
static void take_trailer(struct recover_tail *tail, const struct rbwp_trailer *trailer)
{
    const struct rbwp_kept *kept = tail->trailer.kept;
    tail->trailer = *trailer;
    if (kept) {
        tail->trailer.kept = kept;
        tail->trailer.kept_count = 1;
    }
}

enum rbwp_status recover_tail_make(struct recover_tail *tail, const struct rbwp_reader *reader,
                                   const struct rbwp_live *live, const struct recover_part *part)
{
    static const struct rbwp_tables none = {0};
    static const char writer[] = WRITER RBWP_WRITER_RECOVERED;
    if (tail->memory_failed)
        return RBWP_E_MEMORY;
    const struct rbwp_tables *tables = reader ? rbwp_reader_tables(reader) : &none;
    const struct rbwp_trailer *trailer = reader ? rbwp_reader_trailer(reader) : NULL;
    bool by_live = live && (!reader || reader_tail(reader)->offset == 0);
    if (by_live) {
        tables = rbwp_live_tables(live);
        trailer = rbwp_live_trailer(live);
        tail->dropped = live->facts->dropped;
    }
    bool may_know = by_live && rbwp_live_count_missing(live).unlogged_names == 0;
    tail->names_unknown =
        !may_know && tables->work_item_count == 0 && tables->sub_item_count == 0 && tail->any;
    if (part && part->trailer) {
        tables = part->tables;
        trailer = part->trailer;
    }
    if (trailer)
        take_trailer(tail, trailer);
    if (by_live && tail->alive_ns)
        tail->trailer.stop_ns = tail->alive_ns;
    end_with_recording(&tail->trailer, part);
    if (!trailer || by_live)
        date_session(tail);
    if (!tail->trailer.writer_bytes) {
        tail->trailer.writer = writer;
        tail->trailer.writer_bytes = sizeof writer - (part ? sizeof RBWP_WRITER_RECOVERED : 1);
    }
    enum rbwp_status status = recover_tail_make_tables(tail, tables);
    if (status == RBWP_OK)
        status = recover_tail_make_threads(tail);
    bool is_last = part && part->trailer && live->file.head.ring.part > 1;
    return status == RBWP_OK ? make_losses(tail, is_last ? live->facts : NULL) : status;
}

void recover_tail_free(struct recover_tail *tail)
{
    thread_table_free(&tail->seen);
    free(tail->work_items);
    free(tail->sub_items);
    free(tail->threads);
    free(tail->losses);
    *tail = (struct recover_tail){0};
}
