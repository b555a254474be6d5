/* SPDX-License-Identifier: Apache-2.0 */
/* stall_calls.h - names of system calls that may block, as this machine numbers them. */
#ifndef STALL_CALLS_H
#define STALL_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Makes room for their names. False: no memory. */
bool system_calls_prepare(void);
/* The number of its name in the file; 0: it is none of them. Allocates nothing. */
uint64_t system_call_name(int64_t system_call);

#endif /* STALL_CALLS_H */
