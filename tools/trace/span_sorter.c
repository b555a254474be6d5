/* SPDX-License-Identifier: Apache-2.0 */
/* An external merge sort. The merge takes the least head of all pieces from a heap. */
#include "span_sorter.h"
#include "lanes.h"
#include "message.h"
#include "span_order.h"
#include "temporary_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH_SPANS = 1024, MERGE_BYTES = 32 << 20 };

void span_sorter_start(struct span_sorter *sorter)
{
    *sorter = (struct span_sorter){.fd = -1};
}

void span_sorter_stop(struct span_sorter *sorter)
{
    free(sorter->spans);
    if (sorter->fd >= 0)
        close(sorter->fd);
}

static int compare(const void *a, const void *b)
{
    const struct trace_span *left = a, *right = b;
    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    return span_order(left, right);
}

static void fail(struct span_sorter *sorter, const char *why)
{
    if (!sorter->failed)
        message("spans are missing: %s", why);
    sorter->failed = true;
}

/* ---- coming in -------------------------------------------------------------- */

static void put_piece(struct span_sorter *sorter)
{
    qsort(sorter->spans, sorter->count, sizeof *sorter->spans, compare);
    if (sorter->fd < 0)
        sorter->fd = temporary_file();
    if (sorter->fd < 0)
        sorter->failed = true; /* with the message given */
    else if (!write_all(sorter->fd, (const char *)sorter->spans,
                        sorter->count * sizeof *sorter->spans))
        fail(sorter, strerror(errno));
    else
        sorter->pieces++;
    sorter->count = 0;
}

void span_sorter_add(struct span_sorter *sorter, const struct trace_span *span)
{
    if (sorter->failed)
        return;
    if (sorter->count == SPAN_SORTER_SPANS)
        put_piece(sorter);
    if (sorter->count == sorter->room) {
        size_t room = sorter->room ? sorter->room * 2 : 1024;
        struct trace_span *moved = realloc(sorter->spans, room * sizeof *moved);
        if (!moved) {
            fail(sorter, "out of memory");
            return;
        }
        sorter->spans = moved;
        sorter->room = room;
    }
    sorter->spans[sorter->count++] = *span;
}

/* ---- going out -------------------------------------------------------------- */

struct passing {
    struct trace *trace;
    struct lanes lanes;
    struct trace_span batch[BATCH_SPANS];
    size_t count;
};

static void pass_batch(struct passing *passing)
{
    trace_add_spans(passing->trace, passing->batch, passing->count);
    passing->count = 0;
}

static void pass(struct passing *passing, const struct trace_span *span)
{
    bool other = passing->count && passing->batch[0].track != span->track;
    if (other)
        lanes_free(&passing->lanes);
    if (other || passing->count == BATCH_SPANS)
        pass_batch(passing);
    struct trace_span *copy = &passing->batch[passing->count++];
    *copy = *span;
    if (copy->flags & SPAN_SORTER_GROUPED) {
        copy->flags &= (uint8_t)~SPAN_SORTER_GROUPED;
        copy->parent = 0;
    }
    copy->lane =
        lanes_place_group(&passing->lanes, span->start_ns, span->stop_ns,
                          span->flags & SPAN_SORTER_GROUPED ? span->parent : 0, &copy->depth);
}

/* A sorted run of spans, part of it in memory. */
struct piece {
    struct trace_span *spans;
    size_t at, count;   /* in memory */
    uint64_t next, end; /* in the file, spans */
};

static bool refill(struct span_sorter *sorter, struct piece *piece, size_t room)
{
    uint64_t left = piece->end - piece->next;
    size_t count = left < room ? (size_t)left : room;
    if (!read_all_at(sorter->fd, piece->spans, count * sizeof *piece->spans,
                     piece->next * sizeof *piece->spans)) {
        fail(sorter, errno ? strerror(errno) : "the temporary file was cut");
        return false;
    }
    piece->at = 0;
    piece->count = count;
    piece->next += count;
    return count > 0;
}

/* Moves the piece at the top down to where it belongs. */
static void sift(struct piece *heap, size_t count)
{
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (compare(&heap[child].spans[heap[child].at], &heap[least].spans[heap[least].at]) < 0)
                least = child;
        if (least == at)
            return;
        struct piece moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

static int by_head(const void *a, const void *b)
{
    const struct piece *left = a, *right = b;
    return compare(&left->spans[left->at], &right->spans[right->at]);
}

static void merge(struct span_sorter *sorter, struct passing *passing, struct piece *heap,
                  size_t count, size_t room)
{
    qsort(heap, count, sizeof *heap, by_head); /* a sorted array is a heap */
    while (count > 0 && !trace_is_full(passing->trace)) {
        struct piece *top = &heap[0];
        pass(passing, &top->spans[top->at++]);
        if (top->at == top->count && !refill(sorter, top, room))
            *top = heap[--count];
        sift(heap, count);
    }
}

static void merge_pieces(struct span_sorter *sorter, struct passing *passing)
{
    size_t count = sorter->pieces, room = MERGE_BYTES / sizeof(struct trace_span) / count;
    room = room < 64 ? 64 : room;
    free(sorter->spans);
    sorter->spans = malloc(count * room * sizeof *sorter->spans);
    struct piece *heap = calloc(count, sizeof *heap);
    if (!sorter->spans || !heap)
        fail(sorter, "out of memory");
    for (size_t i = 0; i < count && !sorter->failed; i++) {
        uint64_t first = i * (uint64_t)SPAN_SORTER_SPANS;
        uint64_t all = (uint64_t)lseek(sorter->fd, 0, SEEK_END) / sizeof *sorter->spans;
        heap[i] = (struct piece){.spans = sorter->spans + i * room,
                                 .next = first,
                                 .end = first + SPAN_SORTER_SPANS < all ? first + SPAN_SORTER_SPANS
                                                                        : all};
        (void)refill(sorter, &heap[i], room); /* no piece is empty */
    }
    if (!sorter->failed)
        merge(sorter, passing, heap, count, room);
    free(heap);
}

void span_sorter_finish(struct span_sorter *sorter, struct trace *trace)
{
    struct passing *passing = calloc(1, sizeof *passing);
    if (!passing) {
        fail(sorter, "out of memory");
        return;
    }
    passing->trace = trace;
    if (sorter->pieces == 0) {
        if (sorter->count)
            qsort(sorter->spans, sorter->count, sizeof *sorter->spans, compare);
        for (size_t i = 0; i < sorter->count; i++)
            pass(passing, &sorter->spans[i]);
    } else {
        if (sorter->count)
            put_piece(sorter);
        if (!sorter->failed)
            merge_pieces(sorter, passing);
    }
    pass_batch(passing);
    lanes_free(&passing->lanes);
    free(passing);
}
