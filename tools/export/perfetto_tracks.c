/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and tracks as descriptors; a packet sequence for each lane, and the names it has.
 */
#include "perfetto_trace.h"
#include "trace_category.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- packets other than events ------------------------------------------------------ */

uint8_t *perfetto_put_text(struct perfetto *perfetto, uint8_t *at, unsigned field,
                           struct trace_text text, uint32_t bytes_max)
{
    text.bytes = text.bytes < bytes_max ? text.bytes : bytes_max;
    struct trace_text made = viewer_text(&perfetto->text, text);
    return pb_bytes(at, field, made.text, made.bytes);
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

void perfetto_take_process(void *context, const struct trace_process *process)
{
    struct perfetto *perfetto = context;
    struct packets *packets = &perfetto->file.packets;
    if (process->number == 0)
        write_clocks(perfetto);
    if (!trace_pass_grow(perfetto->pass, &perfetto->pids, &perfetto->pid_count, process->number + 1,
                         sizeof *perfetto->pids))
        return;
    uint32_t pid = viewer_pid(&perfetto->ids, process->os_id);
    perfetto->pids[process->number] = pid;
    uint8_t *at = begin_packet(packets, 4 * TEXT_BYTES_MAX, SEQUENCE_DESCRIPTORS, 0);
    uint8_t *track = pb_open(at, PF_PACKET_TRACK_DESCRIPTOR);
    at = pb_u64(track, PF_TRACK_UUID, process_uuid(process->number));
    at = pb_u64(at, PF_TRACK_CHILD_ORDERING, PF_ORDER_EXPLICIT);
    uint8_t *inside = pb_open(at, PF_TRACK_PROCESS);
    at = pb_u64(inside, PF_PROCESS_PID, pid);
    at = perfetto_put_text(perfetto, at, PF_PROCESS_NAME, process->name, TEXT_BYTES_MAX);
    if (process->command.bytes)
        at = perfetto_put_text(perfetto, at, PF_PROCESS_COMMAND, process->command, TEXT_BYTES_MAX);
    if (process->host.bytes)
        at = perfetto_put_text(perfetto, at, PF_PROCESS_LABEL, process->host, TEXT_BYTES_MAX);
    if (process->source.bytes)
        at = perfetto_put_text(perfetto, at, PF_PROCESS_LABEL, process->source, TEXT_BYTES_MAX);
    at = pb_close(inside, at);
    end_packet(packets, pb_close(track, at));
}

static uint8_t *put_thread(struct perfetto *perfetto, uint8_t *at, const struct trace_track *track,
                           uint32_t tid)
{
    uint8_t *thread = pb_open(at, PF_TRACK_THREAD);
    at = pb_u64(thread, PF_THREAD_PID, perfetto->pids[track->process]);
    at = pb_u64(at, PF_THREAD_TID, tid);
    at = perfetto_put_text(perfetto, at, PF_THREAD_NAME, track->name, TEXT_BYTES_MAX);
    return pb_close(thread, at);
}

static uint8_t *perfetto_tracks_put_counter(struct perfetto *perfetto, uint8_t *at,
                                            const struct trace_track *track)
{
    uint8_t *counter = pb_open(at, PF_TRACK_COUNTER);
    at = counter;
    if (track->unit.bytes)
        at = perfetto_put_text(perfetto, at, PF_COUNTER_UNIT_NAME, track->unit, TEXT_BYTES_MAX);
    return pb_close(counter, at);
}

static uint64_t parent_uuid(const struct trace_track *track)
{
    return track->parent == TRACE_NONE ? process_uuid(track->process) : lane_uuid(track->parent, 0);
}

void perfetto_take_track(void *context, const struct trace_track *track)
{
    struct perfetto *perfetto = context;
    struct packets *packets = &perfetto->file.packets;
    char id[64];
    if (!GROW_ZEROED(perfetto->rows, perfetto->row_count, track->number + 1) ||
        track->process >= perfetto->pid_count) {
        trace_pass_fail(perfetto->pass);
        return;
    }
    snprintf(id, sizeof id, "%s id 0x%" PRIx64, trace_track_kind_name[track->kind], track->id);
    uint8_t *at = begin_packet(packets, 3 * TEXT_BYTES_MAX, SEQUENCE_DESCRIPTORS, 0);
    uint8_t *inside = pb_open(at, PF_PACKET_TRACK_DESCRIPTOR);
    at = pb_u64(inside, PF_TRACK_UUID, lane_uuid(track->number, 0));
    at = pb_u64(at, PF_TRACK_PARENT, parent_uuid(track));
    at = pb_u64(at, PF_TRACK_CHILD_ORDERING, PF_ORDER_EXPLICIT);
    at = pb_u64(at, PF_TRACK_RANK, track->number);
    at = pb_u64(at, PF_TRACK_MERGING, PF_MERGE_NONE);
    at = pb_text(at, PF_TRACK_DESCRIPTION, id);
    if (track->kind == TRACE_COUNTER)
        at = perfetto_tracks_put_counter(perfetto, at, track);
    if (track->kind == TRACE_THREAD)
        at = put_thread(perfetto, at, track, viewer_tid(&perfetto->ids, track->os_id));
    else
        at = perfetto_put_text(perfetto, at, PF_TRACK_NAME, track->name, TEXT_BYTES_MAX);
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
    at = pb_u64(at, PF_TRACK_PARENT, thread ? lane_uuid(track->number, 0) : parent_uuid(track));
    at = pb_u64(at, PF_TRACK_RANK, track->number);
    at = pb_u64(at, PF_TRACK_MERGING, PF_MERGE_NONE);
    at = perfetto_put_text(perfetto, at, PF_TRACK_NAME, trace_text(name), TEXT_BYTES_MAX);
    end_packet(packets, pb_close(inside, at));
}

static uint8_t *perfetto_tracks_put_entry(uint8_t *at, unsigned field, uint32_t iid,
                                          const char *name)
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
        at = perfetto_tracks_put_entry(at, PF_INTERNED_CATEGORY, i + 1, trace_category_name[i]);
    at = perfetto_tracks_put_entry(at, PF_INTERNED_ANNOTATION, ANNOTATION_UNFINISHED, "unfinished");
    at = perfetto_tracks_put_entry(at, PF_INTERNED_ANNOTATION, ANNOTATION_SLOT, "slot");
    at = perfetto_tracks_put_entry(at, PF_INTERNED_ANNOTATION, ANNOTATION_OPEN, "open");
    at = perfetto_tracks_put_entry(at, PF_INTERNED_ANNOTATION, ANNOTATION_ITEM, "item");
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

static void start_lane(struct perfetto *perfetto, struct lane_state *lane, uint32_t track,
                       uint32_t number, int64_t time_ns)
{
    struct packets *packets = &perfetto->file.packets;
    lane->sequence = SEQUENCE_LANES + perfetto->sequences++;
    lane->last_ns = (int64_t)clock_ns(time_ns);
    uint8_t *head = pb_u64(lane->head, PF_PACKET_SEQUENCE, lane->sequence);
    head = pb_u64(head, PF_PACKET_SEQUENCE_FLAGS, PF_NEEDS_STATE);
    head = pb_tag(head, PF_PACKET_TRACK_EVENT, PB_BYTES);
    lane->head_bytes = (uint8_t)(head - lane->head);
    if (number > 0)
        write_lane_track(perfetto, trace_track_of(perfetto->pass->trace, track), number);
    uint8_t *at =
        begin_packet(packets, 0, lane->sequence, PF_STATE_CLEARED | (unsigned)PF_NEEDS_STATE);
    at = pb_u64(at, PF_PACKET_FIRST_ON_SEQUENCE, 1);
    uint8_t *snapshot = pb_open(at, PF_PACKET_CLOCK_SNAPSHOT);
    at = put_clock(snapshot, PF_SEQUENCE_CLOCK, 0, true);
    at = pb_close(snapshot, put_clock(at, PF_BOOTTIME, (uint64_t)lane->last_ns, false));
    at = put_defaults(at, lane_uuid(track, number));
    end_packet(packets, put_fixed_names(at));
}

struct lane_state *perfetto_lane(struct perfetto *perfetto, uint32_t track, uint32_t number,
                                 int64_t time_ns)
{
    struct row *row = &perfetto->rows[track];
    if (number >= row->lane_count && !GROW_ZEROED(row->lanes, row->lane_count, number + 1)) {
        trace_pass_fail(perfetto->pass);
        return NULL;
    }
    struct lane_state *lane = &row->lanes[number];
    if (!lane->sequence)
        start_lane(perfetto, lane, track, number, time_ns);
    return lane;
}

/* ---- names ------------------------------------------------------------------------ */

static bool is_interned(const struct interned_names *interned, uint64_t key)
{
    for (uint32_t step = 0, i; (i = index_map_next(&interned->places, key, &step)) != INDEX_NONE;)
        if (interned->keys[i] == key)
            return true;
    return false;
}

void perfetto_intern_name(struct perfetto *perfetto, const struct lane_state *lane, uint32_t name)
{
    struct interned_names *interned = &perfetto->interned;
    struct packets *packets = &perfetto->file.packets;
    uint64_t key = (uint64_t)lane->sequence << 32 | name;
    if (is_interned(interned, key))
        return;
    if (!GROW_ARRAY(interned->keys, interned->room, interned->count + 1) ||
        !index_map_add(&interned->places, key, interned->count)) {
        trace_pass_fail(perfetto->pass);
        return;
    }
    interned->keys[interned->count++] = key;
    struct trace_text text = trace_name_of(perfetto->pass->trace, name);
    uint8_t *at = begin_packet(packets, NAME_BYTES_MAX, lane->sequence, PF_NEEDS_STATE);
    uint8_t *data = pb_open(at, PF_PACKET_INTERNED_DATA);
    uint8_t *entry = pb_open(data, PF_INTERNED_NAME);
    at = pb_u64(entry, PF_ENTRY_IID, (uint64_t)name + 1);
    at = pb_close(entry, perfetto_put_text(perfetto, at, PF_ENTRY_NAME, text, NAME_BYTES_MAX));
    end_packet(packets, pb_close(data, at));
}
