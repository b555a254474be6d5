/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_stream.h - a device and its streams from the inside, and who may touch what.
 *
 *     launching threads                        whoever has the device's reaping
 *     record event, push  --stack-->  collect into FIFO, ask the driver, finish the oldest
 *     take spare nodes    <--stack--  give back
 *
 * A node is an event and what to do when it completes. Launching threads are in turn on one stream
 * (its turn), so that nodes are pushed in the order in which their events were recorded. Only one
 * thread at a time reaps a device: it has the *reaping*, which is not a lock - callbacks run with
 * it - but a role that is asked for (gpu_reaping_begin). Streams come while another thread reaps;
 * they go only under the reaping.
 *
 * A bracket takes both its nodes at its begin. The start node knows the end node and leaves in it
 * when it was seen, so nothing needs to be found again, and brackets on a stream may overlap. A
 * cancelled bracket pushes its end node without an event, since the start node may still come.
 *
 * A bracket that begins GPU_JOIN_NS after another has ended on its stream, or sooner, needs no
 * event for its start: no driver call is that quick, so nothing can stand between the two, and it
 * starts when the other was seen to end. Launches in a row are bracketed with one event each, and
 * with one node: only where something comes between its begin and its end does the start become a
 * node of its own.
 */
#ifndef RBWP_GPU_STREAM_H
#define RBWP_GPU_STREAM_H

#include "gpu_device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A row for the device, if a session runs that has none of it yet. Any thread. */
void gpu_rows_device(struct rbwp_gpu_device *device);
/* The session has ended: the next one has none. */
void gpu_rows_session_ended(void);

/* ---- gpu pace -------------------------------------------------------------------------------- */

struct gpu_node;

/* Of one stream; the reaper's. */
struct gpu_pace {
    uint64_t wait_ticks;      /* since when the oldest is waited for; 0: it was not asked for */
    uint64_t next_look_ticks; /* not asked for before */
    uint64_t looks;           /* counts them */
    int64_t looked_ns;        /* no node was complete before that was asked, then */
    int64_t refused_ns;       /* when "not yet" came for the oldest; 0: it was not asked for */
    int64_t seen_ns;          /* when the last one was complete, as far as is known */
    int64_t told_ns;          /* when that was known for certain */
    int64_t ends_ns;          /* the same of the last bracket's end */
    int64_t spacing_ns;       /* between ends, on average of the last few */
    int64_t batch_ns; /* until when nobody looked, for the batch being finished; 0: it is none */
};

/* True while the driver is to be left alone. */
bool gpu_pace_rests(const struct gpu_pace *pace, uint64_t now_ticks);
/* The driver was asked for the oldest node, and has said "not yet". */
void gpu_pace_wait(struct gpu_pace *pace, int64_t asked_ns, int64_t refused_ns);
/* The oldest node is another one now. */
void gpu_pace_next(struct gpu_pace *pace);
/* A bracket has ended. */
void gpu_pace_ended(struct gpu_pace *pace, int64_t seen_ns);

/* How far the last node's time may be from when it was complete: that was not before it was
 * launched. */
uint32_t gpu_pace_gap_ns(const struct gpu_pace *pace, int64_t launch_ns);

/* ---- one after the other ----------------------------------------------------------------- */

#define GPU_RUN_NODES 16u

/* Nodes from the oldest on that were all complete when they were asked for, in one go. */
struct gpu_run {
    unsigned nodes, nodes_done;
    struct gpu_answer {
        int code;
        int64_t asked_ns, told_ns; /* when it was asked; 0: it needs no asking */
    } answer[GPU_RUN_NODES];
    unsigned parts, parts_done; /* twice the events that share the time between these: */
    int64_t from_ns, to_ns;
    bool waits; /* the next node is not complete: "not yet", */
    int64_t asked_ns, refused_ns;
};

/* With the answers known: how times are to be given. */
void gpu_pace_run(const struct gpu_pace *pace, const struct gpu_node *oldest, struct gpu_run *run);
/* When the run's next node was complete. */
int64_t gpu_pace_run_ns(struct gpu_pace *pace, struct gpu_run *run, const struct gpu_node *node);

