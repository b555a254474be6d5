/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are looked at one by one; what does not depend on the row is in the table's shape. Names of
 * tracks are put together when a value is met first. */
#include "table_rows.h"
#include "rbwp_lanes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256, THREADS_MAX = 1024 /* of a kernel's block */ };

/* Track of a table for one value of its columns. */
struct table_track {
    uint64_t value, thread_id;
    uint64_t unit;          /* name of that of a counter's values; 0: its column says it */
    uint16_t table, column; /* column: of the counter, else TABLE_NO_COLUMN */
    bool wanted;
    uint32_t track;
};

void table_rows_start(struct table_rows *tables)
{
    tables->kernels.trace = tables->trace;
    tables->first_track = trace_track_count(tables->trace);
    span_sorter_start(&tables->spans);
    sample_sorter_start(&tables->samples);
}

void table_rows_stop(struct table_rows *tables)
{
    for (uint32_t i = 0; i < tables->shape_room; i++) {
        if (!tables->shapes[i])
            continue;
        row_stream_free(tables->shapes[i]->stream);
        free(tables->shapes[i]->detail);
        free(tables->shapes[i]);
    }
    free(tables->shapes);
    for (uint32_t i = 0; i < tables->place_room; i++)
        lanes_free(&tables->places[i].lanes);
    free(tables->places);
    row_marks_free(&tables->marks);
    if (tables->batch)
        span_batch_free(tables->batch);
    free(tables->batch);
    free(tables->tracks);
    index_map_free(&tables->track_places);
    free(tables->names);
    kernel_tracks_free(&tables->kernels);
    span_sorter_stop(&tables->spans);
    sample_sorter_stop(&tables->samples);
    span_detail_free(&tables->detail);
}

/* ---- names and cells -------------------------------------------------------- */

static uint32_t find_label(struct table_rows *tables, uint64_t number)
{
    if (number == 0 || number >= UINT32_MAX)
        return 0;
    if (!GROW_ZEROED(tables->names, tables->name_room, (uint32_t)number + 1)) {
        tables->failed = true;
        return 0;
    }
    uint32_t *label = &tables->names[number];
    if (!*label) {
        struct rbwp_text text = rbwp_catalog_name(tables->catalog, number);
        *label = trace_add_label(tables->trace, text.text, text.bytes);
    }
    return *label;
}

/* Of a name of the file, as a label; 0 for none. */
static inline uint32_t table_rows_label_of(struct table_rows *tables, uint64_t number)
{
    uint32_t label = number < tables->name_room ? tables->names[number] : 0;
    return label ? label : find_label(tables, number);
}

static bool table_rows_has(uint16_t column)
{
    return column != TABLE_NO_COLUMN;
}

static uint64_t cell(const struct rbwp_rows *rows, uint16_t column, uint32_t row)
{
    return table_rows_has(column) ? rows->cells[column][row] : 0;
}

/* The word that a row or its column says, a label; 0: none. */
static inline uint32_t word_of(struct table_rows *tables, const struct rbwp_rows *rows,
                               uint16_t column, uint32_t row, uint32_t word_of_column)
{
    uint64_t name = cell(rows, column, row);
    return name ? table_rows_label_of(tables, name) : word_of_column;
}

/* A value of a column that names something, as text. */
static int table_rows_put_value(struct table_rows *tables, const struct rbwp_column *column,
                                uint64_t value, char *to, size_t room)
{
    if (column->type == RBWP_COLUMN_NAME) {
        uint32_t label = table_rows_label_of(tables, value);
        struct trace_text text = trace_label_of(tables->trace, label);
        int bytes = text.bytes < NAME_BYTES / 2 ? (int)text.bytes : NAME_BYTES / 2;
        return snprintf(to, room, " %.*s", bytes, label ? text.text : "");
    }
    if (column->type == RBWP_COLUMN_I64)
        return snprintf(to, room, " %" PRId64, (int64_t)value);
    return snprintf(to, room, " %" PRIu64, value);
}

/* ---- shapes ----------------------------------------------------------------- */

static uint32_t add_label(struct table_rows *tables, const char *text, uint32_t bytes)
{
    return trace_add_label(tables->trace, text, bytes);
}

/* Whose keys those of a column are. */
static uint32_t key_space(struct table_rows *tables, const struct rbwp_schema *schema,
                          uint16_t column)
{
    if (!table_rows_has(column))
        return 0;
    const struct rbwp_column *key = &schema->columns[column];
    return key->unit_bytes ? add_label(tables, key->unit, key->unit_bytes)
                           : add_label(tables, schema->name, schema->name_bytes);
}

