/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_json.h - schemas and rows of a file's own tables as JSON.
 *
 * Each call writes one or more members, "key":value with commas between, none around.
 */
#ifndef TABLE_JSON_H
#define TABLE_JSON_H

#include "cell_value.h"

/* "name", "table" and "version". */
void table_json_head(struct out *out, const struct rbwp_schema *schema);
/* "columns": name, type, role and unit of each, and whose rows it names. */
void table_json_columns(struct out *out, const struct rbwp_schema *schema);
/* The cells of a row, each with the name of its column. */
void table_json_cells(struct out *out, const struct cell_source *source, uint32_t row);

#endif /* TABLE_JSON_H */
