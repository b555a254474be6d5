/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_walk.h - all pairs of records of one input.
 *
 * Blocks go through the reorder window into the pairing. Where the reader
 * skipped damaged bytes, any thread may have lost records, so the window is
 * emptied and all that is open is given up there: what is marked finished has
 * really seen both ends.
 *
 * What is open at the end still ran when the session stopped, or at the last
 * sign of life: the trailer's stop; without one, of a file that was finalised,
 * its last record. A file that was not finalised lacks records of its own
 * threads, ends among them: there nothing is taken to have run on.
 */
#ifndef PAIR_WALK_H
#define PAIR_WALK_H

#include "reorder.h"
#include "record_pairs.h"
#include "window.h"

/* What a trailer says of a thread, found by its id.
 *
 * Entries of one id are threads one after the other. The trailer must outlive
 * the index; NULL, a thread that it does not name, and memory that is missing
 * mean that nothing is known. */

struct thread_facts {
    bool known;
    bool attached;         /* one of the entries still recorded at stop */
    uint32_t first;        /* entry of the trailer + 1, 0 none */
    int64_t lost_until_ns; /* it may lack records up to here; INT64_MIN: it lacks none */
};

struct thread_infos {
    const struct rbwp_trailer *trailer;
    struct thread_map map;
    struct thread_facts *facts;
    uint32_t room;
    int64_t lost_until_ns; /* the same of threads that are not known */
};

void thread_infos_start(struct thread_infos *infos, const struct rbwp_trailer *trailer);
void thread_infos_stop(struct thread_infos *infos);

/* The first entry of the thread, NULL if there is none. */
const struct rbwp_thread_info *thread_infos_first(const struct thread_infos *infos,
                                                  uint64_t thread_id);
/* True unless the thread is known to have ended, or may lack records from this time on. */
bool thread_infos_is_whole(const struct thread_infos *infos, uint64_t thread_id, int64_t from_ns);

struct file_damage {
    uint64_t bytes;
    int64_t first_ns, last_ns; /* of the records around it, in the order of the file; 0,0 none */
    bool has_block;            /* it is the rest of one block, or begins one that was cut */
    uint64_t thread_id;        /* of that */
    uint32_t records;
};

struct pair_walk {
    void *context;
    pair_fn *pair; /* in the order in which they end */
    /* Before and after the pairs of a block; those that were given up come outside of both. */
    void (*block_begins)(void *context, const struct rbwp_block *block);
    void (*block_ended)(void *context, const struct rbwp_block *block); /* may be NULL */
    /* Where bytes of the file were skipped, behind the pairs that were given up there; may be NULL.
     */
    void (*damaged)(void *context, const struct file_damage *damage);
    /* Each block without records, where it stands in the file; may be NULL. */
    void (*opaque)(void *context, const struct rbwp_block *block);
    bool (*enough)(void *context); /* true: the walk stops early */
    /* Only these parts of the input; NULL: all of it. Threads whose first blocks are passed over
     * are passed on, in the order of the file; at the end all are, with their last times. */
    const struct window *window;
    void (*thread)(void *context, uint64_t thread_id, int64_t time_ns);

    struct input *input;
    struct reorder reorder;
    struct pair_builder builder;
    struct thread_infos threads; /* at the end */
    int64_t last_ns;             /* of all records, INT64_MIN none */
    int64_t before_ns;           /* of the last block with records in the file, the same */
    uint64_t problems;           /* of the reader, that are known */
    uint32_t threads_told, mark; /* of the window */
    bool failed;
};

/* The files of one recording, one after the other: start, each of them, finish. cut_ns and
 * until_ns: as of pair_builder_part. Names may change between them. */
void pair_walk_start(struct pair_walk *walk);
void pair_walk_part(struct pair_walk *walk, struct input *input, enum pair_join join,
                    int64_t cut_ns, int64_t until_ns);
enum exit_code pair_walk_finish(struct pair_walk *walk);

/* Walks, reports what is wrong with the pairs, and returns EXIT_GOOD or EXIT_PARTIAL. The state of
 * the input is reported when it is closed. */
enum exit_code pair_walk(struct pair_walk *walk, struct input *input);

#endif /* PAIR_WALK_H */