/* What a column says of rows whose cell says nothing. */
static uint32_t unit_word(struct table_rows *tables, const struct rbwp_schema *schema,
                          uint16_t column)
{
    return table_rows_has(column)
               ? add_label(tables, schema->columns[column].unit, schema->columns[column].unit_bytes)
               : 0;
}

/* What no row of the table changes is set. */
static bool make_room_for_detail(struct table_shape *shape)
{
    shape->detail = calloc(1, sizeof *shape->detail + shape->arg_count * sizeof(struct trace_arg));
    if (shape->detail)
        *shape->detail =
            (struct trace_detail){.launch_track = TRACE_NONE, .category = shape->label_name};
    return shape->detail;
}

static struct table_shape *make_shape(struct table_rows *tables, const struct rbwp_schema *schema)
{
    struct table_shape *shape = malloc(sizeof *shape);
    if (!shape)
        return NULL;
    table_shape_find(shape, schema); /* without a stream */
    if (shape->kind == TABLE_UNKNOWN) {
        if (!tables->filtered)
            shape->table = trace_add_table(tables->trace, tables->process, schema);
        return shape;
    }
    if (shape->kind != TABLE_COUNTERS && tables->trailer && !tables->filtered && !shape->has_bytes)
        tables->failed |=
            !row_stream_new(tables->trailer, schema, &tables->options->axis, &shape->stream);
    shape->label_name = add_label(tables, schema->name, schema->name_bytes);
    if (shape->kind != TABLE_COUNTERS && !shape->has_bytes)
        tables->failed |= !make_room_for_detail(shape);
    shape->category_word = unit_word(tables, schema, shape->category);
    if (shape->category_word)
        shape->category_meant = table_category(trace_label_of(tables->trace, shape->category_word));
    shape->link_word = unit_word(tables, schema, shape->link_kind);
    shape->link_meant = table_link_kind(trace_label_of(tables->trace, shape->link_word));
    shape->from_space = key_space(tables, schema, shape->from);
    shape->to_space = key_space(tables, schema, shape->to);
    for (uint32_t i = 0; shape->kind != TABLE_COUNTERS && i < shape->arg_count; i++) {
        const struct rbwp_column *column = &schema->columns[shape->args[i]];
        shape->keys[shape->args[i]] = add_label(tables, column->name, column->name_bytes);
    }
    return shape;
}

static struct table_shape *shape_of(struct table_rows *tables, const struct rbwp_schema *schema)
{
    if (!grow_zeroed32(&tables->shapes, &tables->shape_room, schema->table + 1,
                       sizeof(struct table_shape *)))
        return NULL;
    struct table_shape **shape = &tables->shapes[schema->table];
    if (!*shape)
        *shape = make_shape(tables, schema);
    return *shape;
}

/* ---- tracks ----------------------------------------------------------------- */

/* A counter that says its unit is known by its name alone. False: it has none. */
static bool put_plain_name(struct table_rows *tables, uint64_t number, char *name, size_t room)
{
    uint32_t label = table_rows_label_of(tables, number);
    struct trace_text text = trace_label_of(tables->trace, label);
    if (label && text.bytes)
        snprintf(name, room, "%.*s", text.bytes < NAME_BYTES ? (int)text.bytes : NAME_BYTES,
                 text.text);
    return label && text.bytes;
}

static void name_track(struct table_rows *tables, const struct rbwp_schema *schema,
                       const struct table_shape *shape, const struct table_track *track, char *name,
                       size_t room)
{
    uint16_t by = table_rows_has(shape->track) ? shape->track : shape->label;
    if (table_rows_has(shape->unit) && put_plain_name(tables, track->value, name, room))
        return;
    bool split = table_rows_has(shape->track) ||
                 (table_rows_has(track->column) && table_rows_has(shape->label));
    int used = snprintf(name, room, "%.*s",
                        schema->name_bytes < NAME_BYTES / 2 ? schema->name_bytes : NAME_BYTES / 2,
                        schema->name);
    if (split)
        used += table_rows_put_value(tables, &schema->columns[by], track->value, name + used,
                                     room - (size_t)used);
    if (shape->counter_count > 1) {
        const struct rbwp_column *column = &schema->columns[track->column];
        int bytes = column->name_bytes < NAME_BYTES / 2 ? column->name_bytes : NAME_BYTES / 2;
        snprintf(name + used, room - (size_t)used, " %.*s", bytes, column->name);
    }
    if (!name[0])
        snprintf(name, room, "table %" PRIu32, schema->table);
}

