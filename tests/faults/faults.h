/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h - what the modes of the program that records itself share. */
#ifndef RBWP_FAULTS_H
#define RBWP_FAULTS_H

#include "measure.h"

#include <rbwp_record.h>

#include <pthread.h>

#define RUN_NS (700 * MS)
#define CALLS_LEAST 120   /* a run is longer on a machine that has no CPU for it */
#define CALL_NS (MS / 10) /* of an ordinary call */

extern pthread_mutex_t lock;
extern pthread_cond_t changed;
extern int64_t began_ns;        /* of the run */
extern unsigned request, other; /* slots: of the calls that are slow, and of those to blame */

void must(enum rbwp_status status);
unsigned item(const char *name);
/* A sub-item of a kind of its own. */
unsigned step(const char *kind, unsigned flags, const char *name);
/* After so many calls. */
bool is_over(unsigned calls);
/* Of so many calls one is slow. */
bool is_slow(unsigned number, unsigned of);

/* served.c: modes whose calls come from a queue, or from another node of a job. */
void behind_call(void);
void behind_same(void);
void behind_manager(void);
void late_handler(void);
void late_rank(void);

#endif
