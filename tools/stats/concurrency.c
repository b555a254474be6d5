/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces are sorted by merging the runs that are in order already: a thread's
 * intervals ascend, so a piece is a few hundred runs. The pieces meet in a
 * heap of their heads.
 */
#include "concurrency.h"
#include "message.h"
#include "temporary_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_BYTES = 16 << 20 }; /* memory of all pieces in the merge */

/* Times are far inside; those of a hostile file are moved to the edge. */
#define TIME_MAX (INT64_MAX / 4)

void concurrency_start(struct concurrency *concurrency)
{
    *concurrency = (struct concurrency){.fd = -1};
}

static void fail(struct concurrency *concurrency, const char *why)
{
    if (!concurrency->failed)
        message("concurrency is left out: %s", why);
    concurrency->failed = true;
}

/* ---- coming in ---------------------------------------------------------------------- */

/* One past the run of ascending numbers that begins at first. */
static size_t run_end(const int64_t *ends, size_t first, size_t count)
{
    size_t at = first + 1;
    while (at < count && ends[at - 1] <= ends[at])
        at++;
    return at < count ? at : count;
}

static void merge_runs(const int64_t *from, size_t middle, size_t end, int64_t *to)
{
    size_t left = 0, right = middle;
    while (left < middle && right < end)
        *to++ = from[right] < from[left] ? from[right++] : from[left++];
    memcpy(to, from + left, (middle - left) * sizeof *to);
    memcpy(to + (middle - left), from + right, (end - right) * sizeof *to);
}

static void sort(struct concurrency *concurrency)
{
    size_t count = concurrency->count;
    while (count > 0 && run_end(concurrency->ends, 0, count) < count) {
        int64_t *from = concurrency->ends, *to = concurrency->spare;
        for (size_t at = 0; at < count;) {
            size_t middle = run_end(from, at, count);
            size_t end = middle < count ? run_end(from, middle, count) : count;
            merge_runs(from + at, middle - at, end - at, to + at);
            at = end;
        }
        concurrency->ends = to;
        concurrency->spare = from;
    }
}

static void put_piece(struct concurrency *concurrency)
{
    sort(concurrency);
    if (concurrency->fd < 0)
        concurrency->fd = temporary_file();
    if (concurrency->fd < 0)
        concurrency->failed = true; /* with the message given */
    else if (!write_all(concurrency->fd, (const char *)concurrency->ends,
                        concurrency->count * sizeof *concurrency->ends))
        fail(concurrency, strerror(errno));
    else
        concurrency->pieces++;
    concurrency->count = 0;
}

static bool grow(struct concurrency *concurrency)
{
    size_t room = concurrency->room ? concurrency->room * 2 : 4096;
    int64_t *ends = realloc(concurrency->ends, room * sizeof *ends);
    if (ends)
        concurrency->ends = ends;
    int64_t *spare = realloc(concurrency->spare, room * sizeof *spare);
    if (spare)
        concurrency->spare = spare;
    if (!ends || !spare)
        return false;
    concurrency->room = room;
    return true;
}

static int64_t bounded(int64_t time_ns)
{
    return time_ns > TIME_MAX ? TIME_MAX : time_ns < -TIME_MAX ? -TIME_MAX : time_ns;
}

/* Of what happens at one time the least comes first, so that nobody is taken off who is not there.
 */
enum end { WAITED, STOPPED, STARTED, WAITS };
enum { END_BITS = 2 };

static void add_ends(struct concurrency *concurrency, int64_t start_ns, enum end start,
                     int64_t stop_ns, enum end stop)
{
    start_ns = bounded(start_ns);
    stop_ns = bounded(stop_ns);
    if (concurrency->failed || start_ns >= stop_ns)
        return;
    if (concurrency->count == CONCURRENCY_ENDS)
        put_piece(concurrency);
    if (concurrency->count == concurrency->room && !grow(concurrency)) {
        fail(concurrency, "out of memory");
        return;
    }
    concurrency->ends[concurrency->count++] = start_ns * (1 << END_BITS) + (int64_t)start;
    concurrency->ends[concurrency->count++] = stop_ns * (1 << END_BITS) + (int64_t)stop;
}

void concurrency_add(struct concurrency *concurrency, int64_t start_ns, int64_t stop_ns)
{
    add_ends(concurrency, start_ns, STARTED, stop_ns, STOPPED);
}

void concurrency_take_off(struct concurrency *concurrency, int64_t start_ns, int64_t stop_ns)
{
    add_ends(concurrency, start_ns, WAITS, stop_ns, WAITED);
}

/* ---- the sweep ---------------------------------------------------------------------- */

struct sweep {
    struct concurrency_result *result;
    int64_t at_ns;
    uint32_t busy, room;
};

/* The time up to now_ns had sweep->busy of them busy. */
static void pass_time(struct sweep *sweep, int64_t now_ns)
{
    struct concurrency_result *result = sweep->result;
    result->level_ns[sweep->busy] += (uint64_t)(now_ns - sweep->at_ns);
    if (now_ns > sweep->at_ns && sweep->busy >= result->levels)
        result->levels = sweep->busy + 1;
    while (sweep->busy && sweep->at_ns < now_ns) {
        int64_t step = (sweep->at_ns - result->first_ns) / result->step_ns;
        int64_t end_ns = result->first_ns + (step + 1) * result->step_ns;
        end_ns = end_ns < now_ns ? end_ns : now_ns;
        result->step_busy_ns[step] += (uint64_t)(end_ns - sweep->at_ns) * sweep->busy;
        sweep->at_ns = end_ns;
    }
    sweep->at_ns = now_ns;
}

