/* SPDX-License-Identifier: Apache-2.0 */
/* range.h - what the two kinds of ranges share. */
#ifndef RANGE_H
#define RANGE_H

#include "rbwp_range.h"
#include "row_hold.h"

/* Counts sessions. */
uint32_t range_session(void);

/* Writes the row of a range that begins, with a number of its own, inside the thread's innermost
 * one. False: nothing is recorded. */
bool range_write(struct rbwp_open_range_ *range, uint64_t stop_ticks, struct rbwp_payload payload);
/* Its stop. Between rbwp_enter_ and rbwp_leave_, any attached thread. */
void range_complete(struct rbwp_open_range_ *range, uint64_t stop_ticks);

/* In a forked child: no started range is open. */
void started_forget(void);

#endif /* RANGE_H */
