/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_events.h - device events by hand: rank 0 of 2, room for 4 events of which 6 were counted,
 * on a clock of 100 MHz; and rank 1's only one. They are the host's numbers until golden_make.
 */
#ifndef GOLDEN_EVENTS_H
#define GOLDEN_EVENTS_H

#include "le_words.h"
#include "rbwp_events.h"

#define GOLDEN_EVENTS 4
#define GOLDEN_HZ 100000000u

struct golden_events {
    int32_t narrow[RBWP_EVENTS_COLUMNS][GOLDEN_EVENTS]; /* those of i64 are below */
    int64_t timestamp[GOLDEN_EVENTS], address[GOLDEN_EVENTS], end[GOLDEN_EVENTS];
};

static struct golden_events golden_events = {
    .narrow = {[RBWP_EVENTS_EVENT_ID] = {3, 1, 99, 5},
               [RBWP_EVENTS_PID] = {7, 8, 9, 9},
               [RBWP_EVENTS_PID_M] = {1, 1, 0, 0},
               [RBWP_EVENTS_PID_N] = {2, 3, 0, 0},
               [RBWP_EVENTS_TARGET_RANK] = {1, 1, 0, 1},
               [RBWP_EVENTS_XCC_ID] = {2, 2, 0, 0},
               [RBWP_EVENTS_CU_ID] = {5, 5, 0, 1},
               [RBWP_EVENTS_OP_INDEX] = {0, 1, 2, 3},
               [RBWP_EVENTS_PAYLOAD_SIZE] = {32, 0, 0, 4}},
    .timestamp = {5000, 5100, 5200, 5300},
    .address = {0x7f0010002000, 0x7f0010002020, 0, 0x10},
    .end = {5600, 5900, 0, 5300},
};
static struct golden_events golden_rank1 = {
    .narrow = {[RBWP_EVENTS_EVENT_ID] = {3}, [RBWP_EVENTS_CUR_RANK] = {1}},
    .timestamp = {4000},
    .end = {4010},
};

/* Once, before they are read: puts them as a GPU has them in its memory. */
static inline void golden_make(struct golden_events *events)
{
    le_halves((uint32_t *)events->narrow, sizeof events->narrow / 4);
    le_words((uint64_t *)events->timestamp, GOLDEN_EVENTS);
    le_words((uint64_t *)events->address, GOLDEN_EVENTS);
    le_words((uint64_t *)events->end, GOLDEN_EVENTS);
}

static inline struct rbwp_events_source golden_source(const struct golden_events *events)
{
    struct rbwp_events_source source = {.size = sizeof source,
                                        .max_events = GOLDEN_EVENTS,
                                        .counter = events == &golden_events ? 6 : 1,
                                        .rank = events != &golden_events,
                                        .clock_hz = GOLDEN_HZ};
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        source.columns[i] = events->narrow[i];
    source.columns[RBWP_EVENTS_TIMESTAMP] = events->timestamp;
    source.columns[RBWP_EVENTS_ADDRESS] = events->address;
    source.columns[RBWP_EVENTS_END] = events->end;
    return source;
}

#endif /* GOLDEN_EVENTS_H */
