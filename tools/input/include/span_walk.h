/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_walk.h - all spans of one input.
 *
 * Blocks go through the reorder window into the pairing. Where the reader
 * skipped damaged bytes, any thread may have lost records, so the window is
 * emptied and every open span is given up there: a span that is marked
 * finished has really seen both ends.
 *
 * What is open at the end still ran when the session stopped, or at the last
 * sign of life: the trailer's stop; without one, of a file that was finalised,
 * its last record. A file that was not finalised lacks records of its own
 * threads, ends among them: there nothing is taken to have run on.
 */
#ifndef SPAN_WALK_H
#define SPAN_WALK_H

#include "input.h"
#include "reorder.h"
#include "spans.h"
#include "thread_infos.h"
#include "window.h"

struct span_damage {
    uint64_t bytes;
    int64_t first_ns, last_ns; /* of the records around it, in the order of the file; 0,0 none */
    bool has_block;            /* it is the rest of one block, or begins one that was cut */
    uint64_t thread_id;        /* of that */
    uint32_t records;
};

struct span_walk {
    void *context;
    span_fn *span; /* in the order in which they end */
    /* Before and after the spans of a block; spans that were given up come outside of both. */
    void (*block_begins)(void *context, const struct rbwp_block *block);
    void (*block_ended)(void *context, const struct rbwp_block *block); /* may be NULL */
    /* Where bytes of the file were skipped, behind the spans that were given up there; may be NULL.
     */
    void (*damaged)(void *context, const struct span_damage *damage);
    /* Each block without records, where it stands in the file; may be NULL. */
    void (*opaque)(void *context, const struct rbwp_block *block);
    bool (*enough)(void *context); /* true: the walk stops early */
    /* Only these parts of the input; NULL: all of it. Threads whose first blocks are passed over
     * are told, in the order of the file; at the end all are, with their last times. */
    const struct window *window;
    void (*thread)(void *context, uint64_t thread_id, int64_t time_ns);

    struct input *input;
    struct reorder reorder;
    struct span_builder builder;
    struct thread_infos threads; /* at the end */
    int64_t last_ns;             /* of all records, INT64_MIN none */
    int64_t before_ns;           /* of the last block with records in the file, the same */
    uint64_t problems;           /* of the reader, that are known */
    uint32_t threads_told, mark; /* of the window */
    bool failed;
};

/* The files of one recording, one after the other: start, each of them, finish. cut_ns and
 * until_ns: as of span_builder_part. Names may change between them. */
void span_walk_start(struct span_walk *walk);
void span_walk_part(struct span_walk *walk, struct input *input, enum span_join join,
                    int64_t cut_ns, int64_t until_ns);
enum exit_code span_walk_finish(struct span_walk *walk);

/* Walks, reports what is wrong with the spans, and returns EXIT_GOOD or EXIT_PARTLY. The state of
 * the input is reported when it is closed. */
enum exit_code span_walk(struct span_walk *walk, struct input *input);

#endif /* SPAN_WALK_H */
