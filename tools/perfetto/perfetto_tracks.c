/* SPDX-License-Identifier: Apache-2.0 */
/* What has a parent is added below it; a circle of parents is cut. */
#include "perfetto_proto.h"
#include "perfetto_spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum table { TRACK_NAME = 1, TRACK_UNIT, PROCESS_NAME, PROCESS_LABEL, PROCESS_COMMAND };
enum { PERFETTO_TRACKS_DEPTH_MAX = 32 };
/* Process of what belongs to none; no pid is so large. */
#define NO_PROCESS UINT64_MAX
/* Rows beside the first of a track have its uuid with their number. */
#define OUR_ROWS UINT64_C(0xffff)

/* ---- descriptors ------------------------------------------------------------------ */

struct perfetto_track *perfetto_tracks_find(struct perfetto_tracks *tracks, uint64_t uuid)
{
    uint32_t known = tracks->track_map.count;
    uint32_t number = thread_map_place(&tracks->track_map, uuid, &tracks->tracks,
                                       &tracks->track_room, sizeof *tracks->tracks);
    if (number == THREAD_NONE) {
        tracks->full = true;
        return NULL;
    }
    if (number == known)
        tracks->tracks[number] =
            (struct perfetto_track){.uuid = uuid, .shown_as = TRACE_ASYNC, .last_ns = INT64_MIN};
    return &tracks->tracks[number];
}

static uint32_t perfetto_tracks_number_of(const struct perfetto_tracks *tracks,
                                          const struct perfetto_track *track)
{
    return (uint32_t)(track - tracks->tracks);
}

/* THREAD_NONE when there is no room. */
static uint32_t find_process(struct perfetto_tracks *tracks, uint64_t key)
{
    uint32_t number = thread_map_place(&tracks->process_map, key, &tracks->processes,
                                       &tracks->process_room, sizeof *tracks->processes);
    if (number == THREAD_NONE)
        tracks->full = true;
    else
        tracks->processes[number].key = key;
    return number;
}

static void set_name(struct perfetto_tracks *tracks, const struct perfetto_track *track,
                     struct trace_text name)
{
    if (name.bytes)
        id_texts_set(&tracks->texts, TRACK_NAME, perfetto_tracks_number_of(tracks, track), 0, name);
}

static uint64_t process_key(uint32_t machine, uint64_t pid)
{
    return (uint64_t)machine << 32 | (uint32_t)pid;
}

static void perfetto_tracks_on_process(struct perfetto_tracks *tracks, struct perfetto_track *track,
                                       uint32_t machine, struct wire_message message)
{
    struct wire_field field;
    struct trace_text texts[PROCESS_COMMAND + 1] = {{"", 0}};
    track->kind = PERFETTO_PROCESS;
    while (wire_next(&message, &field)) {
        if (field.number == PF_PROCESS_PID)
            track->process = process_key(machine, field.value);
        else if (field.number == PF_PROCESS_NAME)
            texts[PROCESS_NAME] = wire_text(&field);
        else if (field.number == PF_PROCESS_COMMAND && !texts[PROCESS_COMMAND].bytes)
            texts[PROCESS_COMMAND] = wire_text(&field);
        else if (field.number == PF_PROCESS_LABEL && !texts[PROCESS_LABEL].bytes)
            texts[PROCESS_LABEL] = wire_text(&field);
    }
    uint32_t process = find_process(tracks, track->process);
    for (uint32_t i = PROCESS_NAME; i <= PROCESS_COMMAND && process != THREAD_NONE; i++)
        if (texts[i].bytes)
            id_texts_set(&tracks->texts, i, process, 0, texts[i]);
}

static void take_thread(struct perfetto_tracks *tracks, struct perfetto_track *track,
                        uint32_t machine, struct wire_message message)
{
    struct wire_field field;
    track->kind = PERFETTO_THREAD;
    while (wire_next(&message, &field)) {
        if (field.number == PF_THREAD_PID)
            track->process = process_key(machine, field.value);
        else if (field.number == PF_THREAD_TID)
            track->tid = (uint32_t)field.value;
        else if (field.number == PF_THREAD_NAME)
            set_name(tracks, track, wire_text(&field));
    }
}

static void perfetto_tracks_take_counter(struct perfetto_tracks *tracks,
                                         struct perfetto_track *track, struct wire_message message)
{
    static const char *const units[] = {"", "ns", "count", "bytes"};
    struct wire_field field;
    struct trace_text unit = {"", 0};
    track->kind = PERFETTO_COUNTER;
    while (wire_next(&message, &field)) {
        if (field.number == PF_COUNTER_UNIT && field.value < sizeof units / sizeof units[0] &&
            !unit.bytes)
            unit = trace_text(units[field.value]);
        else if (field.number == PF_COUNTER_UNIT_NAME)
            unit = wire_text(&field);
        else if (field.number == PF_COUNTER_SCALE)
            track->scale = (int64_t)field.value;
        else if (field.number == PF_COUNTER_INCREMENTAL)
            track->incremental = field.value;
    }
    if (unit.bytes)
        id_texts_set(&tracks->texts, TRACK_UNIT, perfetto_tracks_number_of(tracks, track), 0, unit);
}

