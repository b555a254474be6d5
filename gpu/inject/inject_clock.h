/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_clock.h - CLOCK_MONOTONIC, in which times of GPUs are given, and times of calls, which are
 * taken as ticks of the recorder's clock: these are cheaper to read on the thread that launches.
 *
 * What ticks are in CLOCK_MONOTONIC is asked once the call's work is finished. Both clocks are
 * looked at together from time to time; between two looks the line is straight.
 */
#ifndef INJECT_CLOCK_H
#define INJECT_CLOCK_H

#include <stdint.h>

uint64_t inject_now_ns(void);

/* Before the first call. */
void inject_ticks_open(void);
/* Of ticks that lie before it times are known from now on. One thread at a time. */
void inject_ticks_look(void);
/* By the thread that may look. */
uint64_t inject_ticks_ns(uint64_t ticks);

#endif /* INJECT_CLOCK_H */
