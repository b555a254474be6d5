/* SPDX-License-Identifier: Apache-2.0 */
/* what_if.h - how long a run would take with something changed, from files to the answer. */
#ifndef WHAT_IF_H
#define WHAT_IF_H

#include "why.h"

enum { WHAT_IF_CHANGES = 8 };

/* What changes in the replay. */
struct what_if_ask {
    struct {
        const char *name; /* NAME=FACTOR, or OUTER:NAME=FACTOR */
        double factor;
    } changes[WHAT_IF_CHANGES];
    uint32_t count, workers; /* workers: 0: as they were */
    bool launch;
    double launch_factor;
};

struct what_if_options {
    struct why_options why;
    struct what_if_ask ask;
};

extern const struct result_column what_if_columns[]; /* the document */

/* Replays the run as it was, and changed; only where the first one is as long as it was. */
enum exit_code what_if_show(const struct what_if_options *options, struct operands files);

#endif /* WHAT_IF_H */