static void make_track(struct table_rows *tables, const struct rbwp_schema *schema,
                       const struct table_shape *shape, struct table_track *track, int64_t time_ns)
{
    char name[2 * NAME_BYTES];
    uint32_t above = TRACE_NONE;
    if (track->thread_id)
        above = tables->host.thread_track(tables->host.context, track->thread_id, time_ns);
    track->wanted = !track->thread_id || above != TRACE_NONE;
    if (!track->wanted)
        return;
    name_track(tables, schema, shape, track, name, sizeof name);
    struct trace_track made = {.process = tables->process,
                               .kind = table_rows_has(track->column) ? TRACE_COUNTER : TRACE_TABLE,
                               .id = tables->track_count,
                               .name = trace_text(name)};
    if (table_rows_has(track->column)) {
        const struct rbwp_column *column = &schema->columns[track->column];
        made.unit = track->unit
                        ? trace_label_of(tables->trace, table_rows_label_of(tables, track->unit))
                        : (struct trace_text){column->unit, column->unit_bytes};
    }
    track->track = above == TRACE_NONE ? trace_add_track(tables->trace, made)
                                       : trace_add_track_below(tables->trace, above, made);
}

/* NULL when out of memory. */
static const struct table_track *table_rows_track_of(struct table_rows *tables,
                                                     const struct rbwp_schema *schema,
                                                     const struct table_shape *shape,
                                                     struct table_track wanted, int64_t time_ns)
{
    wanted.table = (uint16_t)schema->table;
    uint64_t of_column = hash_pair((uint64_t)wanted.table << 16 | wanted.column, wanted.unit);
    uint64_t hash = hash_pair(hash_pair(of_column, wanted.thread_id), wanted.value);
    for (uint32_t step = 0, i;
         (i = index_map_next(&tables->track_places, hash, &step)) != INDEX_NONE;) {
        const struct table_track *known = &tables->tracks[i];
        if (known->value == wanted.value && known->thread_id == wanted.thread_id &&
            known->unit == wanted.unit && known->table == wanted.table &&
            known->column == wanted.column)
            return known;
    }
    if (tables->track_count == TABLE_TRACKS_MAX)
        return &tables->tracks[TABLE_TRACKS_MAX - 1];
    if (!GROW_ZEROED(tables->tracks, tables->track_room, tables->track_count + 1) ||
        !index_map_add(&tables->track_places, hash, tables->track_count))
        return NULL;
    make_track(tables, schema, shape, &wanted, time_ns);
    tables->tracks[tables->track_count] = wanted;
    return &tables->tracks[tables->track_count++];
}

/* ---- counters --------------------------------------------------------------- */

static struct trace_sample sample_of(unsigned type, uint64_t value)
{
    struct trace_sample sample = {.whole = type != RBWP_COLUMN_F64};
    if (type == RBWP_COLUMN_F64)
        memcpy(&sample.value.f64, &value, sizeof value);
    else
        sample.value.i64 = (int64_t)value;
    if (type != RBWP_COLUMN_I64 && sample.whole && value > INT64_MAX) {
        sample.whole = false;
        sample.value.f64 = (double)value;
    }
    return sample;
}

static void table_rows_take_counter(struct table_rows *tables, const struct table_shape *shape,
                                    const struct rbwp_rows *rows, uint16_t column)
{
    const struct rbwp_schema *schema = rows->schema;
    struct table_track key = {.column = column};
    const struct table_track *track = NULL;
    uint16_t by = table_rows_has(shape->track) ? shape->track : shape->label;
    for (uint32_t i = 0; i < rows->rows && !tables->failed; i++) {
        int64_t time_ns = (int64_t)rows->cells[shape->start][i];
        uint64_t value = cell(rows, by, i), thread_id = cell(rows, shape->thread, i);
        uint64_t unit = cell(rows, shape->unit, i);
        if (!track || key.value != value || key.thread_id != thread_id || key.unit != unit) {
            key.value = value;
            key.unit = unit;
            key.thread_id = thread_id;
            track = table_rows_track_of(tables, schema, shape, key, time_ns);
            tables->failed |= !track;
        }
        if (!track || !track->wanted ||
            (tables->filtered &&
             !tables->host.wanted(tables->host.context, thread_id, time_ns, time_ns)))
            continue;
        struct trace_sample sample =
            sample_of(schema->columns[column].type, rows->cells[column][i]);
        sample.time_ns = trace_on_axis(&tables->options->axis, time_ns);
        sample_sorter_add(&tables->samples, track->track, &sample);
    }
}

/* ---- spans and points in time ------------------------------------------------ */

