/* SPDX-License-Identifier: Apache-2.0 */
#include "table_export.h"

#include "cell_text.h"
#include "json_text.h"
#include "message.h"
#include "table_walk.h"

#include <stdio.h>

static bool is_wanted(const struct rbwp_schema *schema, const char *table)
{
    char number[16];
    snprintf(number, sizeof number, "%u", schema->table);
    return (strlen(table) == schema->name_bytes &&
            memcmp(table, schema->name, schema->name_bytes) == 0) ||
           strcmp(table, number) == 0;
}

/* The first line of CSV and TSV. */
static void put_heads(struct out *out, const struct rbwp_schema *schema, enum cell_form form)
{
    if (form == CELL_JSON)
        return;
    out_text(out, "row");
    for (uint32_t c = 0; c < schema->column_count; c++) {
        struct trace_text name = {schema->columns[c].name, schema->columns[c].name_bytes};
        out_text(out, form == CELL_CSV ? "," : "\t");
        (form == CELL_CSV ? cell_csv : cell_tsv)(out, name, false);
    }
    out_text(out, "\n");
}

static void put_row(struct out *out, const struct cell_source *source, uint32_t row,
                    enum cell_form form)
{
    const struct rbwp_schema *schema = source->rows->schema;
    out_text(out, form == CELL_JSON ? "{\"row\":" : "");
    out_u64(out, source->rows->first_row + row);
    for (uint32_t c = 0; c < schema->column_count; c++) {
        out_text(out, form == CELL_TSV ? "\t" : ",");
        if (form == CELL_JSON) {
            json_string(out, schema->columns[c].name, schema->columns[c].name_bytes);
            out_text(out, ":");
        }
        cell_value(out, source, c, row, form);
    }
    out_text(out, form == CELL_JSON ? "}\n" : "\n");
}

/* Behind the last row: has the file such a table, with or without rows? */
static const struct rbwp_schema *find(const struct rbwp_catalog *catalog, const char *table)
{
    for (uint32_t i = 0; i < rbwp_catalog_schema_count(catalog); i++)
        if (is_wanted(rbwp_catalog_schema(catalog, i), table))
            return rbwp_catalog_schema(catalog, i);
    return NULL;
}

enum exit_code table_export(struct out *out, struct input *input, const struct table_export *wanted,
                            uint64_t *broken_out)
{
    struct table_walk walk;
    struct rbwp_rows rows;
    uint64_t written = 0;
    if (!table_walk_begin(&walk, input))
        return EXIT_BAD_DATA;
    const struct rbwp_schema *schema = NULL; /* the first that was meant: names may repeat */
    while (!out_failed(out) && table_walk_next(&walk, &rows)) {
        struct cell_source source = {walk.catalog, &rows};
        if (schema ? rows.schema != schema : !is_wanted(rows.schema, wanted->table))
            continue;
        if (!schema)
            put_heads(out, rows.schema, wanted->form);
        schema = rows.schema;
        for (uint32_t i = 0; i < rows.rows; i++)
            if (wanted->limit == 0 || written++ < wanted->limit)
                put_row(out, &source, i, wanted->form);
    }
    if (!schema && (schema = find(walk.catalog, wanted->table)))
        put_heads(out, schema, wanted->form);
    if (!schema)
        message("%s: no table '%s' ('rbwp tables' lists them)", input->name, wanted->table);
    *broken_out = walk.broken;
    table_walk_end(&walk);
    return schema ? EXIT_GOOD : EXIT_BAD_DATA;
}
