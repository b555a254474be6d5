/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_watch.h - for who writes rows that rules of a flight recorder may be about.
 *
 * Rules cost nothing where there are none: a thread's inlined calls write rows into its place for
 * them (row_hold.h). As long as a rule asks for them, that place has no room for them any more, so
 * that rows go the slow way, which asks here: after it has made room (row_hold_keep), for a rule
 * may come at any time.
 */
#ifndef RULE_WATCH_H
#define RULE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

enum rule_watch { RULE_WATCH_QUEUES, RULE_WATCH_COUNTERS, RULE_WATCHES, RULE_WATCH_NONE };

/* A rule is about such rows. */
bool rule_watch_wants(enum rule_watch what);

/* Work of this slot began, so long after it was handed over. In a recording call. */
void rule_watch_queue(unsigned slot, uint64_t delay_ticks);
/* A counter, by the number of its name, had this value. In a recording call. */
void rule_watch_counter(uint64_t name, int64_t value);

#endif /* RULE_WATCH_H */
