/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_pairs.h - begins paired with their ends.
 *
 * Takes the records of each thread in order and hands out a pair when it
 * ends, so memory holds only what is open. The model's spans are made of
 * pairs (trace_span.h). Rules:
 * - a coarse end closes the thread's open call; sub-items still open in it
 *   are unfinished;
 * - a thread has one open call: a second begin means that the first one's end
 *   is missing, so the first, and what is open in it, is unfinished;
 * - a fine end closes the innermost sub-item, but never one outside the open
 *   call;
 * - an end with nothing to close is an unmatched end: a pair without a begin;
 * - GPU work is one record with both times: a pair of its own, of its processor;
 * - after damage in the file nothing is paired across the gap;
 * - what is open at the end of the data still ran then, unless its end may be
 *   among what is missing;
 * - files that have parts of one recording, read one after the other, are
 *   paired as one: what was open at the end of one, and is begun again at the
 *   beginning of the next one, is the same; records that came before are
 *   passed over.
 *
 * Knows nothing of names and output; reorder.h brings blocks into order.
 */
#ifndef RECORD_PAIRS_H
#define RECORD_PAIRS_H

#include "rbwp_reader.h"
#include "thread_map.h"

/* What is open in all threads together. Sub-items beyond it are handed out at once, unfinished. */
#define PAIRS_OPEN_MAX (1u << 20)

enum pair_kind { PAIR_COARSE, PAIR_FINE, PAIR_GPU };

struct record_pair {
    enum pair_kind kind;
    uint64_t id;     /* counts begins from 1 */
    uint64_t parent; /* id of the enclosing pair of the thread, 0 = none */
    uint32_t depth;  /* number of enclosing pairs */
    uint64_t thread_id;
    int slot; /* of the call, of the enclosing call, or of the GPU work; -1 none */
    uint16_t sub_item;
    uint64_t proc_id;
    bool has_begin, has_end; /* begin only: unfinished; end only: unmatched */
    /* Unfinished, because it still ran at the end of the data: until end_ns, the last sign of
     * life. */
    bool open;
    int64_t begin_ns, end_ns;
    int64_t record_ns; /* GPU work: when it was recorded */
};

/* Both ends are there, in this order. */
static inline bool pair_has_duration(const struct record_pair *pair)
{
    return pair->has_begin && pair->has_end && pair->end_ns >= pair->begin_ns;
}
/* 0 without one. */
static inline uint64_t pair_duration_ns(const struct record_pair *pair)
{
    return pair_has_duration(pair) ? (uint64_t)pair->end_ns - (uint64_t)pair->begin_ns : 0;
}
/* The time at which its names are meant. */
static inline int64_t pair_name_time_ns(const struct record_pair *pair)
{
    return pair->kind == PAIR_GPU ? pair->record_ns
           : pair->has_begin      ? pair->begin_ns
                                  : pair->end_ns;
}

typedef void pair_fn(void *context, const struct record_pair *pair);

struct open_begin {
    uint64_t id;
    int64_t begin_ns;
    uint16_t item; /* slot or sub-item */
};

/* The time of one record may differ by so much between two dumps: of records that were not in
 * blocks yet it is worked out again. No two records of a kind are as near. */
enum { PAIR_JOIN_NS = 4, PAIR_TAIL = 4 };

/* What is open in one thread, outermost first. */
struct pair_thread {
    uint64_t thread_id;
    struct open_begin *open;
    uint32_t depth, capacity;
    uint32_t call;     /* 1 + index of the open call, 0 = none */
    uint32_t overflow; /* sub-items that found no room and are still open */
    uint32_t passed;   /* of builder, when it had something open there */

    /* Of parts of a recording. */
    uint32_t part; /* in which it had records last, 0 none yet */
    uint32_t met;  /* of which tail_next and again are */
    struct pair_tail {
        int64_t time_ns;
        uint16_t item;
        uint8_t kind;
    } tail[PAIR_TAIL];  /* the latest records, the last one last */
    uint32_t tail_next; /* the first of them that the next part has not shown again */
    uint32_t held;      /* innermost items that ended at the cut: they may go on behind it */
    uint32_t again;     /* items that the next part began again, from the outermost */
};

/* How a part of a recording follows on the one before. */
enum pair_join {
    PAIR_JOIN_NEXT,    /* at once */
    PAIR_JOIN_OVERLAP, /* some of its records came before */
    PAIR_JOIN_GAP      /* data are missing between them */
};
#define PAIR_NO_CUT INT64_MIN

struct pair_builder {
    pair_fn *emit;
    void *context;
    struct thread_map map;
    struct pair_thread *threads;
    uint32_t thread_capacity;
    uint32_t open_total;
    uint32_t passed;    /* parts that were passed over */
    uint32_t part;      /* of a recording in several files, from 1; 0: all is in one */
    uint32_t after_gap; /* the last part that data are missing before */
    enum pair_join join;
    int64_t cut_ns, until_ns;
    uint64_t next_id;
    uint64_t unfinished, strays;
    uint64_t open; /* of the unfinished ones */
    bool failed;   /* no room for a thread; its blocks were dropped */
};

void pair_builder_start(struct pair_builder *builder, pair_fn *emit, void *context);
/* The next block of its thread. */
void pair_builder_block(struct pair_builder *builder, const struct rbwp_block *block);
/* What comes next is of the first or next part of a recording. cut_ns: where it was cut, if spans
 * were, too: what ends then may be begun again by the next part. until_ns: what is later is in the
 * next part as well, and taken from there. */
void pair_builder_part(struct pair_builder *builder, enum pair_join join, int64_t cut_ns,
                       int64_t until_ns);
/* The next record of its thread. */
void pair_builder_record(struct pair_builder *builder, uint64_t thread_id,
                         const struct rbwp_record *record);
/* Ends all that is open as unfinished: data are missing here. */
void pair_builder_break(struct pair_builder *builder);
void pair_builder_break_thread(struct pair_builder *builder, uint32_t number);
/* Part of the data is passed over that begins ids many pairs, behind which these are open and no
 * others; what ended there is not handed out. False without memory. */
bool pair_builder_pass_over(struct pair_builder *builder, uint64_t ids,
                            const struct rbwp_open_item *open, uint32_t count);
/*
 * The end of the data. ran says whether what began in the thread then still ran, and until
 * when it is known to have; what did not is unfinished and no more. What ran comes out open.
 */
typedef bool pair_ran_fn(void *context, uint64_t thread_id, int64_t begin_ns,
                         int64_t *until_ns_out);
void pair_builder_finish(struct pair_builder *builder, pair_ran_fn *ran, void *context);
void pair_builder_stop(struct pair_builder *builder);

#endif /* RECORD_PAIRS_H */
