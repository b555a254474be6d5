/* SPDX-License-Identifier: Apache-2.0 */
#include "table_shape.h"

#include <string.h>

/* ---- message rows ---------------------------------------------------------------------------- */
/*
 * What rows of the tables message_sent and message_handled (SPEC.md, section 9.3) say beyond their
 * roles: when a message arrived, and how long it is.
 */

static void message_columns_find(struct message_columns *columns, const struct rbwp_schema *schema)
{
    uint16_t sent[COLUMNS_message_sent], handled[COLUMNS_message_handled];
    table_bind(schema, KNOWN_message_sent, sent);
    columns->handled = table_bind(schema, KNOWN_message_handled, handled);
    columns->arrived = handled[AT_message_handled_arrived];
    columns->key = columns->handled ? handled[AT_message_handled_key] : sent[AT_message_sent_key];
    columns->bytes =
        columns->handled ? handled[AT_message_handled_bytes] : sent[AT_message_sent_bytes];
}

struct trace_message_end message_rows_end(const struct message_columns *columns,
                                          const struct rbwp_rows *rows, uint32_t row,
                                          const struct trace_axis *axis,
                                          const struct trace_span *span)
{
    struct trace_message_end end = {.handled = columns->handled,
                                    .key = rows->cells[columns->key][row],
                                    .track = span->track,
                                    .name = span->name,
                                    .span = span->id,
                                    .start_ns = span->start_ns,
                                    .stop_ns = span->stop_ns,
                                    .arrived_ns = span->start_ns};
    if (columns->bytes != TABLE_NO_COLUMN)
        end.bytes = rows->cells[columns->bytes][row];
    if (columns->handled && columns->arrived != TABLE_NO_COLUMN)
        end.arrived_ns = trace_on_axis(axis, (int64_t)rows->cells[columns->arrived][row]);
    if (end.arrived_ns > end.start_ns)
        end.arrived_ns = end.start_ns; /* a handler does not begin before */
    return end;
}

/* ---- what rows of the table wait (SPEC.md, section 9.3) say beyond their roles --------------- */
/* Who ended the wait, and how long the thread had been free to run. */

enum { STILL_WAITS = 2 }; /* an outcome */

static void wait_columns_find(struct wait_columns *columns, const struct rbwp_schema *schema)
{
    uint16_t at[COLUMNS_wait];
    table_bind(schema, KNOWN_wait, at);
    *columns = (struct wait_columns){
        .waker = at[AT_wait_delay] != TABLE_NO_COLUMN ? at[AT_wait_waker] : TABLE_NO_COLUMN,
        .delay = at[AT_wait_delay],
        .outcome = at[AT_wait_outcome]};
}

bool wait_rows_wake(const struct wait_columns *columns, const struct rbwp_rows *rows, uint32_t row,
                    struct trace_span *span, struct wait_wake *wake_out)
{
    if (columns->outcome != TABLE_NO_COLUMN && rows->cells[columns->outcome][row] == STILL_WAITS)
        span->flags |= TRACE_UNFINISHED; /* not open: who waits is not stuck in its work */
    uint64_t delay_ns = rows->cells[columns->delay][row];
    *wake_out = (struct wait_wake){.waker = rows->cells[columns->waker][row], .delay = *span};
    if (delay_ns < trace_duration_ns(span))
        wake_out->delay.start_ns = span->stop_ns - (int64_t)delay_ns;
    return wake_out->waker != 0;
}

/* ---- what rows of the table queued (SPEC.md, section 9.3) say beyond their roles ------------- */

static void queue_columns_find(struct table_shape *shape, const struct rbwp_schema *schema)
{
    uint16_t at[COLUMNS_queued];
    if (table_bind(schema, KNOWN_queued, at))
        shape->category_meant = TRACE_QUEUED;
    shape->item = at[AT_queued_slot];
    shape->handed_by = at[AT_queued_from];
}

/* ---- words --------------------------------------------------------------------------------- */

/* count: none of them. */
static unsigned word_number(const char *const *words, unsigned count, struct trace_text word)
{
    unsigned i = 0;
    while (i < count && (strlen(words[i]) != word.bytes || memcmp(words[i], word.text, word.bytes)))
        i++;
    return i;
}

