/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_pace.h - how often the driver is asked for the events of a stream, and when that was
 * complete for which nobody asked.
 *
 * The driver's answers cost the launching threads time, for they wait for the same lock of the
 * driver. So it is left alone for a while after a "not yet"; and where brackets end in quick
 * succession one is asked for, whose launch is some time ago, and what is before it is complete
 * with it. How uncertain times become by that is kept as a gap: how long nobody had looked.
 */
#ifndef RBWP_GPU_PACE_H
#define RBWP_GPU_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_node;

/* Of one stream; the reaper's. */
struct gpu_pace {
    uint64_t wait_ticks;      /* since when the oldest is waited for; 0: it was not asked for */
    uint64_t next_look_ticks; /* not asked for before */
    uint64_t looks;           /* counts them */
    int64_t looked_ns;        /* no node was complete before that was asked, then */
    int64_t refused_ns;       /* when "not yet" came for the oldest; 0: it was not asked for */
    int64_t seen_ns;          /* when the last one was complete, as far as can be told */
    int64_t told_ns;          /* when that was known for certain */
    int64_t ends_ns;          /* the same of the last bracket's end */
    int64_t spacing_ns;       /* between ends, on average of the last few */
    int64_t batch_ns; /* until when nobody looked, for the batch being finished; 0: it is none */
};

/* All 0, then this: a stream is not busy until it is seen to be. */
void gpu_pace_begin(struct gpu_pace *pace);

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
/* A duration as it is stored beside a record. */
uint32_t gpu_pace_u32(int64_t ns);

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

#endif /* RBWP_GPU_PACE_H */
