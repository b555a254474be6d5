/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_rows.h - what rows of the tables message_sent and message_handled (SPEC.md, section 9.3)
 * say beyond their roles: when a message arrived, and how long it is.
 */
#ifndef MESSAGE_ROWS_H
#define MESSAGE_ROWS_H

#include "rbwp_table.h"
#include "trace.h"

/* Their columns; key is TABLE_NO_COLUMN of any other table. */
struct message_columns {
    bool handled;
    uint16_t key, arrived, bytes;
};
void message_columns_find(struct message_columns *columns, const struct rbwp_schema *schema);

/* One end of a message, whose span that is. */
struct trace_message_end message_rows_end(const struct message_columns *columns,
                                          const struct rbwp_rows *rows, uint32_t row,
                                          const struct trace_axis *axis,
                                          const struct trace_span *span);

#endif /* MESSAGE_ROWS_H */
