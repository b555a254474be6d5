/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legion_join.h - rows of a Legion Prof log that tell of one thing.
 *
 * A task's waits, the memories between which a copy goes, and the task that
 * launched work of a GPU are rows of their own, anywhere in the log: what
 * they share is an operation or an event. Both sides are put into a span_sorter with the key in
 * place of the track, and come out side by side: memory does not grow with the number of tasks.
 */
#ifndef LEGION_JOIN_H
#define LEGION_JOIN_H

#include "legion_tracks.h"
#include "span_sorter.h"

struct legion_join {
    struct span_sorter rows;
    struct trace *trace; /* where names are */
    void *context;
    /* A span that was found to be complete: a wait in its task, or a copy on its channel. */
    void (*found)(void *context, struct trace_span *span);
    struct legion_tracks *tracks; /* where channels are */
    /* GPU work, and who launched it: time, track and span of that are in the detail, as far as
     * they are known. */
    void (*launched)(void *context, struct trace_span *work, const struct trace_detail *launch);
    uint64_t lone_waits; /* whose task is not in the log, or that lie outside of it */
    void *groups;        /* while it finishes */
};

/* Zero the rest of the struct before. */
void legion_join_start(struct legion_join *join);
/* key: what both sides have. */
void legion_join_task(struct legion_join *join, uint64_t key, const struct trace_span *task);
void legion_join_wait(struct legion_join *join, uint64_t key, int64_t start_ns, int64_t ready_ns,
                      int64_t stop_ns);
void legion_join_copy(struct legion_join *join, uint64_t key, const struct trace_span *copy);
void legion_join_place(struct legion_join *join, uint64_t key, uint32_t src, uint32_t dst);
/* key: the event of the task that launched, which may be none. */
void legion_join_launcher(struct legion_join *join, uint64_t key, const struct trace_span *task);
void legion_join_launched(struct legion_join *join, uint64_t key, const struct trace_span *work,
                          int64_t launch_ns);
/* Calls found or launched for all. False when rows were lost, with the message given. */
bool legion_join_finish(struct legion_join *join);
void legion_join_stop(struct legion_join *join);

#endif /* LEGION_JOIN_H */
