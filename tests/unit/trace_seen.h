/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_seen.h - what a trace passes on, as a line of text for each thing, for comparisons.
 *
 *     NAME CATEGORY/OWN WORD #CORRELATION ARGUMENT:TYPE=VALUE ...
 *     COUNTER TIME:VALUE ...
 *     LINK FROM-TO LABEL
 *
 * With places, a span has its track and the one above, times, ids and flags, a link its tracks, and
 * tables, losses and the facts of pairing are there, too.
 */
#ifndef TRACE_SEEN_H
#define TRACE_SEEN_H

#include "trace_source.h"
#include "unit.h"

#include <string.h>

struct seen {
    struct trace *trace;
    bool places;
    char text[8192];
    size_t used;
};

/* The file that fd is, read from its beginning. */
enum exit_code see_file(struct seen *seen, int fd, bool places,
                        const struct trace_read_options *options);

#endif /* TRACE_SEEN_H */