/* What the argument of a cell holds, which is no bytes. False: there is none. */
static inline bool arg_bits(struct table_rows *tables, unsigned type, uint64_t *value)
{
    if (type == RBWP_COLUMN_TIME)
        *value = (uint64_t)trace_on_axis(&tables->options->axis, (int64_t)*value);
    if (type != RBWP_COLUMN_NAME)
        return true;
    uint32_t label = table_rows_label_of(tables, *value);
    *value = label - 1;
    return label;
}

static const uint8_t arg_types[] = {
    [RBWP_COLUMN_U64] = TRACE_ARG_U64,           [RBWP_COLUMN_I64] = TRACE_ARG_I64,
    [RBWP_COLUMN_F64] = TRACE_ARG_F64,           [RBWP_COLUMN_TIME] = TRACE_ARG_TIME,
    [RBWP_COLUMN_DURATION] = TRACE_ARG_DURATION, [RBWP_COLUMN_NAME] = TRACE_ARG_NAME,
    [RBWP_COLUMN_ROW] = TRACE_ARG_U64,           [RBWP_COLUMN_BYTES] = TRACE_ARG_TEXT};

static void table_rows_add_arg(struct table_rows *tables, const struct table_shape *shape,
                               const struct rbwp_rows *rows, uint16_t column, uint32_t row)
{
    unsigned type = rows->schema->columns[column].type;
    uint64_t value = rows->cells[column][row];
    uint32_t key = shape->keys[column] - 1;
    if (!shape->keys[column])
        return; /* it has no name */
    if (type == RBWP_COLUMN_BYTES) {
        struct rbwp_text text = rbwp_rows_bytes(rows, value);
        if (text.bytes)
            span_detail_text(&tables->detail, key, TRACE_ARG_TEXT,
                             (struct trace_text){text.text, text.bytes});
    } else if (arg_bits(tables, type, &value)) {
        span_detail_arg(&tables->detail, key, arg_types[type], value);
    }
}

static void add_bounds(struct trace_detail *head, uint64_t start_ns, uint64_t stop_ns,
                       uint64_t least_ns)
{
    head->flags |= TRACE_HAS_BOUNDS;
    head->start_uncertain_ns = start_ns;
    head->stop_uncertain_ns = stop_ns;
    least_ns -= start_ns < least_ns ? start_ns : least_ns;
    least_ns -= stop_ns < least_ns ? stop_ns : least_ns;
    head->certain_ns = least_ns;
}

static inline void emit_row(struct table_rows *tables, const struct table_shape *shape,
                            const struct rbwp_rows *rows, uint32_t row,
                            const struct trace_span *span, struct trace_detail *head)
{
    if (table_rows_has(shape->category)) { /* a word that is none of ours is the program's own */
        uint32_t word = word_of(tables, rows, shape->category, row, shape->category_word);
        head->category = word && span->category == TRACE_RANGE ? word : shape->label_name;
    }
    if ((table_rows_has(shape->start_bound) || table_rows_has(shape->stop_bound)) &&
        !(span->flags & TRACE_CUT))
        add_bounds(head, cell(rows, shape->start_bound, row), cell(rows, shape->stop_bound, row),
                   trace_duration_ns(span));
    /* The error of the kernel's clock against the session's is that of both ends. */
    if (shape->kernel.table) {
        uint64_t bound_ns = cell(rows, shape->kernel.bound, row);
        head->correlation = cell(rows, shape->kernel.launch, row);
        if (bound_ns && !(span->flags & TRACE_CUT))
            add_bounds(head, bound_ns, bound_ns, trace_duration_ns(span));
    }
}

/* Of a table without bytes: its rows' details differ in few words. */
static inline const struct trace_detail *change_detail(struct table_rows *tables,
                                                       const struct table_shape *shape,
                                                       const struct rbwp_rows *rows, uint32_t row,
                                                       const struct trace_span *span)
{
    struct trace_detail *head = shape->detail;
    struct trace_arg *args = (void *)(head + 1), *arg = args;
    head->flags = 0;
    head->start_uncertain_ns = head->stop_uncertain_ns = head->certain_ns = 0;
    emit_row(tables, shape, rows, row, span, head);
    for (uint32_t i = 0; i < shape->arg_count; i++) {
        uint16_t column = shape->args[i];
        unsigned type = rows->schema->columns[column].type;
        uint64_t value = rows->cells[column][row];
        if (shape->keys[column] && arg_bits(tables, type, &value))
            *arg++ = (struct trace_arg){
                .key = shape->keys[column] - 1, .type = arg_types[type], .value.u64 = value};
    }
    head->arg_count = (uint32_t)(arg - args);
    head->words = (uint32_t)((uint64_t *)(void *)arg - (uint64_t *)(void *)head);
    return arg > args || head->flags || head->category || head->correlation ? head : NULL;
}

