/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces are sorted by merging the runs that are in order already. A thread's
 * intervals ascend, but come in turns with those of others: a few hundred runs
 * a piece, which are first put behind each other where they continue one
 * another, so that there are about as many as threads. The pieces meet in a
 * heap of their heads.
 */
#include "stats.h"
#include "bytes.h"
#include "message.h"
#include "sorted.h"
#include "temporary_file.h"
#include "trace_axis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONCURRENCY_HEAD_BYTES = 16 << 20 }; /* memory of all pieces in the merge */

/* Of steps, seven bits a byte. There are 256 steps of 2^56 and more at most, all others are shorter
 * than the numbers themselves. */
enum { STEP_BYTES_MAX = 10, LONG_STEPS_BYTES = 1024 };

void concurrency_start(struct concurrency *concurrency)
{
    *concurrency = (struct concurrency){.fd = -1, .kept_most = CONCURRENCY_KEPT_BYTES};
}

static void concurrency_fail(struct concurrency *concurrency, const char *why)
{
    message_once(&concurrency->failed, "concurrency is not known: %s", why);
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

/* Without branches: which of two threads' ends is next cannot be foreseen. As many as the shorter
 * run has left are sure to be there. */
static void merge_runs(const int64_t *from, size_t middle, size_t end, int64_t *to)
{
    const int64_t *left = from, *right = from + middle, *left_end = right, *right_end = from + end;
    for (size_t sure; (sure = (size_t)(left_end - left) < (size_t)(right_end - right)
                                  ? (size_t)(left_end - left)
                                  : (size_t)(right_end - right)) > 0;) {
        for (; sure > 0; sure--) {
            const int64_t a = *left, b = *right;
            const bool is_right = b < a;
            *to++ = is_right ? b : a;
            right += is_right;
            left += !is_right;
        }
    }
    memcpy(to, left, (size_t)(left_end - left) * sizeof *to);
    memcpy(to + (left_end - left), right, (size_t)(right_end - right) * sizeof *to);
}

static void swap(struct concurrency *concurrency)
{
    int64_t *ends = concurrency->ends;
    concurrency->ends = concurrency->spare;
    concurrency->spare = ends;
}

/* Runs that continue one another. */
struct chain {
    int64_t last;
    size_t count, at; /* ends; where the next run goes */
};
enum { CHAINS = 64 };

/* The chain that ends latest before the run; a new one, or any if there are too many. */
static unsigned chain_of(struct chain *chains, unsigned *count, int64_t first)
{
    unsigned best = CHAINS;
    for (unsigned i = 0; i < *count; i++)
        if (chains[i].last <= first && (best == CHAINS || chains[i].last > chains[best].last))
            best = i;
    if (best < CHAINS)
        return best;
    return *count < CHAINS ? (*count)++ : CHAINS - 1;
}

/* Puts the runs of each chain behind each other. */
static void gather_runs(struct concurrency *concurrency)
{
    struct chain chains[CHAINS];
    const int64_t *ends = concurrency->ends;
    for (int pass = 0; pass < 2; pass++) { /* count, then copy */
        unsigned used = 0;
        size_t place = 0;
        for (unsigned i = 0; i < CHAINS; i++) {
            size_t count = pass ? chains[i].count : 0;
            chains[i] = (struct chain){.last = INT64_MIN, .at = place};
            place += count;
        }
        for (size_t at = 0, end; at < concurrency->count; at = end) {
            end = run_end(ends, at, concurrency->count);
            struct chain *chain = &chains[chain_of(chains, &used, ends[at])];
            if (pass)
                memcpy(concurrency->spare + chain->at, ends + at, (end - at) * sizeof *ends);
            chain->at += end - at;
            chain->count += end - at;
            chain->last = ends[end - 1];
        }
    }
    swap(concurrency);
}

/* Up to CHAINS runs from first on become one; where it ends. */
static size_t merge_stretch(struct concurrency *concurrency, size_t first)
{
    int64_t *from = concurrency->ends, *to = concurrency->spare;
    size_t run_ends[CHAINS], end = first;
    unsigned runs = 0;
    for (; runs < CHAINS && end < concurrency->count; runs++)
        run_ends[runs] = end = run_end(from, end, concurrency->count);
    for (unsigned merged; runs > 1; runs = merged) {
        merged = 0;
        for (unsigned i = 0; i < runs; i += 2) {
            const size_t begin = merged ? run_ends[merged - 1] : first, middle = run_ends[i];
            const size_t both = run_ends[i + 1 < runs ? i + 1 : i];
            merge_runs(from + begin, middle - begin, both - begin, to + begin);
            run_ends[merged++] = both;
        }
        int64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != concurrency->ends)
        memcpy(concurrency->ends + first, from + first, (end - first) * sizeof *from);
    return end;
}

static void concurrency_sort(struct concurrency *concurrency)
{
    const size_t count = concurrency->count;
    if (count == 0 || run_end(concurrency->ends, 0, count) == count)
        return;
    gather_runs(concurrency);
    while (merge_stretch(concurrency, 0) < count) {
        for (size_t at = run_end(concurrency->ends, 0, count); at < count;)
            at = merge_stretch(concurrency, at);
    }
}

/* Steps from end to end, the first from 0; over spare. How many bytes these are. */
static size_t concurrency_pack(struct concurrency *concurrency)
{
    uint8_t *at = (uint8_t *)concurrency->spare;
    uint64_t before = 0;
    for (size_t i = 0; i < concurrency->count; i++) {
        at = store_varint(at, (uint64_t)concurrency->ends[i] - before);
        before = (uint64_t)concurrency->ends[i];
    }
    return (size_t)(at - (uint8_t *)concurrency->spare);
}

/* False without a file, or if it cannot be written. */
static bool concurrency_write_piece(struct concurrency *concurrency,
                                    struct concurrency_piece *piece, size_t bytes)
{
    if (concurrency->fd < 0)
        concurrency->fd = temporary_file();
    if (concurrency->fd < 0) {
        concurrency->failed = true; /* with the message given */
        return false;
    }
    if (!write_all(concurrency->fd, (const char *)concurrency->spare, bytes)) {
        concurrency_fail(concurrency, strerror(errno));
        return false;
    }
    piece->begin = concurrency->file_bytes;
    piece->end = concurrency->file_bytes += bytes;
    return true;
}

static void put_piece(struct concurrency *concurrency)
{
    concurrency_sort(concurrency);
    const size_t bytes = concurrency_pack(concurrency);
    concurrency->count = 0;
    if (!GROW_ARRAY(concurrency->pieces, concurrency->piece_room, concurrency->piece_count + 1)) {
        concurrency_fail(concurrency, "out of memory");
        return;
    }
    struct concurrency_piece *piece = &concurrency->pieces[concurrency->piece_count];
    *piece = (struct concurrency_piece){.end = bytes};
    if (concurrency->kept_bytes + bytes <= concurrency->kept_most)
        piece->kept = malloc(bytes);
    if (piece->kept) {
        memcpy(piece->kept, concurrency->spare, bytes);
        concurrency->kept_bytes += bytes;
    } else if (!concurrency_write_piece(concurrency, piece, bytes)) {
        return;
    }
    concurrency->piece_count++;
}

static bool concurrency_grow(struct concurrency *concurrency)
{
    size_t room = concurrency->room ? concurrency->room * 2 : 4096;
    size_t bytes = room * sizeof *concurrency->ends + LONG_STEPS_BYTES;
    int64_t *ends = realloc(concurrency->ends, bytes);
    if (ends)
        concurrency->ends = ends;
    int64_t *spare = realloc(concurrency->spare, bytes);
    if (spare)
        concurrency->spare = spare;
    if (!ends || !spare)
        return false;
    concurrency->room = room;
    return true;
}

/* Of what happens at one time the least comes first, so that nobody is taken off who is not there.
 */
enum end { WAITED, STOPPED, STARTED, WAITS };
enum { END_BITS = 2 };

static void add_ends(struct concurrency *concurrency, int64_t start_ns, enum end start,
                     int64_t stop_ns, enum end stop)
{
    start_ns = trace_bounded(start_ns);
    stop_ns = trace_bounded(stop_ns);
    if (concurrency->failed || start_ns >= stop_ns)
        return;
    if (concurrency->count == CONCURRENCY_ENDS)
        put_piece(concurrency);
    if (concurrency->count == concurrency->room && !concurrency_grow(concurrency)) {
        concurrency_fail(concurrency, "out of memory");
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
    uint32_t step; /* of the course over time, in which at_ns lies */
    int64_t step_end_ns;
};

/* The time from at_ns to now_ns in the course, where it goes beyond its step. */
static void pass_steps(struct sweep *sweep, int64_t now_ns)
{
    struct concurrency_result *result = sweep->result;
    while (sweep->step_end_ns < now_ns && sweep->step < CONCURRENCY_STEPS - 1) {
        if (sweep->at_ns < sweep->step_end_ns) {
            const int64_t passed_ns = sweep->step_end_ns - sweep->at_ns;
            result->step_busy_ns[sweep->step] += (uint64_t)passed_ns * sweep->busy;
            sweep->at_ns = sweep->step_end_ns;
        }
        sweep->step++;
        sweep->step_end_ns += result->step_ns;
    }
}

/* The time up to now_ns had sweep->busy of them busy. */
static inline void pass_time(struct sweep *sweep, int64_t now_ns)
{
    struct concurrency_result *result = sweep->result;
    if (now_ns > sweep->at_ns && sweep->busy >= result->levels)
        result->levels = sweep->busy + 1;
    result->level_ns[sweep->busy] += (uint64_t)(now_ns - sweep->at_ns);
    if (now_ns > sweep->step_end_ns)
        pass_steps(sweep, now_ns);
    if (now_ns > sweep->at_ns)
        result->step_busy_ns[sweep->step] += (uint64_t)(now_ns - sweep->at_ns) * sweep->busy;
    sweep->at_ns = now_ns;
}

static inline bool concurrency_take(struct sweep *sweep, int64_t end)
{
    unsigned kind = (unsigned)end & ((1u << END_BITS) - 1);
    pass_time(sweep, end >> END_BITS);
    if (kind == WAITED || kind == STARTED)
        sweep->busy++;
    else if (sweep->busy) /* what was cut out of the run may have lost its start */
        sweep->busy--;
    return sweep->busy < sweep->room ||
           GROW_ZEROED(sweep->result->level_ns, sweep->room, sweep->busy + 1);
}

/* ---- the merge ---------------------------------------------------------------------- */

/* A sorted run of ends, all or a part of it in memory. */
struct piece {
    int64_t head;
    uint8_t *bytes;
    size_t at, count;   /* in memory: behind the head */
    uint64_t next, end; /* in the file */
};

/* Moves what is left to the front and reads behind it. */
static bool refill(struct concurrency *concurrency, struct piece *piece, size_t room)
{
    size_t kept = piece->count - piece->at;
    uint64_t left = piece->end - piece->next;
    size_t count = left < room - kept ? (size_t)left : room - kept;
    memmove(piece->bytes, piece->bytes + piece->at, kept);
    if (!read_all_at(concurrency->fd, piece->bytes + kept, count, piece->next)) {
        concurrency_fail(concurrency, errno ? strerror(errno) : "the temporary file was cut");
        return false;
    }
    piece->at = 0;
    piece->count = kept + count;
    piece->next += count;
    return true;
}

/* The next step, at a place with a whole one; where the one behind it begins. */
static inline const uint8_t *read_step(const uint8_t *at, uint64_t *step_out)
{
    uint64_t step = *at & 127;
    for (unsigned shift = 7; *at++ >= 128; shift += 7)
        step |= (uint64_t)(*at & 127) << (shift & 63);
    *step_out = step;
    return at;
}

/* On to the next end; false if there is none, or it cannot be read. */
static inline bool concurrency_advance(struct concurrency *concurrency, struct piece *piece,
                                       size_t room)
{
    uint64_t step;
    if (piece->count - piece->at < STEP_BYTES_MAX && piece->next < piece->end &&
        !refill(concurrency, piece, room))
        return false;
    if (piece->at == piece->count)
        return false;
    piece->at = (size_t)(read_step(piece->bytes + piece->at, &step) - piece->bytes);
    piece->head = (int64_t)((uint64_t)piece->head + step);
    return true;
}

static bool merge(struct concurrency *concurrency, struct sweep *sweep, struct piece *heap,
                  size_t count, size_t room)
{
    for (size_t at = count / 2; at-- > 0;)
        HEAP_SIFT(heap, count, at, a->head < b->head);
    while (count > 0) {
        struct piece *top = &heap[0];
        /* The least head of the pieces below the top, up to which all is the top's. */
        const int64_t left = count > 1 ? heap[1].head : INT64_MAX;
        const int64_t right = count > 2 ? heap[2].head : INT64_MAX;
        const int64_t until = left < right ? left : right;
        bool more;
        do {
            if (!concurrency_take(sweep, top->head))
                return false;
            more = concurrency_advance(concurrency, top, room);
        } while (more && top->head <= until);
        if (!more)
            *top = heap[--count];
        HEAP_SIFT(heap, count, 0, a->head < b->head);
    }
    return true;
}

static bool merge_pieces(struct concurrency *concurrency, struct sweep *sweep)
{
    const size_t count = concurrency->piece_count;
    size_t room = CONCURRENCY_HEAD_BYTES / count;
    room = room < 512 ? 512 : room;
    uint8_t *bytes = concurrency->fd < 0 ? NULL : malloc(count * room);
    struct piece *heap = calloc(count, sizeof *heap);
    bool done = heap && (bytes || concurrency->fd < 0);
    for (size_t i = 0; i < count && done; i++) {
        const struct concurrency_piece *from = &concurrency->pieces[i];
        if (from->kept)
            heap[i] = (struct piece){.bytes = from->kept, .count = (size_t)from->end};
        else
            heap[i] =
                (struct piece){.bytes = bytes + i * room, .next = from->begin, .end = from->end};
        done = concurrency_advance(concurrency, &heap[i], room); /* no piece is empty */
    }
    done = done && merge(concurrency, sweep, heap, count, room);
    free(bytes);
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
    if (concurrency->piece_count) {
        if (concurrency->count)
            put_piece(concurrency);
        return !concurrency->failed && merge_pieces(concurrency, sweep);
    }
    concurrency_sort(concurrency);
    for (size_t i = 0; i < concurrency->count; i++)
        if (!concurrency_take(sweep, concurrency->ends[i]))
            return false;
    return true;
}

void concurrency_finish(struct concurrency *concurrency, int64_t first_ns, int64_t last_ns,
                        struct concurrency_result *result_out)
{
    first_ns = trace_bounded(first_ns);
    last_ns = trace_bounded(last_ns);
    *result_out = (struct concurrency_result){
        .first_ns = first_ns, .step_ns = (last_ns - first_ns) / CONCURRENCY_STEPS + 1};
    struct sweep sweep = {
        .result = result_out, .at_ns = first_ns, .step_end_ns = first_ns + result_out->step_ns};
    if (!concurrency->failed && !sweep_all(concurrency, &sweep))
        concurrency_fail(concurrency, "out of memory");
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
    for (uint32_t i = 0; i < concurrency->piece_count; i++)
        free(concurrency->pieces[i].kept);
    free(concurrency->pieces);
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
