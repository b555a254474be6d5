/* SPDX-License-Identifier: Apache-2.0 */
#include "table_bind.h"

#include <string.h>

#define SCHEMA_OF_TABLE(table) [KNOWN_##table] = KNOWN_SCHEMA(table),
static const struct rbwp_schema schemas[] = {KNOWN_TABLES(SCHEMA_OF_TABLE)};

static bool column_is(const struct rbwp_column *column, const struct rbwp_column *wanted)
{
    return column->type == wanted->type && column->name_bytes == wanted->name_bytes &&
           memcmp(column->name, wanted->name, wanted->name_bytes) == 0;
}

bool table_is(const struct rbwp_schema *schema, enum known_table table)
{
    const struct rbwp_schema *known = &schemas[table];
    return schema->name_bytes == known->name_bytes &&
           memcmp(schema->name, known->name, known->name_bytes) == 0;
}

bool table_bind(const struct rbwp_schema *schema, enum known_table table, uint16_t *columns)
{
    const struct rbwp_schema *known = &schemas[table];
    const bool is = table_is(schema, table);
    for (uint16_t i = 0; i < known->column_count; i++) {
        uint16_t at = 0;
        while (is && at < schema->column_count &&
               !column_is(&schema->columns[at], &known->columns[i]))
            at++;
        columns[i] = is && at < schema->column_count ? at : TABLE_NO_COLUMN;
    }
    return is;
}

bool table_bind_rows(const struct rbwp_rows *rows, enum known_table table, const uint64_t **cells)
{
    uint16_t columns[RBWP_COLUMNS_MAX];
    const bool is = table_bind(rows->schema, table, columns);
    for (uint16_t i = 0; is && i < schemas[table].column_count; i++)
        cells[i] = columns[i] == TABLE_NO_COLUMN ? NULL : rows->cells[columns[i]];
    return is;
}
