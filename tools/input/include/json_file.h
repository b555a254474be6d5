/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_file.h - the parts of a file other than its records, as JSON.
 *
 * Shared by dump and info so that both use the same keys. Each call writes
 * one or more members, "key":value with commas between.
 */
#ifndef JSON_FILE_H
#define JSON_FILE_H

#include "file_tables.h"
#include "input.h"
#include "out.h"

/* "file" and "header". Known at once. */
void json_head(struct out *out, const struct input *input);

/*
 * "file_size", "finalized", "valid", "incomplete_tail", the descriptor tables, the trailer's parts
 * and "problems". For streams: after the last block. GPUs and problems of tables are told, too,
 * wherever they stand in the file.
 */
void json_tail(struct out *out, const struct input *input, const struct file_tables *tables);

/* "table_counts": the tables so far, with their rows. */
void json_table_counts(struct out *out, const struct file_tables *tables);

#endif /* JSON_FILE_H */