static bool take(struct sweep *sweep, int64_t end)
{
    unsigned kind = (unsigned)end & ((1u << END_BITS) - 1);
    pass_time(sweep, end >> END_BITS);
    if (kind == WAITED || kind == STARTED)
        sweep->busy++;
    else if (sweep->busy) /* what was cut out of the run may have lost its start */
        sweep->busy--;
    if (sweep->busy >= sweep->room) {
        uint32_t room = sweep->room * 2;
        uint64_t *moved = realloc(sweep->result->level_ns, room * sizeof *moved);
        if (!moved)
            return false;
        memset(moved + sweep->room, 0, (room - sweep->room) * sizeof *moved);
        sweep->result->level_ns = moved;
        sweep->room = room;
    }
    return true;
}

/* ---- the merge ---------------------------------------------------------------------- */

/* A sorted run of ends, part of it in memory. */
struct piece {
    int64_t *ends;
    size_t at, count;   /* in memory */
    uint64_t next, end; /* in the file */
};

static bool refill(struct concurrency *concurrency, struct piece *piece, size_t room)
{
    uint64_t left = piece->end - piece->next;
    size_t count = left < room ? (size_t)left : room;
    if (!read_all_at(concurrency->fd, piece->ends, count * sizeof *piece->ends,
                     piece->next * sizeof *piece->ends)) {
        fail(concurrency, errno ? strerror(errno) : "the temporary file was cut");
        return false;
    }
    piece->at = 0;
    piece->count = count;
    piece->next += count;
    return count > 0;
}

static int64_t head(const struct piece *piece)
{
    return piece->ends[piece->at];
}

static void sift(struct piece *heap, size_t count, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (head(&heap[child]) < head(&heap[least]))
                least = child;
        if (least == at)
            return;
        struct piece moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

static bool merge(struct concurrency *concurrency, struct sweep *sweep, struct piece *heap,
                  size_t count, size_t room)
{
    for (size_t at = count / 2; at-- > 0;)
        sift(heap, count, at);
    while (count > 0) {
        struct piece *top = &heap[0];
        if (!take(sweep, top->ends[top->at++]))
            return false;
        if (top->at == top->count && !refill(concurrency, top, room))
            *top = heap[--count];
        sift(heap, count, 0);
    }
    return true;
}

static bool merge_pieces(struct concurrency *concurrency, struct sweep *sweep)
{
    uint64_t all = (uint64_t)lseek(concurrency->fd, 0, SEEK_END) / sizeof(int64_t);
    size_t count = concurrency->pieces, room = HEAD_BYTES / sizeof(int64_t) / count;
    room = room < 64 ? 64 : room;
    int64_t *ends = malloc(count * room * sizeof *ends);
    struct piece *heap = calloc(count, sizeof *heap);
    bool done = ends && heap;
    for (size_t i = 0; i < count && done; i++) {
        uint64_t first = i * (uint64_t)CONCURRENCY_ENDS, end = first + CONCURRENCY_ENDS;
        heap[i] =
            (struct piece){.ends = ends + i * room, .next = first, .end = end < all ? end : all};
        done = refill(concurrency, &heap[i], room); /* no piece is empty */
    }
    done = done && merge(concurrency, sweep, heap, count, room);
    free(ends);
    free(heap);
    return done;
}

static bool sweep_all(struct concurrency *concurrency, struct sweep *sweep)
{
    sweep->room = 64;
    sweep->result->levels = 1;
    sweep->result->level_ns = calloc(sweep->room, sizeof *sweep->result->level_ns);
    if (!sweep->result->level_ns)
        return false;
    if (concurrency->pieces) {
        if (concurrency->count)
            put_piece(concurrency);
        return !concurrency->failed && merge_pieces(concurrency, sweep);
    }
    sort(concurrency);
    for (size_t i = 0; i < concurrency->count; i++)
        if (!take(sweep, concurrency->ends[i]))
            return false;
    return true;
}

void concurrency_finish(struct concurrency *concurrency, int64_t first_ns, int64_t last_ns,
                        struct concurrency_result *result_out)
{
    first_ns = bounded(first_ns);
    last_ns = bounded(last_ns);
    *result_out = (struct concurrency_result){
        .first_ns = first_ns, .step_ns = (last_ns - first_ns) / CONCURRENCY_STEPS + 1};
    struct sweep sweep = {.result = result_out, .at_ns = first_ns};
    if (!concurrency->failed && !sweep_all(concurrency, &sweep))
        fail(concurrency, "out of memory");
    if (concurrency->failed)
        concurrency_free(result_out);
    else
        pass_time(&sweep, last_ns);
    concurrency_stop(concurrency);
}

void concurrency_stop(struct concurrency *concurrency)
{
    free(concurrency->ends);
    free(concurrency->spare);
    if (concurrency->fd >= 0)
        close(concurrency->fd);
    concurrency_start(concurrency);
}

void concurrency_free(struct concurrency_result *result)
{
    free(result->level_ns);
    result->level_ns = NULL;
    result->levels = 0;
}
