/* SPDX-License-Identifier: Apache-2.0 */
/*
 * critical_path.h - which messages held a job up: the chain of work and messages that ends last.
 *
 * It is walked back from the end of the run. Work on a node goes back to the message that the node
 * waited for last: one between whose arrival and handler no thread of it worked, handlers apart.
 * From the message it goes to its sender, at the time of sending; a message that was sent inside a
 * handler goes back to that handler's. Where no message was waited for, the chain begins.
 *
 * So of any time between the first work and the end of the run it says what had to become faster
 * for the job to end sooner: work of a node after a handler, a handler, a message's way, or its
 * wait for its handler. That is as right as the model: work that waits for two things is taken to
 * go on when the last one came.
 *
 * Memory is bounded by the messages under way and the chains that may still become the longest;
 * calls and messages go through a temporary file where they are many.
 */
#ifndef CRITICAL_PATH_H
#define CRITICAL_PATH_H

#include "merge_sorter.h"
#include "result_table.h"
#include "stats_report.h"

/* The critical path through messages (critical_path.h) of files, as a table or
 * as JSON. */

/* The document. Of a path that is there it has all. */
extern const struct result_column critical_columns[];

/* Of options: reading, json and top, which is the number of lines. */
enum exit_code critical_report(const struct stats_report_options *options, struct operands files);

/* A message of the chain, and what its receiver did until it sent the next one of the chain. */
struct critical_hop {
    uint64_t key;
    uint32_t from_process, to_process, name;
    int64_t sent_ns;
    uint64_t network_ns, queue_ns, handling_ns, work_ns;
};

struct critical_path {
    /* After finish. */
    struct critical_hop *hops; /* in the order of time */
    uint32_t hop_count;
    uint32_t first_process, last_process; /* where it begins and ends */
    int64_t first_ns, last_ns;            /* of the run */
    uint64_t first_work_ns;               /* before the first hop */
    uint64_t messages;                    /* between all processes */
    bool failed;                          /* a message was given: there is no result */

    /* While it is filled. */
    struct trace *const *trace; /* whose sink this is */
    struct merge_sorter events;
    struct critical_process *processes;
    struct critical_track *tracks;
    uint32_t process_room, track_room;
    bool any;
};

/* trace: where it will be found when it comes to its first process. */
void critical_path_start(struct critical_path *path, struct trace *const *trace);
/* The sink to give to trace_new; path must stay where it is. */
struct trace_sink critical_path_sink(struct critical_path *path);
/* After the last message. */
void critical_path_finish(struct critical_path *path);
void critical_path_free(struct critical_path *path);

#endif /* CRITICAL_PATH_H */
