/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native Perfetto traces.
 *
 * Each lane of a track is a packet sequence of its own: its first packet sets
 * a clock that counts on from event to event and the track that events belong
 * to, so that an event is little more than its time and the number of its
 * name, which is told once a sequence. A span is two events; what is open on a
 * lane is kept on a stack until a later span, or the end, shows that it has
 * ended.
 *
 * Times are those since 1970; a viewer takes them for BOOTTIME, and is told
 * that REALTIME is the same. There is none before 1970: such times become 0.
 *
 * An arrow leads from an instant on the launching track to the span itself;
 * its number is the span's. Instants are written last, where the span that
 * they are in is known. Links to a track whose spans were written before end
 * in an instant, too.
 */
#include "export.h"
#include "linked_spans.h"
#include "message.h"
#include "packet_file.h"
#include "perfetto_proto.h"
#include "thread_map.h"
#include "viewer_ids.h"
#include "viewer_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Sequences that belong to no lane. */
enum { SEQUENCE_DESCRIPTORS = 1, SEQUENCE_LAST, SEQUENCE_LANES };

enum annotation { ANNOTATION_UNFINISHED = 1, ANNOTATION_SLOT, ANNOTATION_OPEN };

/* Of one event, its time included, without texts; of anything else without texts. */
enum { EVENT_BYTES_MAX = 96, HEAD_BYTES_MAX = 16, OTHER_BYTES_MAX = 1024 };
enum {
    NAME_BYTES_MAX = UINT16_MAX,
    TEXT_BYTES_MAX = 8 << 10,
    NAME_SHOWN_MAX = 1024
}; /* longer ones are cut */

struct lane_state {
    uint32_t sequence; /* 0: nothing was written yet */
    uint8_t head_bytes;
    uint8_t head[HEAD_BYTES_MAX]; /* what all its events begin with */
    int64_t last_ns;              /* of its clock */
    int64_t *open;                /* stops of open spans, outermost first */
    uint32_t depth, room;
};

struct row {
    uint32_t lane_count;
    struct lane_state *lanes;
    bool has_spans;
};

/* Which names a sequence was told: a hash table of sequence and name + 1; 0 is a free cell. */
struct told_names {
    uint64_t *cells;
    uint64_t count, cell_count;
};

struct perfetto {
    struct trace_pass *pass;
    struct packet_file file;
    struct row *rows; /* by track */
    uint32_t row_count, pid_count;
    uint32_t *pids; /* by process */
    uint32_t sequences;
    struct viewer_ids ids;
    struct viewer_text text;
    struct linked_spans linked;
    struct told_names told;
    bool failed, last_started;
};

static void fail(struct perfetto *perfetto)
{
    if (!perfetto->failed)
        message("out of memory; the rest is left out");
    perfetto->failed = true;
}

static uint64_t clock_ns(int64_t time_ns)
{
    return time_ns < 0 ? 0 : (uint64_t)time_ns;
}

static uint64_t process_uuid(uint32_t process)
{
    return UINT64_C(1) << 61 | process;
}
static uint64_t lane_uuid(uint32_t track, uint32_t lane)
{
    return UINT64_C(1) << 62 | (uint64_t)track << 16 | lane;
}

/* ---- packets other than events ------------------------------------------------------ */

static uint8_t *put_text(struct perfetto *perfetto, uint8_t *at, unsigned field,
                         struct trace_text text, uint32_t bytes_max)
{
    text.bytes = text.bytes < bytes_max ? text.bytes : bytes_max;
    struct trace_text made = viewer_text(&perfetto->text, text);
    return pb_bytes(at, field, made.text, made.bytes);
}

/* Begins a packet whose texts have at most text_bytes; pb_close ends it. */
static uint8_t *begin_packet(struct packets *packets, size_t text_bytes, unsigned sequence,
                             unsigned flags)
{
    uint8_t *at = packet_room(packets, OTHER_BYTES_MAX + 3 * text_bytes);
    at = pb_u64(pb_open(at, PF_TRACE_PACKET), PF_PACKET_SEQUENCE, sequence);
    return flags ? pb_u64(at, PF_PACKET_SEQUENCE_FLAGS, flags) : at;
}
static void end_packet(struct packets *packets, uint8_t *end)
{
    packet_put(packets, pb_close(packets->next + 4, end));
}

