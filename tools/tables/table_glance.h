/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_glance.h - the tables of an input by its index: schemas, and the first rows of each, while
 * the rest of the file is not read.
 */
#ifndef TABLE_GLANCE_H
#define TABLE_GLANCE_H

#include "input.h"
#include "rbwp_table.h"

/* True when the input has an index of its tables, and can be read here and there. */
bool table_glance_can(const struct input *input);

/* The first rows of a table. False: they cannot be kept, and all ends. */
typedef bool table_glance_fn(void *context, const struct rbwp_rows *rows);

/*
 * Shows the catalog, which is new, the schemas and, with take, the names; and gives take (NULL:
 * nobody asks) the first block of rows of each table. False when something in the file is not as
 * the index says, or take says so: then the whole file tells (rbwp_reader_rewind).
 */
bool table_glance(struct input *input, struct rbwp_catalog *catalog, table_glance_fn *take,
                  void *context);

#endif /* TABLE_GLANCE_H */
