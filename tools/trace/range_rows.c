/* SPDX-License-Identifier: Apache-2.0 */
/* Halves of ranges are sorted by their number, so that those of one come together. */
#include "range_rows.h"
#include "message.h"
#include "rbwp_annotate.h"
#include "sorted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_MARK = 2, KIND_STOP = 16 }; /* SPEC.md, 9.3 */
enum { ANNOTATED_MAX = 4 << 20 };       /* ranges; what is beyond is reported */
enum { KEY_ID, KEY_RANGE, KEY_PARENT, KEY_PAYLOAD, KEY_WORKS };
static const char *const range_rows_key_names[] = {"id", "range", "parent", "payload", "works"};

struct range_row {
    uint64_t cell[COLUMNS_range]; /* name: as a label */
    uint64_t order;               /* of coming */
};

static int range_rows_compare(const void *left, const void *right)
{
    const struct range_row *a = left, *b = right;
    SORTED_BY(a, b, cell[AT_range_range]);
    bool a_stops = a->cell[AT_range_kind] >= KIND_STOP,
         b_stops = b->cell[AT_range_kind] >= KIND_STOP;
    if (a_stops != b_stops)
        return a_stops ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

static const struct merge_order halves_order = {"ranges", sizeof(struct range_row),
                                                MERGE_SORTER_NO_PAYLOAD, range_rows_compare};

void range_rows_start(struct range_rows *ranges)
{
    const struct rbwp_annotator_config config = {.size = sizeof config,
                                                 .requested = RBWP_ACTIVITIES_ANNOTATED,
                                                 .outer = !ranges->options->innermost,
                                                 .entries_max = ANNOTATED_MAX};
    merge_sorter_start(&ranges->halves, &halves_order);
    span_sorter_start(&ranges->spans);
    ranges->failed = rbwp_annotator_new(&config, &ranges->annotator) != RBWP_OK;
}

void range_rows_stop(struct range_rows *ranges)
{
    merge_sorter_stop(&ranges->halves);
    span_sorter_stop(&ranges->spans);
    span_detail_free(&ranges->detail);
    thread_map_free(&ranges->threads);
    free(ranges->tracks);
    free(ranges->names);
    rbwp_annotator_free(ranges->annotator);
}

/* ---- spans ------------------------------------------------------------------ */

static uint32_t range_rows_key(struct range_rows *ranges, unsigned which)
{
    uint32_t *known = &ranges->keys[which];
    if (!*known)
        *known = trace_add_label(ranges->trace, range_rows_key_names[which],
                                 (uint32_t)strlen(range_rows_key_names[which]));
    return *known - 1;
}

static void range_rows_report(struct range_rows *ranges, unsigned which, enum trace_arg_type type,
                              uint64_t value)
{
    span_detail_arg(&ranges->detail, range_rows_key(ranges, which), type, value);
}

/* The number of a name of the trace. */
static uint32_t range_rows_name_of(struct range_rows *ranges, uint64_t label)
{
    return label ? (uint32_t)label - 1 : trace_add_name(ranges->trace, "unnamed", 7);
}

static uint32_t range_rows_add_track(struct range_rows *ranges, uint32_t above)
{
    const struct trace_track made = {
        .process = ranges->process, .kind = TRACE_TABLE, .id = 0, .name = trace_text("ranges")};
    return trace_add_track_below(ranges->trace, above, made);
}

/* TRACE_NONE: it is not wanted. */
static uint32_t range_rows_track_of(struct range_rows *ranges, uint64_t thread_id, int64_t time_ns)
{
    uint32_t above = ranges->host.thread_track(ranges->host.context, thread_id, time_ns);
    if (above == TRACE_NONE)
        return TRACE_NONE;
    uint32_t number = thread_map_place(&ranges->threads, thread_id, &ranges->tracks,
                                       &ranges->track_room, sizeof *ranges->tracks);
    if (number == THREAD_NONE) {
        ranges->failed = true;
        return TRACE_NONE;
    }
    if (!ranges->tracks[number])
        ranges->tracks[number] = 1 + range_rows_add_track(ranges, above);
    return ranges->tracks[number] - 1;
}

static void emit_range(struct range_rows *ranges, const uint64_t *cell)
{
    static const uint8_t types[] = {TRACE_ARG_U64, TRACE_ARG_U64, TRACE_ARG_I64, TRACE_ARG_F64};
    span_detail_start(&ranges->detail);
    range_rows_report(ranges, KEY_ID, TRACE_ARG_U64, cell[AT_range_id]);
    range_rows_report(ranges, KEY_RANGE, TRACE_ARG_U64, cell[AT_range_range]);
    if (cell[AT_range_parent])
        range_rows_report(ranges, KEY_PARENT, TRACE_ARG_U64, cell[AT_range_parent]);
    if (cell[AT_range_payload_type] && cell[AT_range_payload_type] < sizeof types)
        range_rows_report(ranges, KEY_PAYLOAD, types[cell[AT_range_payload_type]],
                          cell[AT_range_payload]);
}

static void emit(struct range_rows *ranges, const uint64_t *cell, uint8_t flags)
{
    const int64_t start_ns = (int64_t)cell[AT_range_start];
    const int64_t stop_ns =
        (int64_t)cell[AT_range_stop] > start_ns ? (int64_t)cell[AT_range_stop] : start_ns;
    const struct trace_axis *axis = &ranges->options->axis;
    if (ranges->filtered &&
        !ranges->host.wanted(ranges->host.context, cell[AT_range_thread], start_ns, stop_ns))
        return;
    uint32_t track = range_rows_track_of(ranges, cell[AT_range_thread], start_ns);
    struct trace_span span = {.start_ns = trace_on_axis(axis, start_ns),
                              .stop_ns = trace_on_axis(axis, stop_ns),
                              .track = track,
                              .category = TRACE_RANGE,
                              .flags = flags};
    if (track == TRACE_NONE || (ranges->filtered && !(flags & TRACE_INSTANT) &&
                                !ranges->host.clip(ranges->host.context, &span)))
        return;
    span.id = ranges->host.new_ids(ranges->host.context, 1);
    span.name = range_rows_name_of(ranges, cell[AT_range_name]);
    emit_range(ranges, cell);
    span_sorter_add(&ranges->spans, &span, span_detail_finish(&ranges->detail));
    ranges->failed |= ranges->detail.failed;
}

/* ---- rows ------------------------------------------------------------------- */

/* Of a name of the file; 0 for none. */
static uint32_t range_rows_label_of(struct range_rows *ranges, const struct rbwp_catalog *catalog,
                                    uint64_t number)
{
    if (number == 0 || number >= UINT32_MAX)
        return 0;
    if (!GROW_ZEROED(ranges->names, ranges->name_room, (uint32_t)number + 1)) {
        ranges->failed = true;
        return 0;
    }
    uint32_t *label = &ranges->names[number];
    if (!*label) {
        struct rbwp_text text = rbwp_catalog_name(catalog, number);
        *label = trace_add_label(ranges->trace, text.text, text.bytes);
    }
    return *label;
}

static void take_range_row(struct range_rows *ranges, const struct range_row *row)
{
    const uint64_t *cell = row->cell;
    if (cell[AT_range_kind] == KIND_MARK) {
        emit(ranges, cell, TRACE_INSTANT);
        return;
    }
    if (ranges->annotator)
        rbwp_annotator_range(ranges->annotator,
                             &(struct rbwp_annotate_range){.id = cell[AT_range_range],
                                                           .parent = cell[AT_range_parent],
                                                           .name = cell[AT_range_name],
                                                           .tag = cell[AT_range_id]});
    if (cell[AT_range_kind] >= KIND_STOP || !cell[AT_range_stop])
        merge_sorter_add(&ranges->halves, row, NULL);
    else
        emit(ranges, cell, 0);
}

bool range_rows_take(struct range_rows *ranges, const struct rbwp_catalog *catalog,
                     const struct rbwp_rows *rows)
{
    const uint64_t *cells[COLUMNS_range];
    ranges->annotated |= table_is(rows->schema, KNOWN_annotation);
    if (!table_bind_rows(rows, KNOWN_range, cells))
        return false;
    for (uint32_t i = 0; i < rows->rows && !ranges->failed; i++) {
        struct range_row row = {.order = rows->first_row + i};
        for (unsigned c = 0; c < COLUMNS_range; c++)
            row.cell[c] = table_cell(cells[c], i);
        row.cell[AT_range_name] = range_rows_label_of(ranges, catalog, row.cell[AT_range_name]);
        take_range_row(ranges, &row);
    }
    return true;
}

/* ---- ranges of two rows -------------------------------------------------------- */

struct pairing {
    struct range_rows *ranges;
    struct range_row open;
    bool any;
};

/* Nobody said when it ended: it lasted as long as the session did. */
static void emit_open(struct pairing *pairing)
{
    const struct range_rows *ranges = pairing->ranges;
    uint64_t *cell = pairing->open.cell;
    if (!pairing->any)
        return;
    const bool open = (int64_t)cell[AT_range_start] >= ranges->unsure_ns;
    cell[AT_range_stop] = (uint64_t)(open ? ranges->last_ns : (int64_t)cell[AT_range_start]);
    emit(pairing->ranges, cell, TRACE_UNFINISHED | (open ? TRACE_OPEN : 0));
    pairing->any = false;
}

static bool pair(void *context, const void *item, const uint64_t *payload)
{
    struct pairing *pairing = context;
    struct range_row row = *(const struct range_row *)item;
    (void)payload;
    if (row.cell[AT_range_kind] < KIND_STOP) {
        emit_open(pairing);
        pairing->open = row;
        pairing->any = true;
    } else if (pairing->any && pairing->open.cell[AT_range_range] == row.cell[AT_range_range]) {
        pairing->open.cell[AT_range_stop] = row.cell[AT_range_stop];
        emit(pairing->ranges, pairing->open.cell, 0);
        pairing->any = false;
    } else {
        emit_open(pairing);
        emit(pairing->ranges, row.cell, 0);
    }
    return !trace_is_full(pairing->ranges->trace);
}

/* ---- annotations ---------------------------------------------------------------- */

void range_rows_work(struct range_rows *ranges, const struct gpu_fact *fact,
                     const struct trace_span *span)
{
    if (!fact->range || !ranges->annotator)
        return;
    rbwp_annotator_activity(ranges->annotator, &(struct rbwp_annotate_activity){
                                                   .kind = RBWP_ACTIVITY_KERNEL,
                                                   .device = fact->proc_id,
                                                   .stream = fact->stream,
                                                   .range = fact->range,
                                                   .start_ns = span->start_ns,
                                                   .stop_ns = span->stop_ns,
                                               });
}

/* Annotations come by GPU and stream. */
static uint32_t stream_track(struct range_rows *ranges, const struct rbwp_annotation *annotation)
{
    char name[48];
    if (ranges->any_stream && ranges->stream_gpu == annotation->device &&
        ranges->stream == annotation->stream)
        return ranges->stream_track;
    snprintf(name, sizeof name, "stream %" PRIu64, annotation->stream);
    ranges->any_stream = true;
    ranges->stream_gpu = annotation->device;
    ranges->stream = annotation->stream;
    ranges->stream_track = trace_add_track_below(
        ranges->trace, ranges->host.gpu_track(ranges->host.context, annotation->device),
        (struct trace_track){.process = ranges->process,
                             .kind = TRACE_STREAM,
                             .id = annotation->stream,
                             .name = trace_text(name)});
    return ranges->stream_track;
}

static void annotate(struct range_rows *ranges, const struct rbwp_annotation *annotation)
{
    const struct trace_span span = {.start_ns = annotation->start_ns,
                                    .stop_ns = annotation->stop_ns,
                                    .id = ranges->host.new_ids(ranges->host.context, 1),
                                    .track = stream_track(ranges, annotation),
                                    .name = range_rows_name_of(ranges, annotation->name),
                                    .category = TRACE_ANNOTATION};
    span_detail_start(&ranges->detail);
    range_rows_report(ranges, KEY_ID, TRACE_ARG_U64, annotation->tag);
    range_rows_report(ranges, KEY_RANGE, TRACE_ARG_U64, annotation->range);
    range_rows_report(ranges, KEY_WORKS, TRACE_ARG_U64, annotation->activities);
    span_sorter_add(&ranges->spans, &span, span_detail_finish(&ranges->detail));
    ranges->failed |= ranges->detail.failed;
}

static void annotate_all(struct range_rows *ranges)
{
    const struct rbwp_annotation *annotations;
    struct rbwp_annotate_counts counts;
    size_t count;
    if (!ranges->annotator || ranges->annotated)
        return;
    if (rbwp_annotator_finish(ranges->annotator, &annotations, &count) != RBWP_OK)
        ranges->failed = true;
    for (size_t i = 0; i < count && !trace_is_full(ranges->trace); i++)
        annotate(ranges, &annotations[i]);
    rbwp_annotator_counts(ranges->annotator, &counts);
    if (counts.lost_ranges || counts.lost_annotations)
        message("ranges are too many to show the GPU work of each: %" PRIu64 " are dropped",
                counts.lost_ranges + counts.lost_annotations);
}

bool range_rows_finish(struct range_rows *ranges)
{
    struct pairing pairing = {.ranges = ranges};
    merge_sorter_finish(&ranges->halves, pair, &pairing);
    emit_open(&pairing);
    annotate_all(ranges);
    span_sorter_finish(&ranges->spans, ranges->trace);
    return !ranges->halves.failed && !ranges->spans.failed;
}