/* "gpu id 0x12" of our own exports: what kind of track it is, and its id. */
static void take_description(struct perfetto_track *track, struct trace_text text)
{
    char copy[64], *end;
    snprintf(copy, sizeof copy, "%.*s", (int)text.bytes, text.text);
    char *id = strstr(copy, "id 0x");
    if (!id || (id > copy && id[-1] != ' '))
        return;
    track->id = strtoull(id + 5, &end, 16);
    track->has_id = !*end;
    for (int i = 0; i < TRACE_TRACK_KINDS; i++) {
        size_t bytes = strlen(trace_track_kind_name[i]);
        if (id == copy + bytes + 1 && memcmp(copy, trace_track_kind_name[i], bytes) == 0)
            track->shown_as = (enum trace_track_kind)i;
    }
}

void perfetto_tracks_describe(struct perfetto_tracks *tracks, uint32_t machine,
                              struct wire_message descriptor)
{
    struct wire_message scan = descriptor;
    struct wire_field field;
    struct perfetto_track *track = NULL;
    while (!track && wire_next(&scan, &field))
        if (field.number == PF_TRACK_UUID && !(track = perfetto_tracks_find(tracks, field.value)))
            return;
    if (!track && !(track = perfetto_tracks_find(tracks, 0)))
        return;
    while (wire_next(&descriptor, &field)) {
        if (field.number == PF_TRACK_NAME || field.number == PF_TRACK_STATIC_NAME)
            set_name(tracks, track, wire_text(&field));
        else if (field.number == PF_TRACK_PARENT)
            track->has_parent = true, track->parent = field.value;
        else if (field.number == PF_TRACK_PROCESS)
            perfetto_tracks_on_process(tracks, track, machine, wire_inside(&field));
        else if (field.number == PF_TRACK_THREAD)
            take_thread(tracks, track, machine, wire_inside(&field));
        else if (field.number == PF_TRACK_COUNTER)
            perfetto_tracks_take_counter(tracks, track, wire_inside(&field));
        else if (field.number == PF_TRACK_DESCRIPTION)
            take_description(track, wire_text(&field));
    }
}

/* ---- what belongs together -------------------------------------------------------- */

/* Of two descriptors of one thread the first stands for both. */
static void join_thread(struct perfetto_tracks *tracks, uint32_t number)
{
    struct perfetto_track *track = &tracks->tracks[number];
    uint64_t key = id_hash(track->process) + track->tid;
    uint32_t thread = thread_map_place(&tracks->thread_map, key, &tracks->threads,
                                       &tracks->thread_room, sizeof *tracks->threads);
    if (thread == THREAD_NONE)
        tracks->full = true;
    else if (tracks->threads[thread])
        track->same = tracks->threads[thread];
    else
        tracks->threads[thread] = number + 1;
}

void perfetto_tracks_join(struct perfetto_tracks *tracks, bool ours)
{
    tracks->ours = ours;
    for (uint32_t i = 0; i < tracks->track_map.count && i < tracks->track_room; i++) {
        struct perfetto_track *track = &tracks->tracks[i];
        if (track->kind == PERFETTO_THREAD)
            join_thread(tracks, i);
        if (!ours || track->has_id || track->kind != PERFETTO_PLAIN || !(track->uuid & OUR_ROWS))
            continue;
        uint32_t first = thread_map_find(&tracks->track_map, track->uuid & ~OUR_ROWS);
        track->same = first == THREAD_NONE ? 0 : first + 1;
    }
}

/* ---- adding them ------------------------------------------------------------------ */

/* NULL: none, or it cannot be. */
static struct perfetto_track *perfetto_tracks_parent_of(struct perfetto_tracks *tracks,
                                                        const struct perfetto_track *track)
{
    uint32_t number =
        track->has_parent ? thread_map_find(&tracks->track_map, track->parent) : THREAD_NONE;
    return number == THREAD_NONE || number == perfetto_tracks_number_of(tracks, track)
               ? NULL
               : &tracks->tracks[number];
}

static uint64_t process_of(struct perfetto_tracks *tracks, struct perfetto_track *track)
{
    for (int depth = 0; track && depth < PERFETTO_TRACKS_DEPTH_MAX; depth++) {
        if (track->kind == PERFETTO_PROCESS || track->kind == PERFETTO_THREAD)
            return track->process;
        track = perfetto_tracks_parent_of(tracks, track);
    }
    return NO_PROCESS;
}

/* Our own exports number what has no number of the system's above those. */
static uint32_t os_id(const struct perfetto_tracks *tracks, uint32_t number)
{
    enum { LINUX_PID_MAX = 1 << 22 };
    return tracks->ours && number > LINUX_PID_MAX ? 0 : number;
}