uint8_t table_category(struct trace_text word)
{
    unsigned found = word_number(trace_category_name, TRACE_CATEGORIES, word);
    bool is_other_rows = found <= TRACE_GPU_WORK || found == TRACE_ANNOTATION;
    return (uint8_t)(is_other_rows || found == TRACE_CATEGORIES ? TRACE_RANGE : found);
}

uint8_t table_link_kind(struct trace_text word)
{
    unsigned found = word_number(trace_link_kind_name, TRACE_LINK_KINDS, word);
    return (uint8_t)(found < TRACE_LINK_KINDS ? found + 1 : 0);
}

/* ---- table shape ----------------------------------------------------------------------------- */

static bool table_shape_is_number(unsigned type)
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
        return table_shape_is_number(type) || type == RBWP_COLUMN_NAME;
    case RBWP_ROLE_CATEGORY:
    case RBWP_ROLE_LINK_KIND:
        return type == RBWP_COLUMN_NAME;
    case RBWP_ROLE_ITEM:
    case RBWP_ROLE_THREAD:
    case RBWP_ROLE_LINK_FROM:
    case RBWP_ROLE_LINK_TO:
        return table_shape_is_number(type);
    case RBWP_ROLE_START_BOUND:
    case RBWP_ROLE_STOP_BOUND:
        return type == RBWP_COLUMN_DURATION;
    case RBWP_ROLE_COUNTER:
        return table_shape_is_number(type) || type == RBWP_COLUMN_F64 ||
               type == RBWP_COLUMN_DURATION;
    default:
        return false;
    }
}

/* Where a column of the role is remembered; NULL: nowhere. */
static uint16_t *table_shape_place_of(struct table_shape *shape, unsigned role)
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
    case RBWP_ROLE_CATEGORY:
        return &shape->category;
    case RBWP_ROLE_LINK_KIND:
        return &shape->link_kind;
    case RBWP_ROLE_ITEM:
        return &shape->item;
    default:
        return NULL;
    }
}

static void take_column(struct table_shape *shape, const struct rbwp_schema *schema, uint16_t at)
{
    const struct rbwp_column *column = &schema->columns[at];
    bool good = suits(column->role, column->type);
    uint16_t *place = good ? table_shape_place_of(shape, column->role) : NULL;
    if (place && *place == TABLE_NO_COLUMN)
        *place = at;
    else if (good && column->role == RBWP_ROLE_COUNTER)
        shape->counters[shape->counter_count++] = at;
    else
        shape->args[shape->arg_count++] = at;
}

static enum table_kind table_shape_kind_of(const struct table_shape *shape)
{
    if (shape->start == TABLE_NO_COLUMN)
        return TABLE_UNKNOWN;
    if (shape->stop != TABLE_NO_COLUMN)
        return TABLE_SPANS;
    return shape->counter_count ? TABLE_COUNTERS : TABLE_INSTANTS;
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
                                  .category = none,
                                  .link_kind = none,
                                  .item = none,
                                  .category_meant = TRACE_RANGE,
                                  .unit = none};
    kernel_columns_find(&shape->kernel, schema);
    wait_columns_find(&shape->wait, schema);
    queue_columns_find(shape, schema);
    message_columns_find(&shape->message, schema);
    for (uint16_t i = 0; i < schema->column_count; i++)
        if (schema->columns[i].role == RBWP_ROLE_ARGUMENT)
            shape->args[shape->arg_count++] = i;
    for (uint16_t i = 0; i < schema->column_count; i++)
        if (schema->columns[i].role != RBWP_ROLE_ARGUMENT &&
            !kernel_columns_hide(&shape->kernel, i))
            take_column(shape, schema, i);
    for (uint16_t i = 0; i < schema->column_count; i++)
        shape->has_bytes |= schema->columns[i].type == RBWP_COLUMN_BYTES;
    shape->kind = table_shape_kind_of(shape);
    shape->stop_is_duration =
        shape->stop != TABLE_NO_COLUMN && schema->columns[shape->stop].type == RBWP_COLUMN_DURATION;
    if (shape->kind == TABLE_COUNTERS) {
        uint16_t at[COLUMNS_counter];
        table_bind(schema, KNOWN_counter, at);
        shape->unit = at[AT_counter_unit];
        return;
    }
    for (uint16_t i = 0; i < shape->counter_count; i++) /* of a span they are arguments */
        shape->args[shape->arg_count++] = shape->counters[i];
    shape->counter_count = 0;
}
