/* SPDX-License-Identifier: Apache-2.0 */
#include "table_schema.h"

#include <stdlib.h>

/* ---- words ----------------------------------------------------------------------- */

const char *rbwp_column_type_name(unsigned type)
{
    static const char *const names[] = {
        [RBWP_COLUMN_U64] = "u64",           [RBWP_COLUMN_I64] = "i64",
        [RBWP_COLUMN_F64] = "f64",           [RBWP_COLUMN_TIME] = "time",
        [RBWP_COLUMN_DURATION] = "duration", [RBWP_COLUMN_NAME] = "name",
        [RBWP_COLUMN_ROW] = "row",           [RBWP_COLUMN_BYTES] = "bytes",
    };
    return type && type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

const char *rbwp_column_role_name(unsigned role)
{
    static const char *const names[] = {
        [RBWP_ROLE_NONE] = "",
        [RBWP_ROLE_START] = "start",
        [RBWP_ROLE_STOP] = "stop",
        [RBWP_ROLE_TRACK] = "track",
        [RBWP_ROLE_LABEL] = "label",
        [RBWP_ROLE_LINK_FROM] = "link from",
        [RBWP_ROLE_LINK_TO] = "link to",
        [RBWP_ROLE_COUNTER] = "counter",
        [RBWP_ROLE_START_BOUND] = "start bound",
        [RBWP_ROLE_STOP_BOUND] = "stop bound",
        [RBWP_ROLE_THREAD] = "thread",
        [RBWP_ROLE_ID] = "id",
        [RBWP_ROLE_PARENT] = "parent",
        [RBWP_ROLE_CATEGORY] = "category",
        [RBWP_ROLE_LINK_KIND] = "link kind",
        [RBWP_ROLE_ITEM] = "item",
        [RBWP_ROLE_ARGUMENT] = "argument",
    };
    return role < sizeof(names) / sizeof(names[0]) ? names[role] : "";
}

/* ---- schemas --------------------------------------------------------------------- */

static bool column_is_valid(const struct rbwp_column *column)
{
    bool rows_of = column->type == RBWP_COLUMN_ROW;
    return column->type >= RBWP_COLUMN_U64 && column->type <= RBWP_COLUMN_BYTES &&
           rows_of == (column->table != 0);
}

bool schema_is_valid(const struct rbwp_schema *schema)
{
    if (schema->table < 1 || schema->table > RBWP_TABLES_MAX || schema->column_count < 1 ||
        schema->column_count > RBWP_COLUMNS_MAX)
        return false;
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (!column_is_valid(&schema->columns[i]))
            return false;
    return true;
}

void schema_encode(const struct rbwp_schema *schema, struct buffer *buffer)
{
    uint8_t head[SCHEMA_HEAD_BYTES] = {0};
    store_le32(head, schema->table);
    store_le16(head + 4, schema->version);
    store_le16(head + 6, schema->column_count);
    store_le16(head + 8, schema->name_bytes);
    buffer_append(buffer, head, sizeof head);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct rbwp_column *column = &schema->columns[i];
        uint8_t bytes[SCHEMA_COLUMN_BYTES] = {column->type, column->role};
        store_le16(bytes + 2, column->table);
        store_le16(bytes + 4, column->name_bytes);
        bytes[6] = column->unit_bytes;
        buffer_append(buffer, bytes, sizeof bytes);
    }
    buffer_append(buffer, schema->name, schema->name_bytes);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        buffer_append(buffer, schema->columns[i].name, schema->columns[i].name_bytes);
        buffer_append(buffer, schema->columns[i].unit, schema->columns[i].unit_bytes);
    }
}

/* The columns' fixed parts. */
static void take_columns(const uint8_t *bytes, uint32_t count, struct rbwp_column *columns)
{
    for (uint32_t i = 0; i < count; i++, bytes += SCHEMA_COLUMN_BYTES)
        columns[i] = (struct rbwp_column){
            .type = bytes[0],
            .role = bytes[1],
            .table = load_le16(bytes + 2),
            .name_bytes = load_le16(bytes + 4),
            .unit_bytes = bytes[6],
        };
}

/* False unless the names fill the rest exactly. */
static bool table_schema_take_names(struct cursor *cursor, struct rbwp_schema *schema,
                                    struct rbwp_column *columns)
{
    schema->name = (const char *)cursor_take(cursor, schema->name_bytes);
    bool whole = schema->name;
    for (uint32_t i = 0; whole && i < schema->column_count; i++) {
        columns[i].name = (const char *)cursor_take(cursor, columns[i].name_bytes);
        columns[i].unit = (const char *)cursor_take(cursor, columns[i].unit_bytes);
        whole = columns[i].name && columns[i].unit;
    }
    return whole && cursor->left == 0;
}

struct rbwp_schema *schema_decode(const uint8_t *data, size_t count, bool *memory_out)
{
    struct cursor cursor = {data, count};
    const uint8_t *head = cursor_take(&cursor, SCHEMA_HEAD_BYTES);
    *memory_out = false;
    if (!head)
        return NULL;
    uint16_t column_count = load_le16(head + 6);
    const uint8_t *fixed = cursor_take(&cursor, (uint64_t)column_count * SCHEMA_COLUMN_BYTES);
    if (!fixed)
        return NULL;
    struct rbwp_schema *schema = malloc(sizeof *schema + column_count * sizeof(struct rbwp_column));
    *memory_out = !schema;
    if (!schema)
        return NULL;
    struct rbwp_column *columns = (struct rbwp_column *)(schema + 1);
    *schema = (struct rbwp_schema){
        .table = load_le32(head),
        .version = load_le16(head + 4),
        .column_count = column_count,
        .name_bytes = load_le16(head + 8),
        .columns = columns,
    };
    take_columns(fixed, column_count, columns);
    if (table_schema_take_names(&cursor, schema, columns) && schema_is_valid(schema))
        return schema;
    free(schema);
    return NULL;
}

struct rbwp_schema *schema_copy(const struct rbwp_schema *schema)
{
    struct buffer bytes = {0};
    bool memory;
    struct rbwp_schema *copy = NULL;
    schema_encode(schema, &bytes);
    if (!bytes.failed)
        copy = schema_decode(bytes.bytes, bytes.count, &memory);
    size_t head = copy ? sizeof *copy + copy->column_count * sizeof(struct rbwp_column) : 0;
    struct rbwp_schema *whole = copy ? realloc(copy, head + bytes.count) : NULL;
    if (!whole) {
        free(copy);
    } else {
        uint8_t *own = (uint8_t *)whole + head;
        struct rbwp_column *columns = (struct rbwp_column *)(whole + 1);
        size_t fixed = SCHEMA_HEAD_BYTES + whole->column_count * SCHEMA_COLUMN_BYTES;
        memcpy(own, bytes.bytes, bytes.count);
        struct cursor names = {own + fixed, bytes.count - fixed};
        whole->columns = columns;
        (void)table_schema_take_names(&names, whole, columns);
    }
    buffer_free(&bytes);
    return whole;
}

enum rbwp_status rbwp_writer_add_schema(struct rbwp_writer *writer,
                                        const struct rbwp_schema *schema)
{
    struct buffer buffer = {0};
    if (!schema_is_valid(schema))
        return RBWP_E_INVALID;
    schema_encode(schema, &buffer);
    enum rbwp_status status = RBWP_E_MEMORY;
    if (!buffer.failed)
        status =
            rbwp_writer_add_opaque(writer, RBWP_SCHEMA_TAG, buffer.bytes, (uint32_t)buffer.count);
    buffer_free(&buffer);
    return status;
}
