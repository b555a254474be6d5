/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_calls.h - in which call of a work item GPU work was launched.
 *
 * Facts have thread and time of a launch; the call around it may stand before
 * them in the file or behind. Of each thread the last calls are kept, and the
 * facts whose call has not ended yet wait for it. Both are bounded: a fact that waits
 * too long, or comes too late, has no call.
 */
#ifndef LAUNCH_CALLS_H
#define LAUNCH_CALLS_H

#include "gpu_activity.h"
#include "record_pairs.h"

#define LAUNCH_CALLS_KEPT (64u << 10)    /* calls of a thread */
#define LAUNCH_CALLS_WAITING (16u << 10) /* facts of a thread */

struct launch_calls; /* opaque */

/* ready: takes each fact once, with its call. NULL without memory. */
struct launch_calls *launch_calls_new(gpu_fact_fn *ready, void *context);
/* A call that ended; those of a thread in their order. Others than PAIR_COARSE with both ends are
 * passed over. */
void launch_calls_add(struct launch_calls *calls, const struct record_pair *call);
void launch_calls_fact(struct launch_calls *calls, const struct gpu_fact *fact);
/* Hands out what waits. */
void launch_calls_finish(struct launch_calls *calls);
/* True if facts have no call for want of memory. */
bool launch_calls_failed(const struct launch_calls *calls);
void launch_calls_free(struct launch_calls *calls);

#endif /* LAUNCH_CALLS_H */