/* ---- many at once ------------------------------------------------------------------------ */

/* Nodes that are known to be complete without being asked for, and when: between two times. */
struct gpu_ahead {
    int64_t from_ns, to_ns;
    uint64_t nodes, nodes_done;
    int64_t events, events_done; /* of those that are not joined */
};

/* True if the stream is so busy, and its oldest node of such a kind, that one is asked for the
 * others. */
bool gpu_pace_is_busy(const struct gpu_pace *pace, const struct gpu_node *oldest);
/* The node to ask for: the newest end of a bracket that was launched long enough ago, and what is
 * known if it is complete. NULL: too little would be. */
const struct gpu_node *gpu_pace_choose(const struct gpu_pace *pace, const struct gpu_node *oldest,
                                       int64_t now_ns, struct gpu_ahead *ahead_out);
/* The driver is left alone until the oldest is old enough. */
void gpu_pace_let_age(struct gpu_pace *pace, const struct gpu_node *oldest, uint64_t now_ticks,
                      int64_t now_ns);
/* When a node was complete that nobody asked for: not before it was on the stream, nor before its
 * predecessor. */
int64_t gpu_pace_infer_ns(const struct gpu_pace *pace, struct gpu_ahead *ahead,
                          const struct gpu_node *node);
/* All that was known ahead is finished. */
void gpu_pace_batch_done(struct gpu_pace *pace, const struct gpu_ahead *ahead,
                         uint64_t begin_ticks);

/* ---- whose turn it is on a stream ------------------------------------------------------------ */

struct gpu_turn {
    _Atomic bool taken; /* zeroed: nobody's */
};

/* Waits until it is free. For gpu_turn_take alone. */
void gpu_turn_wait(struct gpu_turn *turn);

static inline void gpu_turn_take(struct gpu_turn *turn)
{
    while (atomic_exchange_explicit(&turn->taken, true, memory_order_acquire))
        gpu_turn_wait(turn);
}

static inline void gpu_turn_give(struct gpu_turn *turn)
{
    atomic_store_explicit(&turn->taken, false, memory_order_release);
}

/* ---- gpu stream ------------------------------------------------------------------------------ */

enum gpu_node_kind { GPU_NODE_NOTIFY, GPU_NODE_START, GPU_NODE_END, GPU_NODE_CANCEL };

/* Gets the duration of a bracket that is measured, not recorded, and whether its stream was idle
 * (see times_of). On the reaping thread. outcome is RBWP_AGAIN if start and end were seen in one
 * go, which says nothing of the time between. */
typedef void (*gpu_measured_fn)(void *argument, enum rbwp_status outcome, int64_t duration_ns,
                                bool idle);

/* Launching threads and the reaper write at the same time: what is whose has lines of its own. */
#define GPU_LINE_BYTES 128 /* lines come in pairs */

/* The quickest driver call, the record of an event, takes about as long (93-147 ns on an H200), and
 * the way from one clock read to the other comes on top. */
#define GPU_JOIN_NS 100

/* The launching thread writes it before the push; then it is the reaper's. */
struct gpu_node {
    _Alignas(GPU_LINE_BYTES) struct gpu_node *next;
    struct gpu_event event;
    enum gpu_node_kind kind;
    bool joined;    /* a START without an event: its bracket follows the node before it */
    void *argument; /* of notify or measured */
    union {
        rbwp_gpu_callback_fn notify; /* NOTIFY */
        struct gpu_node *end;        /* START */
        gpu_measured_fn measured;    /* END; NULL: it is recorded */
    };
    /* END, CANCEL: the bracket. */
    uint32_t session; /* of the stream's counting: an older one was counted as lost already */
    unsigned slot;
    uint64_t thread;       /* that launched */
    uint64_t launch_ticks; /* when the bracket began */
    uint64_t ended_ticks;  /* when its end was asked for: the work was on the stream */
    int64_t launch_ns;     /* the same two; the reaper's, who has the time to convert */
    int64_t launched_ns;
    int64_t start_ns;      /* when its start was seen */
    uint32_t start_gap_ns; /* how long nobody had looked then */
    uint64_t correlation;  /* other than that of any other bracket of the process */
    uint64_t range;        /* in which it began, 0 none */
    uint64_t start_look;   /* in which look */
};

