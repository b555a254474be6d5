/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_signal.h - a file-size limit is an error, not the end of the host program.
 *
 * A write or allocation beyond RLIMIT_FSIZE fails with EFBIG and also sends
 * SIGXFSZ, which kills by default. Between hold and release it is kept from
 * the calling thread, and one that arose in between is taken away.
 */
#ifndef SIZE_SIGNAL_H
#define SIZE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

struct size_signal {
    sigset_t old_mask;
    bool was_pending;
};

void size_signal_hold(struct size_signal *state);
/* Leaves errno alone. */
void size_signal_release(const struct size_signal *state);

#endif /* SIZE_SIGNAL_H */
