/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_list.h - which tables a file has: schemas, rows, times, and the first rows of each.
 */
#ifndef TABLE_LIST_H
#define TABLE_LIST_H

#include "input.h"
#include "result_table.h"

struct table_list_form {
    bool json;
    const char *csv; /* instead, one list of that document; NULL: none */
    bool keys;       /* CSV begins with them */
};

/* By the index of tables if the input has one, else the whole input is read. False without memory,
 * with the message given. *broken_out: blocks dropped. */
bool table_list(struct out *out, struct input *input, struct table_list_form form,
                uint64_t *broken_out);

/* The list as JSON. */
extern const struct result_column table_list_columns[];

#endif /* TABLE_LIST_H */
