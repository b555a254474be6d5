/* SPDX-License-Identifier: Apache-2.0 */
/*
 * losses.h - what the writer of a file could not record, added up.
 *
 * Three sorts: records that are missing, records of which only the most that
 * can be missing is known, and calls that were refused as misuse. Every tool
 * reports all three, and what has a cause that it does not know.
 */
#ifndef LOSSES_H
#define LOSSES_H

#include "rbwp_format.h"

struct losses {
    uint64_t records, records_most, refused_calls, unknown;
    uint64_t refused[RBWP_LOSS_CAUSE_MAX + 1]; /* of those, by cause (loss_text.h) */
    uint64_t dropped; /* entries that the trailer's tables lack (SPEC.md, "LEFT") */
};

/* True for causes that lost records, false for calls that were refused and for "at most". */
bool losses_are_records(uint32_t cause);
/* False for causes of later versions: nobody knows what is counted. */
bool losses_are_known(uint32_t cause);
/* True if at most so many records were lost. */
bool losses_are_at_most(uint32_t cause);
/* trailer may be NULL: nothing is known. */
struct losses losses_total(const struct rbwp_trailer *trailer);

/* A sentence for each cause for which calls were refused; refused as in struct losses. */
void losses_each_refused(const uint64_t *refused, void (*line)(void *context, const char *text),
                         void *context);

/* What every tool reports of a file on standard error; nothing if nothing is missing. */
void losses_report(const char *name, const struct rbwp_trailer *trailer);

#endif /* LOSSES_H */
