/* SPDX-License-Identifier: Apache-2.0 */
#include "table_json.h"

#include "json_text.h"

void table_json_head(struct out *out, const struct rbwp_schema *schema)
{
    json_name(out, "name", schema->name, schema->name_bytes);
    json_u64(out, "table", schema->table);
    json_u64(out, "version", schema->version);
}

static void json_column(struct out *out, const struct rbwp_column *column)
{
    out_text(out, "{");
    json_name(out, "name", column->name, column->name_bytes);
    json_plain(out, "type", rbwp_column_type_name(column->type));
    json_plain(out, "role", rbwp_column_role_name(column->role));
    json_name(out, "unit", column->unit, column->unit_bytes);
    json_u64(out, "of_table", column->table);
    out_text(out, "}");
}

void table_json_columns(struct out *out, const struct rbwp_schema *schema)
{
    json_open(out, "columns", '[');
    for (uint32_t i = 0; i < schema->column_count; i++) {
        out_text(out, i ? "," : "");
        json_column(out, &schema->columns[i]);
    }
    out_text(out, "]");
}

void table_json_cells(struct out *out, const struct cell_source *source, uint32_t row)
{
    const struct rbwp_schema *schema = source->rows->schema;
    for (uint32_t c = 0; c < schema->column_count; c++) {
        out_text(out, c ? "," : "");
        json_string(out, schema->columns[c].name, schema->columns[c].name_bytes);
        out_text(out, ":");
        cell_value(out, source, c, row, CELL_JSON);
    }
}
