/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns.h - whether the runs of two sides were made by turns.
 *
 * What else a machine does, and how warm it is, changes over minutes. Where all runs of one side
 * were made before those of the other, such a drift looks like a change of the program. By turns
 * are runs that, in the order of their beginnings, change sides at least half as often as the side
 * with fewer has runs, and of which neither side mostly came first: no more than three quarters of
 * the pairs of runs are in one order.
 */
#ifndef TURNS_H
#define TURNS_H

#include <stdint.h>

/* Unknown: a run does not say when it began (in ns since 1970), or each side has one. */
enum turns { TURNS_UNKNOWN, TURNS_NOT_TAKEN, TURNS_TAKEN, TURNS_WORDS };
extern const char *const turns_name[TURNS_WORDS];

/* Of runs of a, then of b. */
enum turns turns_of(const int64_t *began_ns, uint32_t a, uint32_t b);

#endif /* TURNS_H */