/* Valid until the next one; NULL for none, or without memory. */
static const struct trace_detail *make_detail(struct table_rows *tables,
                                              const struct table_shape *shape,
                                              const struct rbwp_rows *rows, uint32_t row,
                                              const struct trace_span *span)
{
    if (shape->detail)
        return change_detail(tables, shape, rows, row, span);
    span_detail_start(&tables->detail);
    tables->detail.head.category = shape->label_name;
    emit_row(tables, shape, rows, row, span, &tables->detail.head);
    for (uint32_t i = 0; i < shape->arg_count; i++)
        table_rows_add_arg(tables, shape, rows, shape->args[i], row);
    if (shape->has_stack) {
        const struct trace_text stack =
            tables->host.stack(tables->host.context, cell(rows, shape->thread, row),
                               (int64_t)rows->cells[shape->start][row]);
        if (stack.bytes)
            span_detail_text(&tables->detail, trace_add_name(tables->trace, "stack", 5),
                             TRACE_ARG_TEXT, stack);
    }
    const struct trace_detail *made = span_detail_finish(&tables->detail);
    tables->failed |= tables->detail.failed;
    return made;
}

static void table_rows_add_end(struct table_rows *tables, const struct table_shape *shape,
                               bool arrives, const struct rbwp_rows *rows, uint32_t row,
                               const struct trace_span *span)
{
    const uint16_t column = arrives ? shape->to : shape->from;
    const uint32_t space = arrives ? shape->to_space : shape->from_space;
    const uint64_t key = cell(rows, column, row);
    if (!key || !space)
        return;
    const uint32_t word = word_of(tables, rows, shape->link_kind, row, shape->link_word);
    bool own = rows->schema->columns[column].unit_bytes == 0;
    trace_add_link_end(tables->trace,
                       &(struct trace_link_end){
                           .arrives = arrives,
                           .kind = TRACE_FLOW,
                           .meant = word == shape->link_word
                                        ? shape->link_meant
                                        : table_link_kind(trace_label_of(tables->trace, word)),
                           .label = space,
                           .space = space - 1,
                           .process = own ? tables->process : TRACE_NONE,
                           .track = span->track,
                           .key = key,
                           .time_ns = span->start_ns,
                           .span = span->id});
}

/* It is about a work item. */
static inline bool has_item(const struct table_shape *shape, const struct rbwp_rows *rows,
                            uint32_t row)
{
    return table_rows_has(shape->item) && rows->cells[shape->item][row] < RBWP_SLOTS_MAX;
}

static uint32_t span_name(struct table_rows *tables, const struct table_shape *shape,
                          const struct rbwp_rows *rows, uint32_t row)
{
    char number[32];
    if (!table_rows_has(shape->label) && has_item(shape, rows, row))
        return tables->host.slot_name(tables->host.context, (uint32_t)rows->cells[shape->item][row],
                                      (int64_t)rows->cells[shape->start][row]);
    if (!table_rows_has(shape->label))
        return shape->label_name ? shape->label_name - 1 : trace_add_name(tables->trace, "", 0);
    const struct rbwp_column *column = &rows->schema->columns[shape->label];
    uint64_t value = rows->cells[shape->label][row];
    uint32_t label = 0;
    if (column->type == RBWP_COLUMN_NAME) {
        label = table_rows_label_of(tables, value);
    } else {
        int bytes = table_rows_put_value(tables, column, value, number, sizeof number);
        label = add_label(tables, number + 1, (uint32_t)bytes - 1);
    }
    return label ? label - 1 : trace_add_name(tables->trace, "unnamed", 7);
}

static int64_t stop_of(const struct table_shape *shape, const struct rbwp_rows *rows, uint32_t row,
                       int64_t start_ns)
{
    if (!table_rows_has(shape->stop))
        return start_ns;
    int64_t stop_ns = (int64_t)rows->cells[shape->stop][row];
    if (!shape->stop_is_duration)
        return stop_ns < start_ns ? start_ns : stop_ns;
    if (stop_ns < 0 || __builtin_add_overflow(start_ns, stop_ns, &stop_ns))
        return INT64_MAX;
    return stop_ns;
}

static inline uint64_t cell_or_unknown(const struct rbwp_rows *rows, uint16_t column, uint32_t row)
{
    return table_rows_has(column) ? rows->cells[column][row] : UINT64_MAX;
}

