/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.h - the work-item table and the sub-item table (SPEC.md, section 7). */
#ifndef DESCRIPTOR_H
#define DESCRIPTOR_H

#include "buffer.h"
#include "rbwp_reader.h"

/* Tables taken from a file. Names point into the bytes they were decoded from. */
struct descriptor_tables {
    struct rbwp_work_item_name *work_items;
    struct rbwp_sub_item_name *sub_items;
    uint32_t work_item_count, sub_item_count; /* whole entries */
    size_t bytes;                             /* of them in the file */
};

/*
 * Decodes as many entries as counts says, from bytes that begin at file offset `offset`. On
 * RBWP_E_TRUNCATED (R30) and RBWP_E_LIMIT (R31) tables_out has the entries before the break; on
 * RBWP_E_MEMORY it is empty. Free it in each case.
 */
struct descriptor_counts {
    uint32_t work_items, sub_items;
};
enum rbwp_status descriptor_decode(const uint8_t *bytes, size_t count, uint64_t offset,
                                   struct descriptor_counts counts,
                                   struct descriptor_tables *tables_out, struct rbwp_error *error);
void descriptor_free(struct descriptor_tables *tables);

/* Checks R32, R33 and R34; the first break. offset is that of the tables. */
enum rbwp_status descriptor_check(const struct rbwp_tables *tables, uint64_t offset,
                                  struct rbwp_error *error);

/* Appends both tables. RBWP_E_MEMORY, RBWP_E_LIMIT (R31). */
enum rbwp_status descriptor_encode(const struct rbwp_tables *tables, struct buffer *buffer);

#endif /* DESCRIPTOR_H */