/* A start that needs no event. */
static inline bool gpu_node_is_joined(const struct gpu_node *node)
{
    return node->kind == GPU_NODE_START && node->joined;
}

/* An end that is its bracket's start, too. */
static inline bool gpu_node_is_whole(const struct gpu_node *node)
{
    return node->kind == GPU_NODE_END && node->joined;
}

_Static_assert(sizeof(struct gpu_node) == GPU_LINE_BYTES, "each line more costs who launches");

struct gpu_node_batch; /* nodes that were allocated together */

struct rbwp_gpu_stream {
    struct rbwp_gpu_device *device;
    struct gpu_context *context;
    void *native;
    unsigned use;                 /* enum rbwp_gpu_use */
    uint32_t number;              /* counts the process's streams, from 1 */
    struct rbwp_gpu_stream *next; /* of the device; changed under the reaping and its lock */
    /* Where native means another stream on each thread, each has one of these, found by its
     * thread from the one that was opened. */
    bool per_thread;
    const void *thread;            /* whose; NULL: it was opened */
    struct rbwp_gpu_stream *child; /* the first; guarded by turn */
    struct rbwp_gpu_stream *sibling;

    /* Guards this group; the driver's and the work manager's inside. */
    _Alignas(GPU_LINE_BYTES) struct gpu_turn turn;
    struct gpu_node *spare;       /* nodes with an event, not in use */
    struct gpu_node_batch *batch; /* all nodes */
    uint64_t ended_ticks;         /* the node pushed last ended a bracket, then; 0: it did not */
    uint64_t join_ticks;          /* GPU_JOIN_NS */
    struct gpu_node *held;        /* end of a bracket that joins, and nothing was pushed since */
    uint64_t begun;               /* brackets of this session */
    uint64_t launches;            /* brackets of all sessions */
    _Atomic uint32_t session;     /* counts sessions; read by the reaper too */

    /* Newest first; launching threads put, the reaper takes. */
    _Alignas(GPU_LINE_BYTES) _Atomic(struct gpu_node *) pushed;
    /* The reaper puts, launching threads take all. */
    _Alignas(GPU_LINE_BYTES) _Atomic(struct gpu_node *) returned;

    /* The reaper's. */
    _Alignas(GPU_LINE_BYTES) struct gpu_node *first;
    struct gpu_node *last; /* first is the oldest */
    struct gpu_pace pace;
    bool flushed;          /* all of first..last was handed to the device */
    _Atomic uint64_t done; /* brackets of this session that were finished or cancelled */
};

struct rbwp_gpu_device {
    struct rbwp_gpu_device *next; /* guarded by the list's lock, gpu_session.c */
    struct gpu_driver *driver;
    struct gpu_context *context;
    struct rbwp_gpu_facts facts;
    enum rbwp_gpu_api api;
    uint64_t drain_limit_ns;
    uint32_t forks;                    /* of the process that opened it, see gpu_device_is_ours */
    struct rbwp_work_manager *manager; /* NULL: polled */
    struct rbwp_work_handle work;
    unsigned sub_item[4]; /* by enum rbwp_gpu_use */

    /* True while the work item sleeps: then a push wakes it. Pairs with `pushed`: a pusher stores
     * pushed, then loads idle; the reaper stores idle, then loads pushed. All sequentially
     * consistent, so one of them sees the other. */
    _Alignas(GPU_LINE_BYTES) _Atomic bool idle;

    /* Guards this group; innermost. */
    _Alignas(GPU_LINE_BYTES) pthread_mutex_t lock;
    pthread_cond_t reaping_ended;
    bool reaping;
    pthread_t reaper; /* who, while reaping */
    struct rbwp_gpu_stream *streams;

    uint64_t name;         /* number of facts.name; 0 none */
    _Atomic uint32_t told; /* the session that has a row of it (gpu_rows.c); 0: none yet */
};

/* Zeroed memory for one of these; bytes is their size. Freed with free. */
void *gpu_lines_alloc(size_t bytes);

/* ---- launching side (gpu_stream.c) -------------------------------------------- */

