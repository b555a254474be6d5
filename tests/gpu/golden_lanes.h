/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_lanes.h - a buffer of lanes by hand: 2 blocks of 2 groups, 4 records a lane, a timer that
 * wraps. What is in it: spans of 96 ns (block 0, group 0, event 0), 48 ns (0, 1, 1) and 128 ns
 * (1, 0, 5), an instant of event 2, a begin of event 1023 without an end; three lanes finalized.
 */
#ifndef GOLDEN_LANES_H
#define GOLDEN_LANES_H

#include <stdint.h>

#define GOLDEN_LANES                                                                               \
    {                                                                                              \
        0x0000000200000002, /* 2 groups, 2 blocks */                                               \
            0xffffffe000000000, 0xfffffff000001004, 0x0000010000002014, 0x0000011000003ffc,        \
            0x0000004000000001, 0x0000002000001005, 0x0000018000002015, 0, 0x0000006000000003,     \
            0x000000300000100a, 0x000001a000002003, 0, 0, 0x0000005000001003, 0, 0                 \
    }
#define GOLDEN_LANES_WORDS 17

static const uint64_t golden_lanes[GOLDEN_LANES_WORDS] = GOLDEN_LANES;

#endif /* GOLDEN_LANES_H */
