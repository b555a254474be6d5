/* SPDX-License-Identifier: Apache-2.0 */
#include "table_shape.h"

#include <string.h>

static bool is_text(const char *text, uint32_t bytes, const char *wanted)
{
    return bytes == strlen(wanted) && memcmp(text, wanted, bytes) == 0;
}

bool schema_is_named(const struct rbwp_schema *schema, const char *name)
{
    return is_text(schema->name, schema->name_bytes, name);
}

uint16_t schema_column(const struct rbwp_schema *schema, const char *name)
{
    for (uint16_t i = 0; i < schema->column_count; i++)
        if (is_text(schema->columns[i].name, schema->columns[i].name_bytes, name))
            return i;
    return TABLE_NO_COLUMN;
}

static bool is_number(unsigned type)
{
    return type == RBWP_COLUMN_U64 || type == RBWP_COLUMN_I64;
}

static bool suits(unsigned role, unsigned type)
{
    switch (role) {
    case RBWP_ROLE_START:
        return type == RBWP_COLUMN_TIME;
    case RBWP_ROLE_STOP:
        return type == RBWP_COLUMN_TIME || type == RBWP_COLUMN_DURATION;
    case RBWP_ROLE_TRACK:
    case RBWP_ROLE_LABEL:
        return is_number(type) || type == RBWP_COLUMN_NAME;
    case RBWP_ROLE_THREAD:
    case RBWP_ROLE_LINK_FROM:
    case RBWP_ROLE_LINK_TO:
        return is_number(type);
    case RBWP_ROLE_START_BOUND:
    case RBWP_ROLE_STOP_BOUND:
        return type == RBWP_COLUMN_DURATION;
    case RBWP_ROLE_COUNTER:
        return is_number(type) || type == RBWP_COLUMN_F64 || type == RBWP_COLUMN_DURATION;
    default:
        return false;
    }
}

/* Where a column of the role is remembered; NULL: nowhere. */
static uint16_t *place_of(struct table_shape *shape, unsigned role)
{
    switch (role) {
    case RBWP_ROLE_START:
        return &shape->start;
    case RBWP_ROLE_STOP:
        return &shape->stop;
    case RBWP_ROLE_TRACK:
        return &shape->track;
    case RBWP_ROLE_LABEL:
        return &shape->label;
    case RBWP_ROLE_THREAD:
        return &shape->thread;
    case RBWP_ROLE_LINK_FROM:
        return &shape->from;
    case RBWP_ROLE_LINK_TO:
        return &shape->to;
    case RBWP_ROLE_START_BOUND:
        return &shape->start_bound;
    case RBWP_ROLE_STOP_BOUND:
        return &shape->stop_bound;
    default:
        return NULL;
    }
}

static void take_column(struct table_shape *shape, const struct rbwp_schema *schema, uint16_t at)
{
    const struct rbwp_column *column = &schema->columns[at];
    bool good = suits(column->role, column->type);
    uint16_t *place = good ? place_of(shape, column->role) : NULL;
    if (place && *place == TABLE_NO_COLUMN)
        *place = at;
    else if (good && column->role == RBWP_ROLE_COUNTER)
        shape->counters[shape->counter_count++] = at;
    else
        shape->args[shape->arg_count++] = at;
}

static enum table_kind kind_of(const struct table_shape *shape)
{
    if (shape->start == TABLE_NO_COLUMN)
        return TABLE_UNKNOWN;
    if (shape->stop != TABLE_NO_COLUMN)
        return TABLE_SPANS;
    return shape->counter_count ? TABLE_COUNTERS : TABLE_INSTANTS;
}

static uint16_t unit_column(const struct rbwp_schema *schema)
{
    uint16_t at = schema_column(schema, "unit");
    return at != TABLE_NO_COLUMN && schema->columns[at].type == RBWP_COLUMN_NAME ? at
                                                                                 : TABLE_NO_COLUMN;
}

void table_shape_find(struct table_shape *shape, const struct rbwp_schema *schema)
{
    const uint16_t none = TABLE_NO_COLUMN;
    *shape = (struct table_shape){.start = none,
                                  .stop = none,
                                  .label = none,
                                  .track = none,
                                  .thread = none,
                                  .start_bound = none,
                                  .stop_bound = none,
                                  .from = none,
                                  .to = none,
                                  .unit = none};
    kernel_columns_find(&shape->kernel, schema);
    wait_columns_find(&shape->wait, schema);
    queue_columns_find(&shape->queue, schema);
    message_columns_find(&shape->message, schema);
    for (uint16_t i = 0; i < schema->column_count; i++)
        if (!kernel_columns_hide(&shape->kernel, i))
            take_column(shape, schema, i);
    for (uint16_t i = 0; i < schema->column_count; i++)
        shape->has_bytes |= schema->columns[i].type == RBWP_COLUMN_BYTES;
    shape->kind = kind_of(shape);
    shape->stop_is_duration =
        shape->stop != TABLE_NO_COLUMN && schema->columns[shape->stop].type == RBWP_COLUMN_DURATION;
    if (shape->kind == TABLE_COUNTERS) {
        if (schema_is_named(schema, "counter"))
            shape->unit = unit_column(schema);
        return;
    }
    for (uint16_t i = 0; i < shape->counter_count; i++) /* of a span they are arguments */
        shape->args[shape->arg_count++] = shape->counters[i];
    shape->counter_count = 0;
}