/* A bracket whose duration goes to measured and whose records nowhere, at any level. */
void gpu_bracket_measure(struct rbwp_gpu_bracket *bracket, struct rbwp_gpu_stream *stream,
                         gpu_measured_fn measured, void *argument);
/* No bracket begins from here on, until it is called with false: those that would are counted.
 * Any thread. */
void gpu_brackets_refuse(bool refuse);
/* Brackets of the session so far that were not finished; a new session's counting begins. NULL
 * stream is not allowed. The reaping is not needed. */
uint64_t gpu_stream_write_off(struct rbwp_gpu_stream *stream);
/* Frees; nothing is pending. Under the reaping, out of the device's list. */
void gpu_stream_free(struct rbwp_gpu_stream *stream);

/* ---- reaping side (gpu_reap.c) -------------------------------------------------- */

/* Becomes the device's reaper. Without wait, false if somebody else is; false too if the calling
 * thread is it already. */
bool gpu_reaping_begin(struct rbwp_gpu_device *device, bool wait);
void gpu_reaping_end(struct rbwp_gpu_device *device);

/* What one look at all streams came to. */
struct gpu_reaped {
    uint64_t nodes;
    bool pending;
};
/* Looks at each stream, and goes on with one while its oldest is complete and time is left.
 * patient: leaves the driver alone for a while where it said "not yet". Under the reaping. */
struct gpu_reaped gpu_reap(struct rbwp_gpu_device *device, bool patient, uint64_t deadline_ticks);
/* The same for one stream. */
struct gpu_reaped gpu_reap_stream(struct rbwp_gpu_stream *stream, bool patient,
                                  uint64_t deadline_ticks);
/* Gives up what is pending: callbacks run with RBWP_E_STATE. Under the reaping. */
void gpu_abandon(struct rbwp_gpu_stream *stream);
/* The work item. */
bool gpu_reap_work(void *device, struct rbwp_deadline deadline);
/* After a push: sees to it that somebody reaps. */
void gpu_wake(struct rbwp_gpu_device *device);

/* ---- reaping with an end (gpu_session.c) --------------------------------------------- */

/* Closes all streams of a device. Under the reaping. */
void gpu_drain_streams(struct rbwp_gpu_device *device);

/* ---- sessions (gpu_session.c) ----------------------------------------------------- */

/* A device joins those whose pending work is waited for when a session stops, and leaves them.
 * RBWP_E_LIMIT. */
enum rbwp_status gpu_session_join(struct rbwp_gpu_device *device);
void gpu_session_leave(struct rbwp_gpu_device *device);
/* Notes that this process opens the device. */
void gpu_device_claim(struct rbwp_gpu_device *device);

/* ---- owners (gpu_owner.c) ----------------------------------------------------------- */

/* Forks that lie between the first process and this one; forked is for the child's handler. */
uint32_t gpu_owner_forks(void);
void gpu_owner_forked(void);
/* False in a forked child of the process that opened it: neither the driver nor a lock of the
 * device may be touched there. */
bool gpu_device_is_ours(const struct rbwp_gpu_device *device);

/* ---- bias (gpu_bias.c) -------------------------------------------------------------- */

/* Measures by how much brackets read longer than kernels run, and notes it in the device's facts.
 * Leaves 0 rounds if it can't. */
void gpu_bias_measure(struct rbwp_gpu_device *device);

/* What is recorded of GPUs and their work beside the GPU_WORK records: rows of the tables
 * gpu_device and gpu_activity (SPEC.md, section 9.3). */

/* Makes the tables known, and the device's name. Without memory there will be no rows, or no name.
 */
void gpu_rows_prepare(struct rbwp_gpu_device *device);

/* Times of work as they were seen. idle: the stream was free when it was launched. */
struct gpu_times {
    int64_t start_ns, stop_ns;
    int64_t launching_ns; /* before start */
    bool idle;
};
/* A row for work that was recorded, and before the session's first one a row for its device. The
 * reaper's. */
void gpu_rows_activity(struct rbwp_gpu_stream *stream, const struct gpu_node *end,
                       const struct gpu_times *times, uint64_t stop_bound_ns);

#endif /* RBWP_GPU_STREAM_H */
