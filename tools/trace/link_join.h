/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_join.h - links whose ends find each other by key.
 *
 * Ends come in any order and from any source; when all have come they are
 * sorted by key and time, departures first, and each arrival is joined to a departure
 * of its key (trace.h says to which). Memory is bounded.
 */
#ifndef LINK_JOIN_H
#define LINK_JOIN_H

#include "merge_sorter.h"

struct trace_link;
struct trace_link_end;

struct link_join; /* opaque */

/* NULL without memory. */
struct link_join *link_join_new(void);
void link_join_add(struct link_join *join, const struct trace_link_end *end);
/* Hands out the links. Returns the number of ends that found no other; *failed_out: some are
 * missing, with a message. */
uint64_t link_join_finish(struct link_join *join,
                          void (*found)(void *context, const struct trace_link *link),
                          void *context, bool *failed_out);
void link_join_free(struct link_join *join);

#endif /* LINK_JOIN_H */