static uint8_t *put_clock(uint8_t *at, unsigned id, uint64_t time_ns, bool incremental)
{
    uint8_t *clock = pb_open(at, PF_SNAPSHOT_CLOCK);
    at = pb_u64(clock, PF_CLOCK_ID, id);
    at = pb_u64(at, PF_CLOCK_TIMESTAMP, time_ns);
    if (incremental)
        at = pb_u64(at, PF_CLOCK_INCREMENTAL, 1);
    return pb_close(clock, at);
}

static void write_clocks(struct perfetto *perfetto)
{
    struct packets *packets = &perfetto->file.packets;
    uint64_t origin_ns = clock_ns(trace_origin_ns(perfetto->pass->trace));
    uint8_t *at = begin_packet(packets, 0, SEQUENCE_DESCRIPTORS, PF_STATE_CLEARED);
    uint8_t *snapshot = pb_open(at, PF_PACKET_CLOCK_SNAPSHOT);
    at = put_clock(snapshot, PF_BOOTTIME, origin_ns, false);
    at = put_clock(at, PF_REALTIME, origin_ns, false);
    at = pb_u64(at, PF_SNAPSHOT_PRIMARY, PF_BOOTTIME);
    end_packet(packets, pb_close(snapshot, at));
}

static void take_process(void *context, const struct trace_process *process)
{
    struct perfetto *perfetto = context;
    struct packets *packets = &perfetto->file.packets;
    if (process->number == 0)
        write_clocks(perfetto);
    if (!thread_array_grow(&perfetto->pids, &perfetto->pid_count, process->number + 1,
                           sizeof *perfetto->pids)) {
        fail(perfetto);
        return;
    }
    uint32_t pid = viewer_pid(&perfetto->ids, process->os_id);
    perfetto->pids[process->number] = pid;
    uint8_t *at = begin_packet(packets, 4 * TEXT_BYTES_MAX, SEQUENCE_DESCRIPTORS, 0);
    uint8_t *track = pb_open(at, PF_PACKET_TRACK_DESCRIPTOR);
    at = pb_u64(track, PF_TRACK_UUID, process_uuid(process->number));
    at = pb_u64(at, PF_TRACK_CHILD_ORDERING, PF_ORDER_EXPLICIT);
    uint8_t *inside = pb_open(at, PF_TRACK_PROCESS);
    at = pb_u64(inside, PF_PROCESS_PID, pid);
    at = put_text(perfetto, at, PF_PROCESS_NAME, process->name, TEXT_BYTES_MAX);
    if (process->command.bytes)
        at = put_text(perfetto, at, PF_PROCESS_COMMAND, process->command, TEXT_BYTES_MAX);
    if (process->host.bytes)
        at = put_text(perfetto, at, PF_PROCESS_LABEL, process->host, TEXT_BYTES_MAX);
    if (process->source.bytes)
        at = put_text(perfetto, at, PF_PROCESS_LABEL, process->source, TEXT_BYTES_MAX);
    at = pb_close(inside, at);
    end_packet(packets, pb_close(track, at));
}

static uint8_t *put_thread(struct perfetto *perfetto, uint8_t *at, const struct trace_track *track,
                           uint32_t tid)
{
    uint8_t *thread = pb_open(at, PF_TRACK_THREAD);
    at = pb_u64(thread, PF_THREAD_PID, perfetto->pids[track->process]);
    at = pb_u64(at, PF_THREAD_TID, tid);
    at = put_text(perfetto, at, PF_THREAD_NAME, track->name, TEXT_BYTES_MAX);
    return pb_close(thread, at);
}

