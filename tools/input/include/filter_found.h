/* SPDX-License-Identifier: Apache-2.0 */
/* filter_found.h - what filters met, and why they left nothing. */
#ifndef FILTER_FOUND_H
#define FILTER_FOUND_H

#include "filter_options.h"

#include <stddef.h>

/* What the conditions met, in all files together: tells why nothing was taken. */
struct filter_found {
    uint64_t threads, slots; /* bit i: pattern i fits one that is there */
    bool any;                /* records, of whatever kind; from first_ns to last_ns */
    int64_t first_ns, last_ns, zero_ns;
    uint64_t taken; /* records and spans */
};

/*
 * After the last file, when found->taken tells that conditions left nothing, or taken says so: one
 * line on standard error for each pattern that fits nothing, else one that says why. Nothing is
 * said of patterns as long as something was taken. place is the file, NULL: several.
 */
void filter_tell_nothing(const struct filter_options *options, const char *place);
/* The patterns that fit something, as a mask like filter_found's; name may be NULL. */
uint64_t filter_patterns_fit(const struct filter_patterns *patterns, uint64_t number,
                             const char *name, size_t name_bytes);
/* Something lay there, whether wanted or not. */
void filter_found_time(struct filter_found *found, int64_t first_ns, int64_t last_ns,
                       int64_t zero_ns);

#endif /* FILTER_FOUND_H */
