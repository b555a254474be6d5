/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_lanes.h - a buffer of lanes by hand: 2 blocks of 2 groups, 4 records a lane, a timer that
 * wraps. What is in it: spans of 96 ns (block 0, group 0, event 0), 48 ns (0, 1, 1) and 128 ns
 * (1, 0, 5), an instant of event 2, a begin of event 1023 without an end; three lanes finalized.
 */
#ifndef GOLDEN_LANES_H
#define GOLDEN_LANES_H

#include "bytes.h"

#define GOLDEN_LANES_WORDS 17

/* As it lies in memory, little-endian. */
#define WORD(word) SWAP_LE(64, UINT64_C(word))
static const uint64_t golden_lanes[GOLDEN_LANES_WORDS] = {
    WORD(0x0000000200000002), /* 2 groups, 2 blocks */
    WORD(0xffffffe000000000),
    WORD(0xfffffff000001004),
    WORD(0x0000010000002014),
    WORD(0x0000011000003ffc),
    WORD(0x0000004000000001),
    WORD(0x0000002000001005),
    WORD(0x0000018000002015),
    0,
    WORD(0x0000006000000003),
    WORD(0x000000300000100a),
    WORD(0x000001a000002003),
    0,
    0,
    WORD(0x0000005000001003),
    0,
    0,
};
#undef WORD

#endif /* GOLDEN_LANES_H */
