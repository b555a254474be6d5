/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_rows.h - what a profile says of messages: the tables message_sent and message_handled
 * (SPEC.md, 9.3), and the sub-items of handlers.
 */
#ifndef MESSAGE_ROWS_H
#define MESSAGE_ROWS_H

#include "rbwp_rows.h"

/* What the profile knows a handler by. */
struct message_label {
    unsigned sub_item;
    uint64_t name; /* interned */
};

/* The same name has the same label in all endpoints of the process. RBWP_E_LIMIT, RBWP_E_MEMORY. */
RBWP_MUST_USE enum rbwp_status message_label_find(const char *name,
                                                  struct message_label *label_out);

/* Are rows written now? */
static inline bool message_rows_are_on(void)
{
    return rbwp_is_on_(2);
}

/* The next key: this node in the upper 24 bits, a count from 1 on in the lower 40. */
uint64_t message_key_new(uint32_t node);

struct message_row {
    uint64_t start_ticks, stop_ticks; /* of the send, or of the handler */
    uint64_t arrived_ticks;           /* handled ones */
    uint64_t name, key, bytes;
    uint32_t peer;
};

void message_row_sent(const struct message_row *row);
void message_row_handled(const struct message_row *row);

#endif /* MESSAGE_ROWS_H */