static void take_track(void *context, const struct trace_track *track)
{
    struct perfetto *perfetto = context;
    struct packets *packets = &perfetto->file.packets;
    char id[64];
    if (!thread_array_grow(&perfetto->rows, &perfetto->row_count, track->number + 1,
                           sizeof *perfetto->rows) ||
        track->process >= perfetto->pid_count) {
        fail(perfetto);
        return;
    }
    snprintf(id, sizeof id, "id 0x%" PRIx64, track->id);
    uint8_t *at = begin_packet(packets, 2 * TEXT_BYTES_MAX, SEQUENCE_DESCRIPTORS, 0);
    uint8_t *inside = pb_open(at, PF_PACKET_TRACK_DESCRIPTOR);
    at = pb_u64(inside, PF_TRACK_UUID, lane_uuid(track->number, 0));
    at = pb_u64(at, PF_TRACK_PARENT, process_uuid(track->process));
    at = pb_u64(at, PF_TRACK_RANK, track->number);
    at = pb_u64(at, PF_TRACK_MERGING, PF_MERGE_NONE);
    at = pb_text(at, PF_TRACK_DESCRIPTION, id);
    if (track->kind == TRACE_THREAD)
        at = put_thread(perfetto, at, track, viewer_tid(&perfetto->ids, track->os_id));
    else
        at = put_text(perfetto, at, PF_TRACK_NAME, track->name, TEXT_BYTES_MAX);
    end_packet(packets, pb_close(inside, at));
}

/* ---- sequences -------------------------------------------------------------------- */

/* A lane beside the first is a track of its own below it. */
static void write_lane_track(struct perfetto *perfetto, const struct trace_track *track,
                             uint32_t lane)
{
    struct packets *packets = &perfetto->file.packets;
    char name[NAME_SHOWN_MAX + 16];
    int bytes = track->name.bytes < NAME_SHOWN_MAX ? (int)track->name.bytes : NAME_SHOWN_MAX;
    snprintf(name, sizeof name, "%.*s / %" PRIu32, bytes, track->name.text, lane);
    bool thread = track->kind == TRACE_THREAD;
    uint8_t *at = begin_packet(packets, TEXT_BYTES_MAX, SEQUENCE_DESCRIPTORS, 0);
    uint8_t *inside = pb_open(at, PF_PACKET_TRACK_DESCRIPTOR);
    at = pb_u64(inside, PF_TRACK_UUID, lane_uuid(track->number, lane));
    at = pb_u64(at, PF_TRACK_PARENT,
                thread ? lane_uuid(track->number, 0) : process_uuid(track->process));
    at = pb_u64(at, PF_TRACK_RANK, track->number);
    at = pb_u64(at, PF_TRACK_MERGING, PF_MERGE_NONE);
    at = put_text(perfetto, at, PF_TRACK_NAME, trace_text(name), TEXT_BYTES_MAX);
    end_packet(packets, pb_close(inside, at));
}

static uint8_t *put_entry(uint8_t *at, unsigned field, uint32_t iid, const char *name)
{
    uint8_t *entry = pb_open(at, field);
    at = pb_u64(entry, PF_ENTRY_IID, iid);
    return pb_close(entry, pb_text(at, PF_ENTRY_NAME, name));
}

static uint8_t *put_fixed_names(uint8_t *at)
{
    uint8_t *data = pb_open(at, PF_PACKET_INTERNED_DATA);
    at = data;
    for (uint32_t i = 0; i < TRACE_CATEGORIES; i++)
        at = put_entry(at, PF_INTERNED_CATEGORY, i + 1, trace_category_name[i]);
    at = put_entry(at, PF_INTERNED_ANNOTATION, ANNOTATION_UNFINISHED, "unfinished");
    at = put_entry(at, PF_INTERNED_ANNOTATION, ANNOTATION_SLOT, "slot");
    at = put_entry(at, PF_INTERNED_ANNOTATION, ANNOTATION_OPEN, "open");
    return pb_close(data, at);
}

static uint8_t *put_defaults(uint8_t *at, uint64_t track_uuid)
{
    uint8_t *defaults = pb_open(at, PF_PACKET_DEFAULTS);
    at = pb_u64(defaults, PF_DEFAULTS_CLOCK, PF_SEQUENCE_CLOCK);
    uint8_t *event = pb_open(at, PF_DEFAULTS_TRACK_EVENT);
    at = pb_u64(event, PF_EVENT_DEFAULTS_TRACK, track_uuid);
    return pb_close(defaults, pb_close(event, at));
}

