/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_walk.h - all rows of an input's tables, block by block, with what is broken told.
 */
#ifndef TABLE_WALK_H
#define TABLE_WALK_H

#include "input.h"
#include "rbwp_table.h"

struct table_walk {
    struct input *input;
    struct rbwp_catalog *catalog;
    uint64_t broken; /* blocks left out */
};

/* False without memory, with the message given. */
bool table_walk_begin(struct table_walk *walk, struct input *input);
void table_walk_end(struct table_walk *walk);
/* False after the last block with rows. */
bool table_walk_next(struct table_walk *walk, struct rbwp_rows *rows_out);

#endif /* TABLE_WALK_H */