static uint32_t perfetto_add_process(struct perfetto_tracks *tracks, uint64_t key)
{
    char made[64];
    uint32_t number = find_process(tracks, key);
    if (number == THREAD_NONE)
        return 0;
    struct perfetto_process *process = &tracks->processes[number];
    if (process->number)
        return process->number - 1;
    bool none = key == NO_PROCESS;
    struct trace_text name = id_texts_get(&tracks->texts, PROCESS_NAME, number, 0);
    snprintf(made, sizeof made, none ? "Perfetto" : "process %" PRIu32, (uint32_t)key);
    process->number =
        trace_add_process(tracks->trace,
                          (struct trace_process){
                              .node = tracks->opened->facts.node,
                              .os_id = none || key >> 32 ? 0 : os_id(tracks, (uint32_t)key),
                              .name = name.bytes ? name : trace_text(made),
                              .host = id_texts_get(&tracks->texts, PROCESS_LABEL, number, 0),
                              .command = id_texts_get(&tracks->texts, PROCESS_COMMAND, number, 0),
                              .source = trace_text(tracks->opened->name)}) +
        1;
    return process->number - 1;
}

static struct trace_track describe(const struct perfetto_tracks *tracks,
                                   const struct perfetto_track *track, char *made, size_t room)
{
    uint32_t number = perfetto_tracks_number_of(tracks, track);
    struct trace_text name = id_texts_get(&tracks->texts, TRACK_NAME, number, 0);
    bool thread = track->kind == PERFETTO_THREAD;
    if (thread)
        snprintf(made, room, "thread %" PRIu32, track->tid);
    else
        snprintf(made, room, "%s %" PRIx64, track->kind == PERFETTO_COUNTER ? "counter" : "track",
                 track->uuid);
    return (struct trace_track){
        .kind = track->kind == PERFETTO_COUNTER ? TRACE_COUNTER
                : thread                        ? TRACE_THREAD
                                                : track->shown_as,
        .id = track->has_id ? track->id
              : thread      ? track->tid
                            : track->uuid,
        .os_id = thread ? os_id(tracks, track->tid) : 0,
        .name = name.bytes ? name : trace_text(track->kind == PERFETTO_PROCESS ? "process" : made),
        .unit = id_texts_get(&tracks->texts, TRACK_UNIT, number, 0)};
}

static uint32_t perfetto_tracks_report(struct perfetto_tracks *tracks, struct perfetto_track *track,
                                       int depth)
{
    char made[64];
    if (track->same)
        track = &tracks->tracks[track->same - 1];
    if (track->number)
        return track->number - 1;
    struct perfetto_track *parent = perfetto_tracks_parent_of(tracks, track);
    struct trace_track added = describe(tracks, track, made, sizeof made);
    bool below = parent && parent->kind != PERFETTO_PROCESS && track->kind != PERFETTO_THREAD &&
                 depth < PERFETTO_TRACKS_DEPTH_MAX;
    uint32_t above = below ? perfetto_tracks_report(tracks, parent, depth + 1) : TRACE_NONE;
    if (track->number) /* a circle */
        return track->number - 1;
    if (below)
        added.process = trace_track_of(tracks->trace, above)->process;
    else
        added.process = perfetto_add_process(tracks, process_of(tracks, track));
    track->number = 1 + (below ? trace_add_track_below(tracks->trace, above, added)
                               : trace_add_track(tracks->trace, added));
    return track->number - 1;
}

uint32_t perfetto_tracks_add(struct perfetto_tracks *tracks, struct perfetto_track *track)
{
    return perfetto_tracks_report(tracks, track, 0);
}

static uint32_t find_launcher(struct perfetto_tracks *tracks, uint32_t process, uint64_t thread_id)
{
    for (uint32_t i = 0; i < tracks->track_map.count && i < tracks->track_room; i++) {
        struct perfetto_track *track = &tracks->tracks[i];
        if (track->kind != PERFETTO_THREAD || !track->has_id || track->id != thread_id)
            continue;
        uint32_t added = perfetto_tracks_add(tracks, track);
        if (trace_track_of(tracks->trace, added)->process == process)
            return added;
    }
    return TRACE_NONE;
}

uint32_t perfetto_tracks_thread(struct perfetto_tracks *tracks, uint32_t track, uint64_t thread_id)
{
    uint32_t process = trace_track_of(tracks->trace, track)->process;
    uint32_t number =
        thread_map_place(&tracks->launcher_map, id_hash(process + 1u) ^ thread_id,
                         &tracks->launchers, &tracks->launcher_room, sizeof *tracks->launchers);
    if (number == THREAD_NONE) {
        tracks->full = true;
        return TRACE_NONE;
    }
    if (tracks->launchers[number] == 0) {
        uint32_t found = find_launcher(tracks, process, thread_id);
        tracks->launchers[number] = found == TRACE_NONE ? TRACE_NONE : found + 1;
    }
    return tracks->launchers[number] == TRACE_NONE ? TRACE_NONE : tracks->launchers[number] - 1;
}

void perfetto_tracks_free(struct perfetto_tracks *tracks)
{
    thread_map_free(&tracks->launcher_map);
    free(tracks->launchers);
    id_texts_free(&tracks->texts);
    thread_map_free(&tracks->track_map);
    thread_map_free(&tracks->process_map);
    thread_map_free(&tracks->thread_map);
    free(tracks->tracks);
    free(tracks->processes);
    free(tracks->threads);
}
