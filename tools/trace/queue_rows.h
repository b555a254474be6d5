/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_rows.h - what rows of the table queued (SPEC.md, section 9.3) say beyond their roles: of
 * which work item it is that waited, and who had handed it over.
 */
#ifndef QUEUE_ROWS_H
#define QUEUE_ROWS_H

#include "rbwp_table.h"

/* Its columns; slot is TABLE_NO_COLUMN of any other table. */
struct queue_columns {
    uint16_t slot, from;
};
void queue_columns_find(struct queue_columns *columns, const struct rbwp_schema *schema);

#endif /* QUEUE_ROWS_H */
