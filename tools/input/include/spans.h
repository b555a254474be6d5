/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h - begins paired with their ends.
 *
 * Takes the records of each thread in order and hands out a span when it
 * ends, so memory holds only what is open. Rules:
 * - a coarse end closes the thread's open call; sub-items still open in it
 *   are unfinished;
 * - a thread has one open call: a second begin means that the first one's end
 *   is missing, so the first, and what is open in it, is unfinished;
 * - a fine end closes the innermost sub-item, but never one outside the open
 *   call;
 * - an end with nothing to close is a stray end: a span without a begin;
 * - GPU work is a span of its own, of its processor;
 * - after damage in the file nothing is paired across the gap;
 * - what is open at the end of the data still ran then, unless its end may be
 *   among what is missing.
 *
 * Knows nothing of names and output; reorder.h brings blocks into order.
 */
#ifndef SPANS_H
#define SPANS_H

#include "rbwp_reader.h"
#include "thread_map.h"

/* Open spans of all threads together. Sub-items beyond it are handed out at once, unfinished. */
#define SPANS_OPEN_MAX (1u << 20)

enum span_kind { SPAN_COARSE, SPAN_FINE, SPAN_GPU };

struct span {
    enum span_kind kind;
    uint64_t id;     /* counts begins from 1 */
    uint64_t parent; /* id of the enclosing span of the thread, 0 = none */
    uint32_t depth;  /* number of enclosing spans */
    uint64_t thread_id;
    int slot; /* of the call, of the enclosing call, or of the GPU work; -1 none */
    uint16_t sub_item;
    uint64_t proc_id;
    bool has_begin, has_end; /* begin only: unfinished; end only: stray */
    /* Unfinished, because it still ran at the end of the data: until end_ns, the last sign of
     * life. */
    bool open;
    int64_t begin_ns, end_ns;
    int64_t record_ns; /* GPU work: when it was recorded */
};

/* Both ends are there, in this order. */
static inline bool span_has_duration(const struct span *span)
{
    return span->has_begin && span->has_end && span->end_ns >= span->begin_ns;
}
/* 0 without one. */
static inline uint64_t span_duration_ns(const struct span *span)
{
    return span_has_duration(span) ? (uint64_t)span->end_ns - (uint64_t)span->begin_ns : 0;
}
/* The time at which its names are meant. */
static inline int64_t span_name_time_ns(const struct span *span)
{
    return span->kind == SPAN_GPU ? span->record_ns
           : span->has_begin      ? span->begin_ns
                                  : span->end_ns;
}

typedef void span_fn(void *context, const struct span *span);

struct open_span {
    uint64_t id;
    int64_t begin_ns;
    uint16_t item; /* slot or sub-item */
};

/* Open spans of one thread, outermost first. */
struct span_thread {
    uint64_t thread_id;
    struct open_span *open;
    uint32_t depth, capacity;
    uint32_t call;     /* 1 + index of the open call, 0 = none */
    uint32_t overflow; /* sub-items that found no room and are still open */
    uint32_t passed;   /* of builder, when it had something open there */
};

struct span_builder {
    span_fn *emit;
    void *context;
    struct thread_map map;
    struct span_thread *threads;
    uint32_t thread_capacity;
    uint32_t open_total;
    uint32_t passed; /* parts that were passed over */
    uint64_t next_id;
    uint64_t unfinished, strays;
    uint64_t open; /* of the unfinished ones */
    bool failed;   /* no room for a thread; its blocks were left out */
};

void span_builder_start(struct span_builder *builder, span_fn *emit, void *context);
/* The next block of its thread. */
void span_builder_block(struct span_builder *builder, const struct rbwp_block *block);
/* The next record of its thread. */
void span_builder_record(struct span_builder *builder, uint64_t thread_id,
                         const struct rbwp_record *record);
/* Ends all that is open as unfinished: data are missing here. */
void span_builder_break(struct span_builder *builder);
/* Part of the data is passed over that begins ids many spans, behind which these are open and no
 * others; what ended there is not handed out. False without memory. */
bool span_builder_pass_over(struct span_builder *builder, uint64_t ids,
                            const struct rbwp_open_item *open, uint32_t count);
/*
 * The end of the data. ran tells whether a span of the thread that began then still ran, and until
 * when it is known to have; what did not is unfinished and no more. Spans that ran come out open.
 */
typedef bool span_ran_fn(void *context, uint64_t thread_id, int64_t begin_ns,
                         int64_t *until_ns_out);
void span_builder_finish(struct span_builder *builder, span_ran_fn *ran, void *context);
void span_builder_stop(struct span_builder *builder);

#endif /* SPANS_H */
