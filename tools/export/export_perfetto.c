/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native Perfetto traces.
 *
 * Each lane of a track is a packet sequence of its own: its first packet sets
 * a clock that counts on from event to event and the track that events belong
 * to, so that an event is little more than its time and the number of its
 * name, which is written once a sequence. A span is two events; what is open on a
 * lane is kept on a stack until a later span, or the end, shows that it has
 * ended. Only the few spans that have a detail are put together field by
 * field.
 *
 * Times are those since 1970; a viewer takes them for BOOTTIME, and learns
 * that REALTIME is the same. There is none before 1970: such times become 0.
 */
#include "message.h"
#include "own_keys.h"
#include "perfetto_trace.h"
#include "trace_span.h"

#include <stdlib.h>

/* ---- events ----------------------------------------------------------------------- */

/* Begins an event; its fields come next, behind a length of one byte. */
static inline uint8_t *begin_event(struct packets *packets, const struct lane_state *lane)
{
    uint8_t *at = packet_room(packets, EVENT_BYTES_MAX);
    packet_mark(packets, at);
    *at = PF_TRACE_PACKET << 3 | PB_BYTES;
    memcpy(at + 2, lane->head, HEAD_BYTES_MAX);
    return at + 2 + lane->head_bytes + 1;
}

/* Ends the fields and writes the time, on the lane's clock if that has not passed it. */
static inline void perfetto_end_event(struct packets *packets, struct lane_state *lane,
                                      uint8_t *fields, uint8_t *at, int64_t time_ns)
{
    uint8_t *packet = packets->next;
    fields[-1] = (uint8_t)(at - fields);
    if (time_ns >= lane->last_ns) {
        at = pb_tag(at, PF_PACKET_TIMESTAMP, PB_VARINT);
        packet_mark(packets, at);
        at = store_varint(at, (uint64_t)(time_ns - lane->last_ns));
        lane->last_ns = time_ns;
    } else {
        at = pb_u64(at, PF_PACKET_TIMESTAMP_CLOCK, PF_BOOTTIME);
        at = pb_u64(at, PF_PACKET_TIMESTAMP, (uint64_t)time_ns);
    }
    packet[1] = (uint8_t)(at - packet - 2);
    packet_put(packets, at);
}

static void close_spans(struct perfetto *perfetto, struct lane_state *lane, int64_t until_ns)
{
    struct packets *packets = &perfetto->file.packets;
    while (lane->depth && lane->open[lane->depth - 1] <= until_ns) {
        uint8_t *fields = begin_event(packets, lane);
        uint8_t *at = pb_u64(fields, PF_EVENT_TYPE, PF_SLICE_END);
        perfetto_end_event(packets, lane, fields, at, lane->open[--lane->depth]);
    }
}

static uint8_t *put_annotation(uint8_t *at, enum annotation name, enum pf_annotation kind,
                               uint64_t value)
{
    uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
    at = pb_u64(annotation, PF_ANNOTATION_NAME_IID, name);
    return pb_close(annotation, pb_u64(at, kind, value));
}

/* What every span has. */
static inline uint8_t *perfetto_put_span(const struct perfetto *perfetto, uint8_t *at,
                                         const struct trace_span *span)
{
    bool instant = span->flags & TRACE_INSTANT;
    const char *key = own_key_of_item(span->category, span->item);
    at = pb_u64(at, PF_EVENT_TYPE, instant ? PF_INSTANT : PF_SLICE_BEGIN);
    at = pb_u64(at, PF_EVENT_NAME_IID, (uint64_t)span->name + 1);
    at = pb_u64(at, PF_EVENT_CATEGORY_IID, span->category + 1u);
    if (pending_links_launch(&perfetto->links, span->id))
        at = pb_fixed64(at, PF_EVENT_FLOW_END, arrow_number(span->id));
    if (span->flags & TRACE_UNFINISHED)
        at = put_annotation(at, ANNOTATION_UNFINISHED, PF_ANNOTATION_BOOL, 1);
    if (span->flags & TRACE_OPEN)
        at = put_annotation(at, ANNOTATION_OPEN, PF_ANNOTATION_BOOL, 1);
    if (span->flags & TRACE_RAN)
        at = perfetto_put_number(at, "ran", PF_ANNOTATION_BOOL, 1);
    if (key)
        at = put_annotation(at, *key == 's' ? ANNOTATION_SLOT : ANNOTATION_ITEM, PF_ANNOTATION_UINT,
                            span->item);
    return at;
}

