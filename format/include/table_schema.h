/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_schema.h - a table's schema as bytes, and back (SPEC.md, section 9.2, R44).
 */
#ifndef TABLE_SCHEMA_H
#define TABLE_SCHEMA_H

#include "buffer.h"
#include "rbwp_table.h"

#define TABLE_TAG_BYTES 4u
#define SCHEMA_HEAD_BYTES 12u
#define SCHEMA_COLUMN_BYTES 8u

/* Can rows have it? What R44 says of values; sizes are the caller's to know. */
bool schema_is_valid(const struct rbwp_schema *schema);

/* Appends the data behind the tag. The schema is valid. */
void schema_encode(const struct rbwp_schema *schema, struct buffer *buffer);

/*
 * The schema in the data behind a tag, in memory of its own (free), with names that point into
 * data. NULL with *memory_out false: it breaks R44.
 */
struct rbwp_schema *schema_decode(const uint8_t *data, size_t count, bool *memory_out);

/* A copy with its own names, in memory of its own (free). NULL without memory. */
struct rbwp_schema *schema_copy(const struct rbwp_schema *schema);

#endif /* TABLE_SCHEMA_H */
