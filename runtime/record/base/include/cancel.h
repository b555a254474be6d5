/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.h - a thread that is cancelled (pthread_cancel) goes on until it is out of here.
 *
 * Some of the system calls behind a recording call and a session are
 * cancellation points: a thread that ended in one would leave a lock held, or
 * a chunk in nobody's hand. Asynchronous cancellation is not covered, as it is
 * by nothing else.
 */
#ifndef CANCEL_H
#define CANCEL_H

#include <pthread.h>

/* What cancel_release wants. */
static inline int cancel_hold(void)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void cancel_release(int before)
{
    int held;
    (void)pthread_setcancelstate(before, &held);
}

#endif /* CANCEL_H */
