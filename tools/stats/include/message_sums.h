/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_sums.h - messages between processes, by the handler that they are for: how long they were
 * on their way, and how long they waited for it.
 */
#ifndef MESSAGE_SUMS_H
#define MESSAGE_SUMS_H

#include "histogram.h"
#include "trace_text.h"

struct trace_message;

struct message_time {
    uint64_t total_ns, max_ns;
    struct histogram times;
};

struct message_sum {
    uint32_t name; /* the trace's number */
    struct trace_text handler;
    uint64_t count, bytes;
    uint64_t early; /* arrived before they were sent, which the clocks are not good enough for:
                       their way took 0 */
    struct message_time network, queue, handling;
};

/* Zero is none. */
struct message_sums {
    struct message_sum *list; /* after finish: by count, then by name */
    uint32_t count, room;
    uint32_t *of_name, name_room; /* place in the list + 1, by number of the name */
};

/* False without memory: it is not counted then. */
bool message_sums_add(struct message_sums *sums, const struct trace_message *message);
/* names: of the trace, by number. They are copied. False without memory. */
bool message_sums_finish(struct message_sums *sums, const struct trace_text *names,
                         uint32_t name_count);
void message_sums_free(struct message_sums *sums);

uint64_t message_time_quantile_ns(const struct message_time *time, unsigned permille);

#endif /* MESSAGE_SUMS_H */
