/* SPDX-License-Identifier: Apache-2.0 */
#include "table_shape.h"

#include "grow.h"
#include "trace_axis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

uint8_t table_category(struct trace_text word)
{
    unsigned found = trace_word_number(trace_category_name, TRACE_CATEGORIES, word);
    bool is_other_rows = found <= TRACE_GPU_WORK || found == TRACE_ANNOTATION;
    return (uint8_t)(is_other_rows || found == TRACE_CATEGORIES ? TRACE_RANGE : found);
}

uint8_t table_link_kind(struct trace_text word)
{
    unsigned found = trace_word_number(trace_link_kind_name, TRACE_LINK_KINDS, word);
    return (uint8_t)(found < TRACE_LINK_KINDS ? found + 1 : 0);
}

/* ---- table shape ----------------------------------------------------------------------------- */

/* The types that suit a role, as bits, and where its first column is remembered; 0: nowhere. */
#define ROLE_TYPE(name) (1u << RBWP_COLUMN_##name)
#define ROLE_NUMBER (ROLE_TYPE(U64) | ROLE_TYPE(I64))
#define ROLE_AT(member) offsetof(struct table_shape, member)
static const struct {
    unsigned types;
    size_t place;
} role_shapes[] = {
    [RBWP_ROLE_START] = {ROLE_TYPE(TIME), ROLE_AT(start)},
    [RBWP_ROLE_STOP] = {ROLE_TYPE(TIME) | ROLE_TYPE(DURATION), ROLE_AT(stop)},
    [RBWP_ROLE_TRACK] = {ROLE_NUMBER | ROLE_TYPE(NAME), ROLE_AT(track)},
    [RBWP_ROLE_LABEL] = {ROLE_NUMBER | ROLE_TYPE(NAME), ROLE_AT(label)},
    [RBWP_ROLE_LINK_FROM] = {ROLE_NUMBER, ROLE_AT(from)},
    [RBWP_ROLE_LINK_TO] = {ROLE_NUMBER, ROLE_AT(to)},
    [RBWP_ROLE_COUNTER] = {ROLE_NUMBER | ROLE_TYPE(F64) | ROLE_TYPE(DURATION), 0},
    [RBWP_ROLE_START_BOUND] = {ROLE_TYPE(DURATION), ROLE_AT(start_bound)},
    [RBWP_ROLE_STOP_BOUND] = {ROLE_TYPE(DURATION), ROLE_AT(stop_bound)},
    [RBWP_ROLE_THREAD] = {ROLE_NUMBER, ROLE_AT(thread)},
    [RBWP_ROLE_CATEGORY] = {ROLE_TYPE(NAME), ROLE_AT(category)},
    [RBWP_ROLE_LINK_KIND] = {ROLE_TYPE(NAME), ROLE_AT(link_kind)},
    [RBWP_ROLE_ITEM] = {ROLE_NUMBER, ROLE_AT(item)},
};
enum { ROLE_COUNT = sizeof role_shapes / sizeof role_shapes[0] };

static uint16_t *role_place(struct table_shape *shape, unsigned role)
{
    return role_shapes[role].place ? (uint16_t *)(void *)((char *)shape + role_shapes[role].place)
                                   : NULL;
}

