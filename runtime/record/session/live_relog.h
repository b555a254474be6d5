/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_relog.h - keeps the live file's log from growing for ever.
 *
 * Threads and names of slots come and go, and each is two entries. When the log has become much
 * longer than what is still to be said, all of that is said again and the old log goes.
 */
#ifndef LIVE_RELOG_H
#define LIVE_RELOG_H

/* Another log, if it is time. No lock is held. */
void live_relog(void);

#endif /* LIVE_RELOG_H */
