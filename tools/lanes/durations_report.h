/* SPDX-License-Identifier: Apache-2.0 */
/*
 * durations_report.h - the table of durations as text or JSON.
 */
#ifndef DURATIONS_REPORT_H
#define DURATIONS_REPORT_H

#include "out.h"
#include "rbwp_durations.h"

struct durations_names {
    const void *context;
    bool by_block; /* the upper half of a group's number is its block */
    /* Into text of 256 bytes, or static; terminated. */
    const char *(*group)(const void *context, uint64_t group, char *text);
    const char *(*event)(const void *context, int64_t event, char *text);
};

void durations_text(struct out *out, struct rbwp_durations *durations,
                    const struct durations_names *names);
/* {"durations":[...] : what is known of the whole stands behind, and the closing brace. */
void durations_json(struct out *out, struct rbwp_durations *durations,
                    const struct durations_names *names);

#endif /* DURATIONS_REPORT_H */
