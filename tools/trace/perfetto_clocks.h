/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_clocks.h - times of any clock of a Perfetto trace on the trace's own.
 *
 * Snapshots tell what several clocks showed at one instant. Between two of
 * them a clock goes on from the earlier one. Clocks that belong to one packet
 * sequence (64 to 127) are set by snapshots of that sequence, and may count
 * from event to event.
 */
#ifndef PERFETTO_CLOCKS_H
#define PERFETTO_CLOCKS_H

#include "perfetto_wire.h"
#include "trace_source.h"

enum { PERFETTO_CLOCKS = 32, PERFETTO_SEQUENCE_CLOCKS = 4 };
#define PERFETTO_CLOCK_SAMPLES_MAX (1u << 16)

struct perfetto_clock_sample {
    int64_t clock_ns, trace_ns;
};

struct perfetto_clock {
    uint32_t id;
    uint32_t count, room;
    struct perfetto_clock_sample *samples; /* ascending */
};

/* A clock of one sequence. */
struct perfetto_own_clock {
    uint32_t id; /* 0: free */
    bool incremental;
    uint64_t unit_ns;
    int64_t value;             /* units; of incremental ones the latest */
    int64_t set_ns, set_value; /* what it showed when it was set, and the trace's time then */
};

struct perfetto_clocks {
    struct perfetto_clock clocks[PERFETTO_CLOCKS];
    uint32_t count;
    uint32_t trace_clock; /* id */
    bool fixed;           /* all samples are known */
    bool failed;          /* out of memory */
};

void perfetto_clocks_start(struct perfetto_clocks *clocks);
void perfetto_clocks_free(struct perfetto_clocks *clocks);
/* own: PERFETTO_SEQUENCE_CLOCKS of the packet's sequence. */
void perfetto_clocks_snapshot(struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
                              struct wire_message snapshot);
/* A packet's time; id 0: of the trace's clock. False if no snapshot tells. Once a packet. */
bool perfetto_clocks_time(const struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
                          uint32_t id, uint64_t time, int64_t *trace_ns_out);
/* The axis and its relation to other clocks. */
void perfetto_clocks_facts(const struct perfetto_clocks *clocks, bool timed, int64_t first_ns,
                           int64_t last_ns, struct trace_facts *facts);

#endif /* PERFETTO_CLOCKS_H */