/* What tables of its kind say of a place. */
static inline struct kernel_place_row kernel_place(const struct kernel_columns *kernel,
                                                   const struct rbwp_rows *rows, uint32_t row)
{
    struct kernel_place_row place = {.table = kernel->table,
                                     .processor = cell(rows, kernel->processor, row)};
    if (kernel->table == KERNEL_EVENTS) {
        place.xcc = cell(rows, kernel->xcc, row);
        place.cu = cell(rows, kernel->cu, row);
        return place;
    }
    place.block = cell(rows, kernel->block, row);
    place.sm = cell_or_unknown(rows, kernel->sm, row);
    if (kernel->table == KERNEL_LANES) {
        place.group = cell(rows, kernel->group, row);
        return place;
    }
    place.thread = cell(rows, kernel->thread, row);
    place.warp = cell_or_unknown(rows, kernel->warp, row);
    return place;
}

static uint32_t find_kernel_track(struct table_rows *tables, const struct kernel_columns *kernel,
                                  const struct rbwp_rows *rows, uint32_t row)
{
    const struct kernel_place_row place = kernel_place(kernel, rows, row);
    uint32_t known = kernel_tracks_known(&tables->kernels, &place);
    if (known != TRACE_NONE)
        return known;
    uint32_t group_name = table_rows_label_of(tables, place.group);
    uint32_t gpu = tables->host.gpu_track(tables->host.context, place.processor);
    uint32_t found = kernel_tracks_find(&tables->kernels, gpu, &place,
                                        trace_label_of(tables->trace, group_name));
    tables->failed |= tables->kernels.failed;
    return found;
}

/* The track of a row, TRACE_NONE: it is not wanted. */
static uint32_t find_track(struct table_rows *tables, const struct table_shape *shape,
                           const struct rbwp_rows *rows, uint32_t row, int64_t start_ns)
{
    if (shape->kernel.table)
        return find_kernel_track(tables, &shape->kernel, rows, row);
    struct table_track key = {.value = cell(rows, shape->track, row),
                              .thread_id = cell(rows, shape->thread, row),
                              .column = TABLE_NO_COLUMN};
    const struct table_track *track =
        table_rows_track_of(tables, rows->schema, shape, key, start_ns);
    tables->failed |= !track;
    return track && track->wanted ? track->track : TRACE_NONE;
}

/* Blocks that share an SM, programs that share a unit, and threads do not enclose each other. */
static inline void mark_kernel_span(const struct kernel_columns *kernel,
                                    const struct rbwp_rows *rows, uint32_t row,
                                    struct trace_span *span)
{
    bool lanes = kernel->table == KERNEL_LANES;
    uint64_t kind = cell(rows, kernel->kind, row);
    span->parent =
        cell(rows, kernel->table == KERNEL_EVENTS ? kernel->program : kernel->block, row);
    if (kernel->table == KERNEL_BLOCKS)
        span->parent = span->parent * THREADS_MAX + cell(rows, kernel->thread, row);
    span->flags |= SPAN_GROUPED;
    bool instant = lanes ? kind == RBWP_LANE_INSTANT
                         : kernel->table == KERNEL_EVENTS && span->start_ns == span->stop_ns;
    if (instant)
        span->flags |= TRACE_INSTANT;
    if (lanes && kind == RBWP_LANE_UNENDED)
        span->flags |= TRACE_UNFINISHED;
}

/* Marks of the rows from first on, column by column. */
static void mark_rows(struct table_rows *tables, const struct table_shape *shape,
                      const struct rbwp_rows *rows, uint32_t first, struct row_marks *marks)
{
    const uint64_t *starts = rows->cells[shape->start];
    const struct trace_axis *axis = &tables->options->axis;
    uint64_t id = tables->host.new_ids(tables->host.context, rows->rows - first);
    for (uint32_t i = first; i < rows->rows; i++) {
        int64_t start_ns = (int64_t)starts[i], stop_ns = stop_of(shape, rows, i, start_ns);
        marks->id[i] = id++;
        marks->start_ns[i] = trace_on_axis(axis, start_ns);
        marks->stop_ns[i] = trace_on_axis(axis, stop_ns);
        bool wanted = !tables->filtered ||
                      tables->host.wanted(tables->host.context, cell(rows, shape->thread, i),
                                          start_ns, stop_ns);
        marks->track[i] = wanted ? find_track(tables, shape, rows, i, start_ns) : TRACE_NONE;
    }
    for (uint32_t i = first; i < rows->rows; i++)
        if (marks->track[i] != TRACE_NONE)
            marks->name[i] = span_name(tables, shape, rows, i);
}