static void start_lane(struct perfetto *perfetto, struct lane_state *lane,
                       const struct trace_span *span)
{
    struct packets *packets = &perfetto->file.packets;
    lane->sequence = SEQUENCE_LANES + perfetto->sequences++;
    lane->last_ns = (int64_t)clock_ns(span->start_ns);
    uint8_t *head = pb_u64(lane->head, PF_PACKET_SEQUENCE, lane->sequence);
    head = pb_u64(head, PF_PACKET_SEQUENCE_FLAGS, PF_NEEDS_STATE);
    head = pb_tag(head, PF_PACKET_TRACK_EVENT, PB_BYTES);
    lane->head_bytes = (uint8_t)(head - lane->head);
    if (span->row > 0)
        write_lane_track(perfetto, trace_track_of(perfetto->pass->trace, span->track), span->row);
    uint8_t *at =
        begin_packet(packets, 0, lane->sequence, PF_STATE_CLEARED | (unsigned)PF_NEEDS_STATE);
    at = pb_u64(at, PF_PACKET_FIRST_ON_SEQUENCE, 1);
    uint8_t *snapshot = pb_open(at, PF_PACKET_CLOCK_SNAPSHOT);
    at = put_clock(snapshot, PF_SEQUENCE_CLOCK, 0, true);
    at = pb_close(snapshot, put_clock(at, PF_BOOTTIME, (uint64_t)lane->last_ns, false));
    at = put_defaults(at, lane_uuid(span->track, span->row));
    end_packet(packets, put_fixed_names(at));
}

/* ---- names ------------------------------------------------------------------------ */

static uint64_t *find_told(const struct told_names *told, uint64_t key)
{
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (;; at++) {
        uint64_t *cell = &told->cells[at & (told->cell_count - 1)];
        if (*cell == key || *cell == 0)
            return cell;
    }
}

static bool grow_told(struct told_names *told)
{
    struct told_names larger = {.count = told->count,
                                .cell_count = told->cell_count ? told->cell_count * 2 : 1024};
    larger.cells = calloc(larger.cell_count, sizeof *larger.cells);
    if (!larger.cells)
        return false;
    for (uint64_t i = 0; i < told->cell_count; i++)
        if (told->cells[i])
            *find_told(&larger, told->cells[i]) = told->cells[i];
    free(told->cells);
    *told = larger;
    return true;
}

static void tell_name(struct perfetto *perfetto, const struct lane_state *lane, uint32_t name)
{
    struct told_names *told = &perfetto->told;
    struct packets *packets = &perfetto->file.packets;
    uint64_t key = (uint64_t)lane->sequence << 32 | name;
    uint64_t *cell = told->cell_count ? find_told(told, key) : NULL;
    if (cell && *cell)
        return;
    if (told->count * 2 >= told->cell_count && !grow_told(told)) {
        fail(perfetto);
        return;
    }
    *find_told(told, key) = key;
    told->count++;
    struct trace_text text = trace_name_of(perfetto->pass->trace, name);
    uint8_t *at = begin_packet(packets, NAME_BYTES_MAX, lane->sequence, PF_NEEDS_STATE);
    uint8_t *data = pb_open(at, PF_PACKET_INTERNED_DATA);
    uint8_t *entry = pb_open(data, PF_INTERNED_NAME);
    at = pb_u64(entry, PF_ENTRY_IID, (uint64_t)name + 1);
    at = pb_close(entry, put_text(perfetto, at, PF_ENTRY_NAME, text, NAME_BYTES_MAX));
    end_packet(packets, pb_close(data, at));
}

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
static inline void end_event(struct packets *packets, struct lane_state *lane, uint8_t *fields,
                             uint8_t *at, int64_t time_ns)
{
    uint8_t *packet = packets->next;
    fields[-1] = (uint8_t)(at - fields);
    if (time_ns >= lane->last_ns) {
        at = pb_tag(at, PF_PACKET_TIMESTAMP, PB_VARINT);
        packet_mark(packets, at);
        at = pb_varint(at, (uint64_t)(time_ns - lane->last_ns));
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
        end_event(packets, lane, fields, at, lane->open[--lane->depth]);
    }
}

static uint8_t *put_annotation(uint8_t *at, enum annotation name, enum pf_annotation kind,
                               uint64_t value)
{
    uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
    at = pb_u64(annotation, PF_ANNOTATION_NAME_IID, name);
    return pb_close(annotation, pb_u64(at, kind, value));
}