static void take_column(struct table_shape *shape, const struct rbwp_schema *schema, uint16_t at)
{
    const struct rbwp_column *column = &schema->columns[at];
    const bool good =
        column->role < ROLE_COUNT && role_shapes[column->role].types >> column->type & 1;
    uint16_t *place = good ? role_place(shape, column->role) : NULL;
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
    *shape = (struct table_shape){.category_meant = TRACE_RANGE, .unit = TABLE_NO_COLUMN};
    for (unsigned role = 0; role < ROLE_COUNT; role++)
        if (role_shapes[role].place)
            *role_place(shape, role) = TABLE_NO_COLUMN;
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
    shape->has_stack = table_is(schema, KNOWN_open_call);
    shape->has_bytes |= shape->has_stack;
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

/* ---- columns ---------------------------------------------------------------- */

void kernel_columns_find(struct kernel_columns *columns, const struct rbwp_schema *schema)
{
    uint16_t lane[COLUMNS_lane_span], event[COLUMNS_device_event], block[COLUMNS_kernel_block];
    const bool lanes = table_bind(schema, KNOWN_lane_span, lane);
    const bool events = table_bind(schema, KNOWN_device_event, event);
    const bool blocks = table_bind(schema, KNOWN_kernel_block, block);
#define ANY(name)                                                                                  \
    (lanes    ? lane[AT_lane_span_##name]                                                          \
     : events ? event[AT_device_event_##name]                                                      \
              : block[AT_kernel_block_##name])
    *columns = (struct kernel_columns){
        .table = lanes    ? KERNEL_LANES
                 : events ? KERNEL_EVENTS
                 : blocks ? KERNEL_BLOCKS
                          : KERNEL_NONE,
        .processor = ANY(processor),
        .launch = ANY(launch),
        .bound = ANY(bound),
        .kind = lane[AT_lane_span_kind],
        .group = lane[AT_lane_span_group],
        .block = lanes ? lane[AT_lane_span_block] : block[AT_kernel_block_block],
        .sm = lanes ? lane[AT_lane_span_sm] : block[AT_kernel_block_sm],
        .program = event[AT_device_event_program],
        .xcc = event[AT_device_event_xcc],
        .cu = event[AT_device_event_cu],
        .thread = block[AT_kernel_block_thread],
        .warp = block[AT_kernel_block_warp]};
#undef ANY
}

bool kernel_columns_hide(const struct kernel_columns *columns, uint16_t column)
{
    return columns->table != KERNEL_NONE &&
           (column == columns->processor || column == columns->kind || column == columns->bound ||
            column == columns->group || column == columns->xcc || column == columns->cu ||
            column == columns->launch || column == columns->sm || column == columns->warp);
}

/* ---- tracks ------------------------------------------------------------------- */

struct kernel_track {
    uint64_t id;
    uint32_t parent, kind;
    uint32_t track;
};

static uint64_t kernel_tracks_hash(const struct kernel_track *wanted)
{
    return hash_pair(wanted->id, (uint64_t)wanted->parent << 32 ^ wanted->kind);
}

/* The track that it is found by, if it is there already. */
static bool is_known_kernel(const struct kernel_tracks *tracks, const struct kernel_track *wanted,
                            uint32_t *track_out)
{
    uint64_t hash = kernel_tracks_hash(wanted);
    for (uint32_t step = 0, i; (i = index_map_next(&tracks->by_key, hash, &step)) != INDEX_NONE;) {
        const struct kernel_track *known = &tracks->list[i];
        if (known->id == wanted->id && known->parent == wanted->parent &&
            known->kind == wanted->kind) {
            *track_out = known->track;
            return true;
        }
    }
    return false;
}

/* The track below parent, made if need be; parent itself where there are too many. */
static uint32_t below(struct kernel_tracks *tracks, uint32_t parent, enum trace_track_kind kind,
                      uint64_t id, struct trace_text name)
{
    struct kernel_track wanted = {.id = id, .parent = parent, .kind = kind};
    if (is_known_kernel(tracks, &wanted, &wanted.track))
        return wanted.track;
    if (trace_failed(tracks->trace) || tracks->count == KERNEL_TRACKS_MAX)
        return parent;
    if (!GROW_ARRAY(tracks->list, tracks->room, tracks->count + 1) ||
        !index_map_add(&tracks->by_key, kernel_tracks_hash(&wanted), tracks->count)) {
        tracks->failed = true;
        return parent;
    }
    wanted.track = trace_add_track_below(
        tracks->trace, parent, (struct trace_track){.kind = kind, .id = id, .name = name});
    tracks->list[tracks->count++] = wanted;
    return wanted.track;
}

static uint32_t numbered(struct kernel_tracks *tracks, uint32_t parent, enum trace_track_kind kind,
                         const char *what, uint64_t number)
{
    char name[48];
    uint32_t known;
    if (is_known_kernel(
            tracks, &(struct kernel_track){.id = number, .parent = parent, .kind = kind}, &known))
        return known; /* nearly always: the name is not needed */
    snprintf(name, sizeof name, "%s %" PRIu64, what, number);
    return below(tracks, parent, kind, number, trace_text(name));
}

static uint32_t find(struct kernel_tracks *tracks, uint32_t gpu_track,
                     const struct kernel_place_row *row, struct trace_text group_name)
{
    char name[64];
    if (row->table == KERNEL_EVENTS) {
        uint32_t events = below(tracks, gpu_track, TRACE_LANE, 1, trace_text("events"));
        snprintf(name, sizeof name, "XCC%" PRIu64 "_CU%" PRIu64, row->xcc, row->cu);
        return below(tracks, events, TRACE_LANE, row->xcc << 32 ^ row->cu, trace_text(name));
    }
    bool blocks = row->table == KERNEL_BLOCKS;
    uint32_t lanes = below(tracks, gpu_track, TRACE_LANE, blocks ? 2 : 0,
                           trace_text(blocks ? "blocks" : "lanes"));
    uint32_t place = row->sm != UINT64_MAX
                         ? numbered(tracks, lanes, TRACE_SM, "SM", row->sm)
                         : numbered(tracks, lanes, TRACE_LANE, "block", row->block);
    if (blocks && row->sm != UINT64_MAX && row->warp != UINT64_MAX)
        return numbered(tracks, place, TRACE_LANE, "warp", row->warp);
    if (blocks)
        return numbered(tracks, place, TRACE_LANE, "thread", row->thread);
    if (!group_name.bytes)
        return numbered(tracks, place, TRACE_LANE, "group", row->group);
    return below(tracks, place, TRACE_LANE, row->group, group_name);
}

/* ---- those that were found last ---------------------------------------------- */

enum { PLACES = 4096 };

struct kernel_place {
    uint64_t processor, where, group;
    uint32_t kind;
    uint32_t track; /* + 1; 0: a free one */
};

/* What find looks at, but for names. */
static struct kernel_place kernel_tracks_place_of(const struct kernel_place_row *row)
{
    bool has_sm = row->sm != UINT64_MAX, by_warp = has_sm && row->warp != UINT64_MAX;
    struct kernel_place place = {.processor = row->processor, .kind = row->table * 4u};
    if (row->table == KERNEL_EVENTS) {
        place.where = row->xcc;
        place.group = row->cu;
        return place;
    }
    place.where = has_sm ? row->sm : row->block;
    place.group = row->group;
    place.kind += has_sm;
    if (row->table == KERNEL_BLOCKS) {
        place.group = by_warp ? row->warp : row->thread;
        place.kind += by_warp * 2u;
    }
    return place;
}

static struct kernel_place *kept_place(const struct kernel_tracks *tracks,
                                       const struct kernel_place *place)
{
    uint64_t mixed = place->where + (place->group << 20) + (place->processor << 40) + place->kind;
    return &tracks->places[hash_place(mixed) & (PLACES - 1)];
}

uint32_t kernel_tracks_known(const struct kernel_tracks *tracks, const struct kernel_place_row *row)
{
    const struct kernel_place wanted = kernel_tracks_place_of(row);
    const struct kernel_place *kept = tracks->places ? kept_place(tracks, &wanted) : NULL;
    bool found = kept && kept->track && kept->where == wanted.where &&
                 kept->group == wanted.group && kept->processor == wanted.processor &&
                 kept->kind == wanted.kind;
    return found ? kept->track - 1 : TRACE_NONE;
}

uint32_t kernel_tracks_find(struct kernel_tracks *tracks, uint32_t gpu_track,
                            const struct kernel_place_row *row, struct trace_text group_name)
{
    uint32_t track = find(tracks, gpu_track, row, group_name);
    struct kernel_place place = kernel_tracks_place_of(row);
    place.track = track + 1;
    if (!tracks->places && !(tracks->places = calloc(PLACES, sizeof *tracks->places)))
        tracks->failed = true;
    else
        *kept_place(tracks, &place) = place;
    return track;
}

void kernel_tracks_free(struct kernel_tracks *tracks)
{
    free(tracks->list);
    index_map_free(&tracks->by_key);
    free(tracks->places);
    *tracks = (struct kernel_tracks){0};
}
