/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_file.h - the parts of a file other than its records, as JSON.
 *
 * Shared by dump and info so that both use the same keys. Each call writes
 * one or more members, "key":value with commas between, none around.
 */
#ifndef JSON_FILE_H
#define JSON_FILE_H

#include "input.h"
#include "out.h"

/* "file" and "header". Known at once. */
void json_head(struct out *out, const struct input *input);

/*
 * "file_size", "finalized", "valid", "incomplete_tail", the descriptor tables, the trailer's parts
 * and "problems". For streams: after the last block.
 */
void json_tail(struct out *out, const struct input *input);

/* "thread_id" ... "compressed_size": a block header's members. */
void json_block_header(struct out *out, const struct rbwp_block_header *header);

#endif /* JSON_FILE_H */
