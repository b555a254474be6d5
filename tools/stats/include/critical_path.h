/* SPDX-License-Identifier: Apache-2.0 */
/*
 * critical_path.h - what held a run up: the chain of work, waits and messages that ends last.
 *
 * It is walked back from the end of the run, on one thread or stream at a time. Where a wait of it
 * ended, it goes on with who ended it; where a call had been handed over, with who did that, unless
 * the thread was in another call then, which is what it goes on with; likewise from work on a GPU
 * to its launch or to what was on its stream before; from a call that waits for a GPU to the work
 * that ended last in it.
 *
 * Between processes it goes from work to the message that the process waited for last: one between
 * whose arrival and handler no thread of it worked, handlers apart. From a message it goes to its
 * sender, at the time of sending; a message that was sent inside a handler goes back to that
 * handler's.
 *
 * So of any time between the first work and the end of the run it says what had to become faster
 * for the run to end sooner. That is as right as the model: work that waits for two things is taken
 * to go on when the last one came, and a gap before a call that no link explains is idle.
 *
 * Memory is bounded by the open spans of each track, the messages that wait for their handlers, the
 * sums, the messages of the path, and CRITICAL_PIECES of its pieces; spans, links and messages go
 * through temporary files where they are many.
 */
#ifndef CRITICAL_PATH_H
#define CRITICAL_PATH_H

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

/* clang-format off */
#define WALK_KIND_LIST(KIND)                                                                       \
    KIND(WORK, "work") KIND(WAIT, "wait") KIND(READY, "no CPU") KIND(GPU_WAIT, "wait for GPU")     \
    KIND(GPU, "gpu") KIND(QUEUE, "queue") KIND(LAUNCH, "launch") KIND(NETWORK, "network")          \
    KIND(IDLE, "idle")
/* clang-format on */
#define WALK_KIND_NUMBER(kind, word) WALK_##kind,
enum walk_kind { WALK_KIND_LIST(WALK_KIND_NUMBER) WALK_KINDS };
static inline bool walk_is_work(unsigned kind)
{
    return kind == WALK_WORK || kind == WALK_GPU;
}

enum { CRITICAL_PIECES = 1 << 16 };

/* A part of the path, on one track. */
struct critical_piece {
    int64_t start_ns;
    uint64_t duration_ns;
    uint32_t track, name; /* name: TRACE_NONE: none */
    uint32_t kind;        /* enum walk_kind */
};
/* What pieces of one track, name and kind are together. */
struct critical_share {
    struct critical_piece sum;
    uint64_t pieces;
};

struct critical_step;

struct critical_path {
    /* After finish. */
    struct critical_share *shares; /* the longest first */
    struct critical_piece *pieces; /* in the order of time; the last ones of more */
    uint32_t share_count, share_room, piece_count, piece_room;
    uint64_t pieces_dropped;   /* at the beginning; their time is in shares */
    uint64_t links;            /* that it could have gone along */
    struct critical_hop *hops; /* in the order of time */
    uint32_t hop_count;
    uint32_t first_process, last_process; /* where it begins and ends */
    uint32_t last_track;
    int64_t first_ns, last_ns; /* of the run */
    uint64_t first_work_ns;    /* before the first hop */
    uint64_t messages;         /* between all processes */
    bool failed;               /* a message was given: there is no result */

    /* While it is filled. */
    struct trace *const *trace; /* whose sink this is */
    /* Who gets all that is walked along, too, as it is sorted; may be NULL. */
    void (*step)(void *context, const struct critical_step *step);
    void *step_context;
    const char *of; /* it ends with the longest call of such a name; NULL: with the run */
    struct critical_piece longest; /* of these */
    struct merge_sorter events, steps;
    struct critical_process *processes;
    struct critical_track *tracks;
    uint32_t process_room, track_room;
    bool any;
};

/* trace: where it will be found when it comes to its first process. */
void critical_path_start(struct critical_path *path, struct trace *const *trace, const char *of);
/* The sink to give to trace_new; path must stay where it is. */
struct trace_sink critical_path_sink(struct critical_path *path);
/* After the last message. */
void critical_path_finish(struct critical_path *path);
void critical_path_free(struct critical_path *path);

/* What the path has by name, thread and kind, the longest first; its rows are of the view. */
struct critical_report_view;
extern const struct result_table critical_shares_table;
struct result_rows critical_shares(const struct critical_report_view *view);
const struct critical_path *critical_path_of(const struct critical_report_view *view);
/* "wait: queue lock, worker 3"; own memory, NULL without. */
char *critical_piece_text(const struct critical_report_view *view,
                          const struct critical_piece *piece);

/* Hands on the path of files of at most so many spans, while threads and names are known. It is not
 * where there is none, and of files without links, of which each piece would be its thread's own;
 * or where a file can be read once alone. Lines about files are dropped.
 * EXIT_USAGE: there is none; EXIT_PARTIAL, with a message: no memory for it, or for all of it. */
enum { CRITICAL_SPANS = 1 << 20 };
typedef void (*critical_receiver)(const struct critical_report_view *view, void *context);
enum exit_code critical_find(const struct reading_options *reading, struct operands files,
                             critical_receiver receive, void *context);

#endif /* CRITICAL_PATH_H */
