/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.h - whether a disk stands still.
 *
 * Whatever may wait for a disk says when it begins and when it has ended. Who must not wait for
 * ever looks now and then: no such call has ended between so many looks, and one is under way.
 * Looks are counted, not time, which passes while the whole machine sleeps.
 */
#ifndef DISK_H
#define DISK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define DISK_LOOK_NS 10000000 /* between two looks */

/* Any thread; calls may lie inside each other. */
void disk_call_begin(void);
void disk_call_end(void);
/* In a forked child, whose threads those were not. */
void disk_after_fork(void);

struct disk_watch { /* zeros: begins now */
    uint64_t ended;
    int64_t still_ns;
};
/* True when nothing has moved for so long. */
bool disk_stands_still(struct disk_watch *watch, int64_t stall_ns);

/* ---- a limit on the size of files ------------------------------------------------------------ */

/*
 * A file-size limit is an error, not the end of the host program.
 *
 * A write or allocation beyond RLIMIT_FSIZE fails with EFBIG and also sends
 * SIGXFSZ, which kills by default. Between hold and release it is kept from
 * the calling thread, and one that arose in between is taken away.
 */

struct size_signal {
    sigset_t old_mask;
    bool was_pending;
};

void size_signal_hold(struct size_signal *state);
/* Leaves errno alone. */
void size_signal_release(const struct size_signal *state);

#endif /* DISK_H */
