/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer_ids.h - process and thread numbers as viewers want them.
 *
 * They are positive, fit 31 bits and stand for one process or row each. The
 * system's own number is kept where it is known and no other node has taken
 * it; everything else gets one that is above all that Linux gives out.
 */
#ifndef VIEWER_IDS_H
#define VIEWER_IDS_H

#include "thread_map.h"

#define VIEWER_OS_ID_MAX (1u << 22) /* of Linux, PID_MAX_LIMIT */

struct viewer_ids {
    struct thread_map pids, tids; /* of the system, that are taken */
    uint32_t made;                /* numbers of our own so far */
};

/* os_id: the system's number, 0 unknown. Zero is an empty struct viewer_ids. */
uint32_t viewer_pid(struct viewer_ids *ids, uint64_t os_id);
/* The same where a block of a kernel is shown as a process: also 0. */
uint32_t viewer_block_pid(struct viewer_ids *ids, uint64_t block);
uint32_t viewer_tid(struct viewer_ids *ids, uint64_t os_id);
void viewer_ids_free(struct viewer_ids *ids);

#endif /* VIEWER_IDS_H */
