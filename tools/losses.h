/* SPDX-License-Identifier: Apache-2.0 */
/*
 * losses.h - what the writer of a file could not record, added up.
 *
 * Two sorts: records that are missing, and calls that were refused as misuse.
 * Every tool tells of the first.
 */
#ifndef LOSSES_H
#define LOSSES_H

#include "rbwp_format.h"

struct losses {
    uint64_t records, refused_calls;
};

/* True for causes that lost records, false for calls that were refused. */
bool losses_are_records(uint32_t cause);
/* trailer may be NULL: nothing is known. */
struct losses losses_total(const struct rbwp_trailer *trailer);

#endif /* LOSSES_H */
