/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_list.h - which tables a file has: schemas, rows, times, and the first rows of each.
 */
#ifndef TABLE_LIST_H
#define TABLE_LIST_H

#include "input.h"
#include "out.h"

/* By the index of tables if the input has one, else the whole input is read. False without memory;
 * the user was told. *broken_out: blocks left out. */
bool table_list(struct out *out, struct input *input, bool json, uint64_t *broken_out);

#endif /* TABLE_LIST_H */