/* What the row is, by its category's word. Work of an item waits only where it says of which. */
static void mark_category(struct table_rows *tables, const struct table_shape *shape,
                          const struct rbwp_rows *rows, uint32_t row, struct trace_span *span)
{
    const bool item = has_item(shape, rows, row);
    const uint32_t word = word_of(tables, rows, shape->category, row, shape->category_word);
    unsigned category = shape->category_meant;
    if (word != shape->category_word)
        category = table_category(trace_label_of(tables->trace, word));
    if (item)
        span->item = (uint32_t)rows->cells[shape->item][row];
    if (category == TRACE_WAIT)
        span->flags |= TRACE_WAITS;
    span->category = (uint8_t)(category == TRACE_QUEUED && !item ? TRACE_RANGE : category);
}

static inline void table_rows_make_span(struct table_rows *tables, const struct table_shape *shape,
                                        const struct rbwp_rows *rows, uint32_t row,
                                        const struct row_marks *marks, struct trace_span *span)
{
    *span = (struct trace_span){.start_ns = marks->start_ns[row],
                                .stop_ns = marks->stop_ns[row],
                                .id = marks->id[row],
                                .track = marks->track[row],
                                .name = marks->name[row],
                                .category = TRACE_RANGE,
                                .flags = shape->kind == TABLE_INSTANTS ? TRACE_INSTANT : 0};
    if (shape->kernel.table)
        mark_kernel_span(&shape->kernel, rows, row, span);
    if (table_rows_has(shape->category) || table_rows_has(shape->item))
        mark_category(tables, shape, rows, row, span);
}

/* From the thread that handed the work over to the call that took it up. */
static void link_queued(struct table_rows *tables, const struct table_shape *shape,
                        const struct rbwp_rows *rows, uint32_t row, const struct trace_span *span)
{
    const struct trace_axis *axis = &tables->options->axis;
    uint64_t from = cell(rows, shape->handed_by, row), thread = cell(rows, shape->thread, row);
    if (!from)
        return;
    uint32_t from_track =
        tables->host.thread_track(tables->host.context, from, trace_off_axis(axis, span->start_ns));
    uint32_t to_track = tables->host.thread_track(tables->host.context, thread,
                                                  trace_off_axis(axis, span->stop_ns));
    if (from_track != TRACE_NONE && to_track != TRACE_NONE)
        trace_add_link(tables->trace, (struct trace_link){.kind = TRACE_WAIT_FOR,
                                                          .from_track = from_track,
                                                          .from_ns = span->start_ns,
                                                          .to_track = to_track,
                                                          .to_ns = span->stop_ns});
}

static inline void table_rows_add_ends(struct table_rows *tables, const struct table_shape *shape,
                                       const struct rbwp_rows *rows, uint32_t row,
                                       const struct trace_span *span)
{
    if (table_rows_has(shape->message.key)) {
        struct trace_message_end end =
            message_rows_end(&shape->message, rows, row, &tables->options->axis, span);
        if (end.key)
            trace_add_message_end(tables->trace, &end);
        return;
    }
    if (table_rows_has(shape->handed_by) && has_item(shape, rows, row))
        link_queued(tables, shape, rows, row, span);
    if (!shape->from_space && !shape->to_space)
        return;
    table_rows_add_end(tables, shape, false, rows, row, span);
    table_rows_add_end(tables, shape, true, rows, row, span);
}

/* How long the thread that waited had been free to run, as a span of its own, and the link to that
 * from who signalled it. False: that is not known. */
static bool make_delay(struct table_rows *tables, const struct table_shape *shape,
                       const struct rbwp_rows *rows, uint32_t row, struct trace_span *wait,
                       struct trace_span *delay_out)
{
    struct wait_wake wake;
    if (!wait_rows_wake(&shape->wait, rows, row, wait, &wake))
        return false;
    *delay_out = wake.delay;
    delay_out->id = tables->host.new_ids(tables->host.context, 1);
    delay_out->name = trace_add_name(tables->trace, "queue delay", 11);
    uint32_t waker =
        tables->host.thread_track(tables->host.context, wake.waker,
                                  trace_off_axis(&tables->options->axis, wake.delay.start_ns));
    if (waker != TRACE_NONE)
        trace_add_link(tables->trace, (struct trace_link){.kind = TRACE_WAKE,
                                                          .from_track = waker,
                                                          .from_ns = delay_out->start_ns,
                                                          .to_track = delay_out->track,
                                                          .to_ns = delay_out->start_ns,
                                                          .to_span = delay_out->id});
    return true;
}

