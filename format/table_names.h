/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_names.h - the names of a file by number (SPEC.md, section 9.2, R47).
 */
#ifndef TABLE_NAMES_H
#define TABLE_NAMES_H

#include "rbwp_table.h"

/* Names of blocks, in the order of their numbers. Zeros are a valid start. */
struct table_names {
    struct names_run *runs;
    uint32_t run_count, run_room;
    uint64_t last;      /* the highest number so far */
    uint64_t file_last; /* in the file that is read: lower where an earlier one had names, too */
    uint64_t bytes;     /* kept; at most NAMES_KEPT_MAX */
};
#define NAMES_KEPT_MAX (64u << 20)

/* The data behind a tag: RBWP_OK, RBWP_E_CORRUPT (R47), RBWP_E_MEMORY, RBWP_E_LIMIT. */
enum rbwp_status table_names_add(struct table_names *names, const uint8_t *data, size_t count);
struct rbwp_text table_names_get(const struct table_names *names, uint64_t number);
void table_names_free(struct table_names *names);

#endif /* TABLE_NAMES_H */
