/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_calls.h - the calls by which a program puts work on a GPU, until what they launched is
 * finished: when they were made, on which thread, inside which range.
 *
 * A call is known by its correlation, as the record of its work says it. A new one takes the place
 * of an old one long before it; work whose call is not known any more has nothing of it.
 */
#ifndef INJECT_CALLS_H
#define INJECT_CALLS_H

#include "inject_abi.h"

#include <stdbool.h>

struct inject_call {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end 0: not known */
    uint64_t thread, range;    /* 0: not known, none */
    const char *called;        /* the function; it stays; NULL: not known */
    const void *function;      /* that was launched; NULL: none, or not known */
};

/* Room for them. False: no memory. */
bool inject_calls_open(void);
/* When they are about to come. */
void inject_calls_prepare(void);
/* Whether CUPTI calls back for them; waiting becomes rows of the table gpu_call. False: it does
 * not report launches. */
bool inject_calls_watch(cupti_subscriber subscriber, bool watch);
void inject_calls_told(cupti_domain domain, uint32_t id, const struct cupti_call *call);

/* The call of this correlation. Where the driver's calls turn out to have other numbers than those
 * that work is named by, the runtime's are asked for from now on. */
bool inject_call_find(uint32_t correlation, struct inject_call *call_out);

#endif /* INJECT_CALLS_H */