static void sort_rows(struct table_rows *tables, const struct table_shape *shape,
                      const struct rbwp_rows *rows)
{
    struct row_marks *marks = &tables->marks;
    struct trace_span span, delay;
    bool clips = shape->kind == TABLE_SPANS && tables->filtered;
    if (!row_marks_reserve(marks, rows->rows)) {
        tables->failed = true;
        return;
    }
    mark_rows(tables, shape, rows, 0, marks);
    for (uint32_t i = 0; i < rows->rows && !tables->failed; i++) {
        if (marks->track[i] == TRACE_NONE)
            continue;
        table_rows_make_span(tables, shape, rows, i, marks, &span);
        bool delayed =
            table_rows_has(shape->wait.waker) && make_delay(tables, shape, rows, i, &span, &delay);
        if (clips && !tables->host.clip(tables->host.context, &span))
            continue;
        table_rows_add_ends(tables, shape, rows, i, &span);
        span_sorter_add(&tables->spans, &span, make_detail(tables, shape, rows, i, &span));
        if (delayed && (!clips || tables->host.clip(tables->host.context, &delay)))
            span_sorter_add(&tables->spans, &delay, NULL);
    }
}

/* ---- rows that come nearly in order --------------------------------------------- */

/* NULL without memory. */
static inline struct span_place *table_rows_place_of(struct table_rows *tables, uint32_t track)
{
    uint32_t number = track - tables->first_track;
    if (number < tables->place_room || GROW_ZEROED(tables->places, tables->place_room, number + 1))
        return &tables->places[number];
    return NULL;
}

static bool make_batch(struct table_rows *tables)
{
    if (!tables->batch && (tables->batch = calloc(1, sizeof *tables->batch)))
        tables->batch->trace = tables->trace;
    return tables->batch;
}

static void pass_ready(struct table_rows *tables, const struct table_shape *shape,
                       const struct rbwp_rows *rows, bool all)
{
    uint32_t count;
    struct trace_span span, delay;
    const struct row_marks *marks = row_stream_marks(shape->stream);
    const uint32_t *ready = row_stream_ready(shape->stream, all, &count);
    if (!ready || !make_batch(tables)) {
        tables->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count && !tables->failed; i++) {
        struct span_place *place = table_rows_place_of(tables, marks->track[ready[i]]);
        table_rows_make_span(tables, shape, rows, ready[i], marks, &span);
        bool delayed = table_rows_has(shape->wait.waker) &&
                       make_delay(tables, shape, rows, ready[i], &span, &delay);
        table_rows_add_ends(tables, shape, rows, ready[i], &span);
        const struct trace_detail *detail = make_detail(tables, shape, rows, ready[i], &span);
        if (place)
            span_batch_add(tables->batch, place, &span, detail);
        if (place && delayed)
            span_batch_add(tables->batch, place, &delay, NULL);
        tables->failed |= !place;
    }
    span_batch_pass(tables->batch);
    tables->failed |= !row_stream_drop(shape->stream);
}

static void stream_rows(struct table_rows *tables, const struct table_shape *shape,
                        const struct rbwp_rows *block)
{
    uint32_t first;
    const struct rbwp_rows *rows = row_stream_add(shape->stream, block, &first);
    if (!rows) {
        tables->failed = true;
        return;
    }
    mark_rows(tables, shape, rows, first, row_stream_marks(shape->stream));
    pass_ready(tables, shape, rows, false);
}

static void pass_left(struct table_rows *tables)
{
    for (uint32_t i = 0; i < tables->shape_room; i++) {
        struct table_shape *shape = tables->shapes[i];
        const struct rbwp_rows *left =
            shape && shape->stream ? row_stream_left(shape->stream) : NULL;
        if (left)
            pass_ready(tables, shape, left, true);
    }
}

/* ---- all rows ---------------------------------------------------------------- */

void table_rows_take(struct table_rows *tables, const struct rbwp_catalog *catalog,
                     const struct rbwp_rows *rows)
{
    tables->catalog = catalog;
    struct table_shape *shape = shape_of(tables, rows->schema);
    if (!shape) {
        tables->failed = true;
        return;
    }
    switch (shape->kind) {
    case TABLE_COUNTERS:
        for (uint32_t i = 0; i < shape->counter_count; i++)
            table_rows_take_counter(tables, shape, rows, shape->counters[i]);
        break;
    case TABLE_SPANS:
    case TABLE_INSTANTS:
        (shape->stream ? stream_rows : sort_rows)(tables, shape, rows);
        break;
    case TABLE_UNKNOWN:
        if (tables->filtered)
            trace_add_unjudged_rows(tables->trace, rows->rows);
        else
            trace_add_rows(tables->trace, &(struct trace_rows){.table = shape->table,
                                                               .rows = rows,
                                                               .catalog = catalog,
                                                               .axis = &tables->options->axis});
    }
}

bool table_rows_finish(struct table_rows *tables)
{
    pass_left(tables);
    span_sorter_finish(&tables->spans, tables->trace);
    return sample_sorter_finish(&tables->samples, tables->trace) && !tables->spans.failed;
}
