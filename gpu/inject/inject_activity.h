/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_activity.h - what CUPTI tells of finished kernels, copies and sets.
 *
 * CUPTI asks for buffers and gives them back filled, on threads of its own or in a flush. The GPU's
 * times are CLOCK_MONOTONIC's, which CUPTI reads by a callback of ours. Where the program makes
 * work faster than it can be written, CUPTI finds no buffer and drops records; they are counted.
 */
#ifndef INJECT_ACTIVITY_H
#define INJECT_ACTIVITY_H

#include "inject_abi.h"
#include "inject_session.h"

#include <stdbool.h>

/* False with the line said: this CUPTI tells nothing of finished work. probes: launches are watched
 * for these, too. */
bool inject_activity_open(cupti_subscriber subscriber, bool probes);
extern const struct inject_source inject_activity;
/* In a forked child nothing more is taken. */
void inject_activity_forget(void);

#endif /* INJECT_ACTIVITY_H */