static void open_span(struct perfetto *perfetto, struct lane_state *lane,
                      const struct trace_span *span)
{
    struct packets *packets = &perfetto->file.packets;
    bool instant = span->flags & TRACE_INSTANT;
    uint8_t *fields = begin_event(packets, lane);
    uint8_t *at = pb_u64(fields, PF_EVENT_TYPE, instant ? PF_INSTANT : PF_SLICE_BEGIN);
    at = pb_u64(at, PF_EVENT_NAME_IID, (uint64_t)span->name + 1);
    at = pb_u64(at, PF_EVENT_CATEGORY_IID, span->category + 1u);
    if (linked_spans_has(&perfetto->linked, span->id))
        at = pb_fixed64(at, PF_EVENT_FLOW_END, span->id);
    if (span->flags & TRACE_UNFINISHED)
        at = put_annotation(at, ANNOTATION_UNFINISHED, PF_ANNOTATION_BOOL, 1);
    if (span->flags & TRACE_OPEN)
        at = put_annotation(at, ANNOTATION_OPEN, PF_ANNOTATION_BOOL, 1);
    if (span->category == TRACE_GPU_WORK)
        at = put_annotation(at, ANNOTATION_SLOT, PF_ANNOTATION_UINT, span->item);
    end_event(packets, lane, fields, at, (int64_t)clock_ns(span->start_ns));
    if (instant)
        return;
    if (lane->depth < lane->room ||
        thread_array_grow(&lane->open, &lane->room, lane->depth + 1, sizeof *lane->open))
        lane->open[lane->depth++] = (int64_t)clock_ns(span->stop_ns);
    else
        fail(perfetto);
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct perfetto *perfetto = context;
    struct row *row = &perfetto->rows[spans[0].track];
    (void)details;
    row->has_spans = true;
    for (size_t i = 0; i < count && !perfetto->failed; i++) {
        const struct trace_span *span = &spans[i];
        if (span->row >= row->lane_count &&
            !thread_array_grow(&row->lanes, &row->lane_count, span->row + 1u, sizeof *row->lanes)) {
            fail(perfetto);
            return;
        }
        struct lane_state *lane = &row->lanes[span->row];
        if (!lane->sequence)
            start_lane(perfetto, lane, span);
        tell_name(perfetto, lane, span->name);
        close_spans(perfetto, lane, span->start_ns);
        open_span(perfetto, lane, span);
    }
}

/* ---- links, losses, facts ------------------------------------------------------------ */

/* Begins an instant that names all by itself, written last. pb_close(event, at) and end_last end
 * it. */
static uint8_t *begin_last(struct perfetto *perfetto, uint64_t track_uuid, int64_t time_ns,
                           const char *category, const char *name, bool lost, uint8_t **event_out)
{
    struct packets *packets = &perfetto->file.last;
    unsigned flags = perfetto->last_started ? 0 : PF_STATE_CLEARED;
    uint8_t *at = begin_packet(packets, TEXT_BYTES_MAX, SEQUENCE_LAST, flags);
    perfetto->last_started = true;
    at = pb_u64(at, PF_PACKET_TIMESTAMP, clock_ns(time_ns));
    if (lost)
        at = pb_u64(at, PF_PACKET_PREVIOUS_DROPPED, 1);
    *event_out = pb_open(at, PF_PACKET_TRACK_EVENT);
    at = pb_u64(*event_out, PF_EVENT_TYPE, PF_INSTANT);
    at = pb_u64(at, PF_EVENT_TRACK, track_uuid);
    at = pb_text(at, PF_EVENT_CATEGORY, category);
    return pb_text(at, PF_EVENT_NAME, name);
}

static void end_last(struct perfetto *perfetto, uint8_t *event, uint8_t *at)
{
    end_packet(&perfetto->file.last, pb_close(event, at));
}

static void take_link(void *context, const struct trace_link *link)
{
    struct perfetto *perfetto = context;
    uint8_t *event, *at;
    at = begin_last(perfetto, lane_uuid(link->from_track, 0), link->from_ns, "link", "launch",
                    false, &event);
    end_last(perfetto, event, pb_fixed64(at, PF_EVENT_FLOW, link->to_span));
    if (!perfetto->rows[link->to_track].has_spans) {
        if (!linked_spans_add(&perfetto->linked, link->to_span))
            fail(perfetto);
        return;
    }
    at = begin_last(perfetto, lane_uuid(link->to_track, 0), link->to_ns, "link", "launched", false,
                    &event);
    end_last(perfetto, event, pb_fixed64(at, PF_EVENT_FLOW_END, link->to_span));
}

