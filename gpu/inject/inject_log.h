/* SPDX-License-Identifier: Apache-2.0 */
/* inject_log.h - lines on the program's standard error: one about what is not recorded, at most. */
#ifndef INJECT_LOG_H
#define INJECT_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* "rbwp: text"; the first call of the process, the others say nothing. False. */
bool inject_log_once(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for why CUPTI does not report kernels, behind what that means: that they are not
 * recorded, or what is done in its place. */
void inject_log_no_cupti(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern const char *inject_without_cupti;

/* ---- what was lost --------------------------------------------------------------------------- */

/*
 * Work of GPUs that has no row: how much, and why. All of it is counted in the file
 * (RBWP_LOSS_ROWS), and the reasons are one line on standard error when the process ends.
 *
 * Any thread.
 */

enum inject_lost {
    LOST_NO_ROOM,     /* CUPTI had no buffer, or too many events were waited for */
    LOST_REFUSED,     /* the driver took no event, or had no context of the stream's */
    LOST_NO_TIME,     /* or did not say when it was */
    LOST_FAILED,      /* the GPU had failed */
    LOST_CONTEXT,     /* it had not ended when its context was destroyed */
    LOST_NOT_ENDED,   /* nor when the process did */
    LOST_DRIVER_GONE, /* nobody could be asked when the process ended */
    LOST_REASONS
};

void inject_lost(enum inject_lost why, uint64_t count);
/* When the recording ends; at most once a process. */
void inject_lost_tell(void);
/* In a forked child: what was lost is the parent's. */
void inject_lost_forget(void);

#endif /* INJECT_LOG_H */
