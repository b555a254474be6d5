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

/* ---- row place ------------------------------------------------------------------------------- */

struct row_place row_place_of(const struct rbwp_schema *schema)
{
    struct row_place place = {-1, -1};
    bool start = false;
    for (int i = 0; i < schema->column_count; i++) {
        const struct rbwp_column *column = &schema->columns[i];
        bool starts = column->role == RBWP_ROLE_START;
        if (column->type == RBWP_COLUMN_TIME && (place.time < 0 || (starts && !start))) {
            place.time = i;
            start = starts;
        }
        if (column->type == RBWP_COLUMN_U64 && column->role == RBWP_ROLE_THREAD && place.thread < 0)
            place.thread = i;
    }
    return place;
}

bool row_time(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row,
              int64_t *time_ns_out)
{
    if (place->time >= 0)
        *time_ns_out = (int64_t)rows->cells[place->time][row];
    return place->time >= 0;
}

uint64_t row_thread(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row)
{
    return place->thread >= 0 ? rows->cells[place->thread][row] : rows->thread_id;
}