static uint8_t *put_named(uint8_t *at, const char *name, enum pf_annotation kind, uint64_t value)
{
    uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
    at = pb_u64(annotation, kind, value);
    return pb_close(annotation, pb_text(at, PF_ANNOTATION_NAME, name));
}

static void take_loss(void *context, const struct trace_loss *loss)
{
    struct perfetto *perfetto = context;
    char name[256];
    uint8_t *event;
    bool timed = loss->first_ns || loss->last_ns;
    int64_t time_ns = timed ? loss->last_ns : trace_totals(perfetto->pass->trace)->last_ns;
    snprintf(name, sizeof name, "%" PRIu64 " records lost: %.*s", loss->count,
             (int)loss->cause.bytes, loss->cause.text);
    uint64_t uuid =
        loss->track == TRACE_NONE ? process_uuid(loss->process) : lane_uuid(loss->track, 0);
    uint8_t *at = begin_last(perfetto, uuid, time_ns, "loss", name, true, &event);
    at = put_named(at, "records", PF_ANNOTATION_UINT, loss->count);
    if (timed)
        at = put_named(at, "first_ns", PF_ANNOTATION_INT, (uint64_t)loss->first_ns);
    if (timed)
        at = put_named(at, "last_ns", PF_ANNOTATION_INT, (uint64_t)loss->last_ns);
    end_last(perfetto, event, at);
}

/* Facts are told one by one, and each is an annotation of an instant at the beginning. */
static void take_fact(void *context, const char *key, struct trace_text value)
{
    struct perfetto *perfetto = context;
    uint8_t *event;
    int64_t origin_ns = trace_origin_ns(perfetto->pass->trace);
    uint8_t *at = begin_last(perfetto, process_uuid(0), origin_ns, "fact", key, false, &event);
    uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
    at = pb_text(annotation, PF_ANNOTATION_NAME, key);
    at = put_text(perfetto, at, PF_ANNOTATION_STRING, value, TEXT_BYTES_MAX);
    end_last(perfetto, event, pb_close(annotation, at));
}

/* ---- begin and end ------------------------------------------------------------------- */

static bool is_full(void *context)
{
    const struct perfetto *perfetto = context;
    return perfetto->failed || out_failed(&perfetto->pass->out);
}

static bool begin(struct trace_pass *pass)
{
    struct perfetto *perfetto = calloc(1, sizeof *perfetto);
    if (!perfetto) {
        message("out of memory");
        return false;
    }
    if (!packet_file_start(&perfetto->file, &pass->out, pass->threads,
                           !export_options_of(pass)->no_deflate)) {
        free(perfetto);
        return false;
    }
    perfetto->pass = pass;
    pass->state = perfetto;
    pass->sink = (struct trace_sink){
        .context = perfetto,
        .process = take_process,
        .track = take_track,
        .spans = take_spans,
        .link = take_link,
        .loss = take_loss,
        .fact = take_fact,
        .full = is_full,
    };
    return true;
}

static void free_row(struct row *row)
{
    for (uint32_t i = 0; i < row->lane_count; i++)
        free(row->lanes[i].open);
    free(row->lanes);
}

static enum exit_code end(struct trace_pass *pass)
{
    struct perfetto *perfetto = pass->state;
    for (uint32_t i = 0; i < perfetto->row_count; i++) {
        struct row *row = &perfetto->rows[i];
        for (uint32_t lane = 0; lane < row->lane_count; lane++)
            close_spans(perfetto, &row->lanes[lane], INT64_MAX);
        free_row(row);
    }
    bool whole = packet_file_finish(&perfetto->file) && !perfetto->failed;
    viewer_ids_free(&perfetto->ids);
    viewer_text_free(&perfetto->text);
    linked_spans_free(&perfetto->linked);
    free(perfetto->told.cells);
    free(perfetto->rows);
    free(perfetto->pids);
    free(perfetto);
    return whole ? EXIT_GOOD : EXIT_PARTLY;
}

const struct exporter exporter_perfetto = {
    .name = "perfetto",
    .suffixes = ".pftrace .perfetto-trace",
    .summary = "Perfetto's own format, for its viewer and SQL",
    .binary = true,
    .maker.begin = begin,
    .maker.end = end,
};