/* A packet of any length. */
static void write_detailed(struct perfetto *perfetto, struct lane_state *lane,
                           const struct trace_span *span, const struct trace_detail *detail,
                           const struct pending_link *link)
{
    enum { LINKS_MAX = 256, LINK_BYTES = 10 };
    struct packets *packets = &perfetto->file.packets;
    int64_t time_ns = (int64_t)clock_ns(span->start_ns);
    size_t texts = detail ? perfetto_detail_bytes(perfetto, detail) : 0;
    uint8_t *at =
        begin_packet(packets, texts + LINKS_MAX * LINK_BYTES, lane->sequence, PF_NEEDS_STATE);
    if (time_ns >= lane->last_ns) {
        at = pb_u64(at, PF_PACKET_TIMESTAMP, (uint64_t)(time_ns - lane->last_ns));
        lane->last_ns = time_ns;
    } else {
        at = pb_u64(at, PF_PACKET_TIMESTAMP_CLOCK, PF_BOOTTIME);
        at = pb_u64(at, PF_PACKET_TIMESTAMP, (uint64_t)time_ns);
    }
    uint8_t *event = pb_open(at, PF_PACKET_TRACK_EVENT);
    at = perfetto_put_span(perfetto, event, span);
    for (int i = 0; link; link = pending_links_next(&perfetto->links, link), i++)
        if (i < LINKS_MAX)
            at = pb_fixed64(at, PF_EVENT_FLOW_END, arrow_number(link->number));
        else
            perfetto->dropped.links++;
    if (detail)
        at = perfetto_put_details(perfetto, at, span, detail);
    end_packet(packets, pb_close(event, at));
}

static void open_span(struct perfetto *perfetto, struct lane_state *lane,
                      const struct trace_span *span, const struct trace_detail *detail)
{
    struct packets *packets = &perfetto->file.packets;
    const struct pending_link *link = pending_links_of(&perfetto->links, span->id);
    if (detail || link) {
        write_detailed(perfetto, lane, span, detail, link);
    } else {
        uint8_t *fields = begin_event(packets, lane);
        uint8_t *at = perfetto_put_span(perfetto, fields, span);
        perfetto_end_event(packets, lane, fields, at, (int64_t)clock_ns(span->start_ns));
    }
    if (span->flags & TRACE_INSTANT)
        return;
    if (lane->depth < lane->room || GROW_ZEROED(lane->open, lane->room, lane->depth + 1))
        lane->open[lane->depth++] = (int64_t)clock_ns(span->stop_ns);
    else
        trace_pass_fail(perfetto->pass);
}

static void perfetto_on_spans(void *context, const struct trace_span *spans, size_t count,
                              const struct trace_details *details)
{
    struct perfetto *perfetto = context;
    struct row *row = &perfetto->rows[spans[0].track];
    row->has_spans = true;
    for (size_t i = 0; i < count && !perfetto->pass->failed; i++) {
        const struct trace_span *span = &spans[i];
        struct lane_state *lane = span->row < row->lane_count ? &row->lanes[span->row] : NULL;
        if (!lane || !lane->sequence)
            lane = perfetto_lane(perfetto, span->track, span->row, span->start_ns);
        if (!lane)
            return;
        perfetto_intern_name(perfetto, lane, span->name);
        close_spans(perfetto, lane, span->start_ns);
        open_span(perfetto, lane, span, trace_detail_of(details, span));
    }
}

