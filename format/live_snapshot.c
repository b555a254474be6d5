/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_snapshot.c - see live_snapshot.h.
 *
 * The program fills chunks, writes them to FILE, commits that, and only then uses them again; it
 * may also take back the events of an open call, with whole chunks of it. Nothing stops it, so the
 * chunks are listed twice, copied, and then it is looked which of them FILE has by now:
 *
 * - Of two listings the second one has all chunks of a thread that are older than its newest one in
 *   the first, but those that were committed meanwhile. What is newer is dropped.
 * - A chunk that is not the thread's newest was full when it was copied. The words of any chunk are
 *   copied until two copies agree on them: between the two all of them were there at once.
 * - A chunk that is used for something else by then has been committed (or elided). When the
 *   commit is the same before and after all chunks were looked at, FILE has just what it says.
 */
#include "live_snapshot.h"

#include "reader_error.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

#define TRIES 1000 /* to see no commit while the heads are read */

/* ---- what there is ---------------------------------------------------------------------- */

/* The thread's newest chunk; NULL if it has none. The list is sorted by thread, then time. */
static const struct live_chunk *newest(const struct live_chunks *chunks, uint64_t thread_id)
{
    size_t low = 0, high = chunks->count; /* those before low are not behind the thread */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chunks->list[middle].thread_id <= thread_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && chunks->list[low - 1].thread_id == thread_id ? &chunks->list[low - 1] : NULL;
}

static enum rbwp_status list_chunks(struct live_file *live, struct live_chunks *chunks_out,
                                    struct rbwp_error *error)
{
    struct live_chunks first = {0};
    enum rbwp_status status = live_file_commit(live, error);
    if (status == RBWP_OK)
        status = live_file_chunks(live, &first, error);
    if (status == RBWP_OK)
        status = live_file_chunks(live, chunks_out, error);
    size_t kept = 0;
    for (size_t i = 0; i < chunks_out->count; i++) {
        const struct live_chunk *chunk = &chunks_out->list[i];
        const struct live_chunk *last = newest(&first, chunk->thread_id);
        if (last && chunk->base_ticks <= last->base_ticks)
            chunks_out->list[kept++] = *chunk;
    }
    chunks_out->count = kept;
    live_chunks_free(&first);
    return status;
}

/* ---- copies ----------------------------------------------------------------------------- */

static bool live_snapshot_reserve(struct live_snapshot *snapshot, size_t words)
{
    return grow_array(&snapshot->words, &snapshot->word_capacity, snapshot->word_count + words,
                      sizeof *snapshot->words);
}

/* How many words of two copies are the same from the start, up to the last event. */
static size_t agreed(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
    size_t count = a_count < b_count ? a_count : b_count, same = 0;
    while (same < count && a[same] == b[same])
        same++;
    return same;
}

/* The words of whole events; a GPU event that was just being written is none. */
static size_t whole_events(const uint64_t *words, size_t count, uint64_t base_ticks)
{
    struct live_events events = {.words = words, .count = count, .base_ticks = base_ticks};
    struct live_event event;
    while (live_event_next(&events, &event))
        ;
    return events.next;
}

/* The words of rows that were there when the chunk was listed. */
static size_t whole_rows(const struct live_chunk *chunk, size_t count)
{
    uint64_t most = chunk->columns ? count / chunk->columns : 0;
    return (size_t)(chunk->rows < most ? chunk->rows : most) * chunk->columns;
}

/* Appends the words of a chunk; none if it is gone. */
static bool copy_chunk(struct live_snapshot *snapshot, const struct live_file *live,
                       const struct live_chunk *chunk)
{
    size_t room = live_chunk_words(live), counts[2];
    if (!live_snapshot_reserve(snapshot, 2 * room))
        return false;
    uint64_t *words = snapshot->words + snapshot->word_count;
    if (live_chunk_read(live, chunk, words, &counts[0]) &&
        live_chunk_read(live, chunk, words + room, &counts[1])) {
        size_t same = agreed(words, counts[0], words + room, counts[1]);
        snapshot->word_count +=
            chunk->table ? whole_rows(chunk, same) : whole_events(words, same, chunk->base_ticks);
    }
    return true;
}

static bool copy_chunks(struct live_snapshot *snapshot, const struct live_file *live)
{
    size_t count = snapshot->chunks.count;
    snapshot->starts = calloc(count + 1, sizeof *snapshot->starts);
    if (!snapshot->starts)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!copy_chunk(snapshot, live, &snapshot->chunks.list[i]))
            return false;
        snapshot->starts[i + 1] = snapshot->word_count;
    }
    return true;
}

/* ---- which of them FILE has -------------------------------------------------------------- */

/* Notes the ticket of each chunk; UINT64_MAX of one that is gone. */
static void look_at_chunks(struct live_snapshot *snapshot, const struct live_file *live)
{
    for (size_t i = 0; i < snapshot->chunks.count; i++) {
        struct live_chunk *chunk = &snapshot->chunks.list[i], now;
        if (live_chunk_look(live, chunk, &now))
            chunk->ticket = now.ticket;
        else
            chunk->ticket = UINT64_MAX;
    }
}

/* Those that are in FILE, or gone, have no words any more. */
static void drop_written(struct live_snapshot *snapshot, uint64_t committed)
{
    size_t kept = 0, from = 0, to;
    for (size_t i = 0; i < snapshot->chunks.count; i++, from = to) {
        uint64_t ticket = snapshot->chunks.list[i].ticket;
        to = snapshot->starts[i + 1];
        if (ticket == UINT64_MAX || (ticket && ticket <= committed))
            continue;
        snapshot->chunks.list[kept] = snapshot->chunks.list[i];
        size_t words = to - from;
        memmove(snapshot->words + snapshot->starts[kept], snapshot->words + from,
                words * sizeof *snapshot->words);
        snapshot->starts[kept + 1] = snapshot->starts[kept] + words;
        kept++;
    }
    snapshot->chunks.count = kept;
}

static enum rbwp_status live_snapshot_settle(struct live_snapshot *snapshot, struct live_file *live,
                                             struct rbwp_error *error)
{
    for (int i = 0; i < TRIES; i++) {
        enum rbwp_status status = live_file_commit(live, error);
        uint64_t committed = live->commit.ticket;
        if (status != RBWP_OK)
            return status;
        look_at_chunks(snapshot, live);
        status = live_file_commit(live, error);
        if (status != RBWP_OK)
            return status;
        if (live->commit.ticket == committed) {
            drop_written(snapshot, committed);
            return RBWP_OK;
        }
    }
    return error_set(error, RBWP_AGAIN, (struct place){"live file", NOWHERE, 0},
                     "its program wrote all the time; try again");
}

/* ---- the whole ------------------------------------------------------------------------- */

enum rbwp_status live_snapshot_take(struct live_snapshot *snapshot, struct live_file *live,
                                    struct rbwp_error *error)
{
    *snapshot = (struct live_snapshot){0};
    enum rbwp_status status = list_chunks(live, &snapshot->chunks, error);
    if (status == RBWP_OK && !copy_chunks(snapshot, live))
        status = error_set_memory(error, "live file");
    return status == RBWP_OK ? live_snapshot_settle(snapshot, live, error) : status;
}

void live_snapshot_free(struct live_snapshot *snapshot)
{
    live_chunks_free(&snapshot->chunks);
    free(snapshot->starts);
    free(snapshot->words);
    *snapshot = (struct live_snapshot){0};
}
