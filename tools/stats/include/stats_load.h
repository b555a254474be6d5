/* SPDX-License-Identifier: Apache-2.0 */
/* stats_load.h - the sums of files, for commands that do something with them. */
#ifndef STATS_LOAD_H
#define STATS_LOAD_H

#include "stats.h"
#include "trace_pass.h"

struct stats_load {
    struct reading_options reading; /* of the output nothing is used */
    struct stats_options options;
    struct stats stats; /* valid if loaded; the caller frees it */
    bool loaded;        /* at least one file could be opened */
};

enum exit_code stats_load(struct stats_load *load, struct operands files);

#endif /* STATS_LOAD_H */
