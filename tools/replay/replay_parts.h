/* SPDX-License-Identifier: Apache-2.0 */
/* replay_parts.h - a run as what each thread does: made by replay_make.c, done by replay_run.c. */
#ifndef REPLAY_PARTS_H
#define REPLAY_PARTS_H

#include "replay.h"

struct replay_span {
    int64_t start_ns, stop_ns;
    uint32_t track, name, depth;
    uint8_t kind;  /* enum walk_kind */
    bool is_call;  /* work that is in no other */
    uint32_t link; /* 1 + that which it waited for; of work on a GPU 1 + its kernel */
};

struct replay_link {
    int64_t from_ns, to_ns;
    uint32_t from, to, kind; /* tracks; enum trace_link_kind */
    uint32_t job;            /* 1 + that it hands over */
};

struct replay_kernel {
    int64_t stop_ns;
    uint32_t span;
};

/* Signals are links, and behind them kernels. */
enum { OP_RUN, OP_SIGNAL, OP_AWAIT, OP_WOKEN };
struct replay_op {
    int64_t ns[2];         /* as it was, and changed; OP_WOKEN: below 0: not at all */
    uint32_t what, signal; /* OP_AWAIT: ns after it; OP_WOKEN: likewise, if it had to wait */
};

/* A call that any worker of the pool may do, and what came after it on its thread. */
struct replay_job {
    uint32_t await; /* its first operation, which is skipped */
    uint32_t end, pool, name;
};

struct replay_lane {
    uint32_t track, pool; /* pool: a lane of it; TRACE_NONE: none */
    uint32_t first, end, first_job, job_count;
    int64_t start_ns;
};

#endif /* REPLAY_PARTS_H */