static void perfetto_on_samples(void *context, uint32_t track, const struct trace_sample *samples,
                                size_t count)
{
    struct perfetto *perfetto = context;
    struct packets *packets = &perfetto->file.packets;
    struct lane_state *lane = perfetto_lane(perfetto, track, 0, samples[0].time_ns);
    for (size_t i = 0; lane && i < count; i++) {
        uint8_t *fields = begin_event(packets, lane);
        uint8_t *at = pb_u64(fields, PF_EVENT_TYPE, PF_COUNTER);
        uint64_t bits;
        memcpy(&bits, &samples[i].value, sizeof bits);
        at = samples[i].whole ? pb_u64(at, PF_EVENT_COUNTER, bits)
                              : pb_fixed64(at, PF_EVENT_COUNTER_DOUBLE, bits);
        perfetto_end_event(packets, lane, fields, at, (int64_t)clock_ns(samples[i].time_ns));
    }
}

/* ---- begin and end ------------------------------------------------------------------- */

static bool perfetto_begin(struct trace_pass *pass)
{
    struct perfetto *perfetto = calloc(1, sizeof *perfetto);
    if (!perfetto)
        return message_fail("out of memory");
    if (!packet_file_start(&perfetto->file, &pass->out, pass->threads,
                           !export_options_of(pass)->no_deflate)) {
        free(perfetto);
        return false;
    }
    perfetto->pass = pass;
    pass->state = perfetto;
    pass->sink = (struct trace_sink){
        .context = perfetto,
        .process = perfetto_take_process,
        .track = perfetto_take_track,
        .spans = perfetto_on_spans,
        .samples = perfetto_on_samples,
        .link = perfetto_take_link,
        .loss = perfetto_take_loss,
        .fact = perfetto_take_fact,
        .full = trace_pass_is_full,
    };
    return true;
}

/* It comes as any track does, after all others. */
static void add_critical_path(struct perfetto *perfetto)
{
    const struct export_options *options = export_options_of(perfetto->pass);
    struct trace *trace = perfetto->pass->trace;
    if (!options->piece_count)
        return;
    const uint32_t track = trace_add_track(
        trace, (struct trace_track){.kind = TRACE_TABLE, .name = trace_text("critical path")});
    for (uint32_t i = 0; i < options->piece_count && track < perfetto->row_count; i++) {
        const struct export_piece *piece = &options->pieces[i];
        const struct trace_span span = {
            .start_ns = piece->start_ns,
            .stop_ns = piece->start_ns + (int64_t)piece->duration_ns,
            .track = track,
            .name = trace_add_name(trace, piece->text, (uint32_t)strlen(piece->text)),
            .category = TRACE_RANGE};
        perfetto_on_spans(perfetto, &span, 1, NULL);
    }
}

static enum exit_code perfetto_end(struct trace_pass *pass)
{
    struct perfetto *perfetto = pass->state;
    if (pass->trace)
        add_critical_path(perfetto);
    for (uint32_t i = 0; i < perfetto->row_count; i++) {
        struct row *row = &perfetto->rows[i];
        for (uint32_t lane = 0; lane < row->lane_count; lane++) {
            close_spans(perfetto, &row->lanes[lane], INT64_MAX);
            free(row->lanes[lane].open);
        }
        free(row->lanes);
    }
    if (pass->trace)
        perfetto_write_facts(perfetto);
    dropped_report(pass, "perfetto", perfetto->dropped);
    if (perfetto->text.failed)
        trace_pass_fail(perfetto->pass);
    bool whole = packet_file_finish(&perfetto->file) && !perfetto->pass->failed;
    viewer_ids_free(&perfetto->ids);
    viewer_text_free(&perfetto->text);
    pending_links_free(&perfetto->links);
    kept_facts_free(&perfetto->facts);
    free(perfetto->interned.keys);
    index_map_free(&perfetto->interned.places);
    free(perfetto->rows);
    free(perfetto->pids);
    free(perfetto);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

const struct exporter exporter_perfetto = {
    .name = "perfetto",
    .suffixes = ".pftrace .perfetto-trace",
    .summary = "Perfetto's own format, for its viewer and SQL",
    .binary = true,
    .has_path = true,
    .maker.stacks = TRACE_STACK_ARGUMENTS,
    .maker.begin = perfetto_begin,
    .maker.end = perfetto_end,
};
