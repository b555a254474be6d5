/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_join.h - messages whose two ends find each other by key, and those that were handled
 * before they were sent.
 *
 * Ends come in any order and from any source; when all have come they are sorted by key. Memory is
 * bounded.
 */
#ifndef MESSAGE_JOIN_H
#define MESSAGE_JOIN_H

#include "merge_sorter.h"
#include "trace.h"

struct message_join; /* opaque */

/* NULL without memory. */
struct message_join *message_join_new(void);
void message_join_add(struct message_join *join, const struct trace_message_end *end);

/* Hands out the messages by ascending key. *sent_alone_out and *handled_alone_out: ends that found
 * no other. False if some are missing, which the user was told. */
bool message_join_finish(struct message_join *join,
                         void (*found)(void *context, const struct trace_message_end *sent,
                                       const struct trace_message_end *handled),
                         void *context, uint64_t *sent_alone_out, uint64_t *handled_alone_out);
void message_join_free(struct message_join *join);

#endif /* MESSAGE_JOIN_H */
