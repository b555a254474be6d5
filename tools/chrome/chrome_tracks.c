/* SPDX-License-Identifier: Apache-2.0 */
/* Found by a hash of what names them. */
#include "chrome_spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum table {
    PROCESS_ID = 1,
    PROCESS_NAME,
    PROCESS_LABELS,
    PROCESS_COMMAND,
    PROCESS_HOST,
    TRACK_ID,
    TRACK_NAME,
    TRACK_UNIT
};
enum { PARENTS_MAX = 32 };

/* Whether its id, not its thread, says what it belongs to. */
static bool chrome_is_async(char phase)
{
    return phase && strchr("benSTpF", phase);
}

/* ---- ids ------------------------------------------------------------------------- */

uint64_t chrome_hash_text(uint64_t hash, const char *text, uint32_t bytes)
{
    return id_hash(text_hash(hash, text, bytes) + bytes);
}

uint64_t chrome_hash_id(uint64_t hash, const struct chrome_id *id)
{
    return chrome_hash_text(hash * 2 + id->is_number, id->text, id->bytes);
}

static struct trace_text id_text(const struct chrome_id *id)
{
    return (struct trace_text){id->text, id->bytes};
}

/* Of a number as it is written; 0 for others. */
static uint64_t id_number(const struct chrome_id *id)
{
    char copy[24];
    if (!id->is_number || id->bytes >= sizeof copy)
        return 0;
    memcpy(copy, id->text, id->bytes);
    copy[id->bytes] = '\0';
    return (uint64_t)strtoll(copy, NULL, 10);
}

/* ---- finding them ---------------------------------------------------------------- */

/* THREAD_NONE when there is no room. */
static uint32_t find_process(struct chrome_tracks *tracks, const struct chrome_event *event)
{
    uint32_t known = tracks->process_map.count;
    uint32_t number =
        thread_map_place(&tracks->process_map, chrome_hash_id(1, &event->process),
                         &tracks->processes, &tracks->process_room, sizeof *tracks->processes);
    if (number == THREAD_NONE) {
        tracks->full = true;
        return THREAD_NONE;
    }
    if (number == known) {
        uint64_t os_id = id_number(&event->process);
        tracks->processes[number].os_id = os_id < INT32_MAX ? os_id : 0;
        id_texts_set(&tracks->texts, PROCESS_ID, number, 0, id_text(&event->process));
    }
    return number;
}

/* Of a counter with several series it is the counter's and the series'. */
static void name_series(struct chrome_tracks *tracks, const struct chrome_event *event,
                        uint32_t arg, uint32_t number)
{
    char name[512];
    struct trace_text key = chrome_args_key(event->args, arg);
    struct trace_text text = {event->name, event->name_bytes};
    bool same = trace_text_same(key, text);
    if (!same && (event->args->count > 1 || key.bytes != 5 || memcmp(key.text, "value", 5) != 0)) {
        int bytes = snprintf(
            name, sizeof name, "%.*s%s%.*s", (int)(text.bytes < 240 ? text.bytes : 240), text.text,
            text.bytes ? " " : "", (int)(key.bytes < 240 ? key.bytes : 240), key.text);
        text = (struct trace_text){name, (uint32_t)bytes};
    }
    id_texts_set(&tracks->texts, TRACK_NAME, number, 0, text);
}

struct chrome_track *chrome_tracks_find_counter(struct chrome_tracks *tracks,
                                                const struct chrome_event *event, uint32_t arg,
                                                uint32_t *number_out)
{
    uint32_t process = find_process(tracks, event), known = tracks->track_map.count;
    if (process == THREAD_NONE)
        return NULL;
    struct trace_text key = chrome_args_key(event->args, arg);
    uint64_t hash = chrome_hash_text(id_hash(process) + 4, event->name, event->name_bytes);
    hash = chrome_hash_text(chrome_hash_id(hash, &event->id), key.text, key.bytes);
    uint32_t number = thread_map_place(&tracks->track_map, hash, &tracks->tracks,
                                       &tracks->track_room, sizeof *tracks->tracks);
    if (number == THREAD_NONE) {
        tracks->full = true;
        return NULL;
    }
    if (number == known) {
        tracks->tracks[number] = (struct chrome_track){
            .process = process, .counter = true, .id = hash, .last_ns = INT64_MIN};
        name_series(tracks, event, arg, number);
    }
    *number_out = number;
    return &tracks->tracks[number];
}

static void start_track(struct chrome_tracks *tracks, const struct chrome_event *event,
                        uint32_t process, uint32_t number)
{
    struct chrome_track *track = &tracks->tracks[number];
    bool async = chrome_is_async(event->phase);
    *track = (struct chrome_track){.process = process, .async = async, .last_ns = INT64_MIN};
    struct trace_text text = async ? (struct trace_text){event->category, event->category_bytes}
                                   : id_text(&event->thread);
    track->is_number = !async && event->thread.is_number;
    track->id = track->is_number ? id_number(&event->thread) : UINT64_C(1) << 63 | number;
    id_texts_set(&tracks->texts, TRACK_ID, number, 0, text);
}

struct chrome_track *chrome_tracks_find(struct chrome_tracks *tracks,
                                        const struct chrome_event *event, uint32_t *number_out)
{
    uint32_t process = find_process(tracks, event), known = tracks->track_map.count;
    if (process == THREAD_NONE)
        return NULL;
    bool async = chrome_is_async(event->phase);
    uint64_t hash = id_hash(process) * 2 + async;
    hash = async ? chrome_hash_text(hash, event->category, event->category_bytes)
                 : chrome_hash_id(hash, &event->thread);
    uint32_t number = thread_map_place(&tracks->track_map, hash, &tracks->tracks,
                                       &tracks->track_room, sizeof *tracks->tracks);
    if (number == THREAD_NONE) {
        tracks->full = true;
        return NULL;
    }
    if (number == known)
        start_track(tracks, event, process, number);
    *number_out = number;
    return &tracks->tracks[number];
}

static void name_process(struct chrome_tracks *tracks, const struct chrome_event *event,
                         uint32_t table)
{
    const struct chrome_args *args = event->args;
    struct trace_text text = chrome_args_word(args, table == PROCESS_NAME ? "name" : "labels");
    uint32_t number = text.bytes ? find_process(tracks, event) : THREAD_NONE;
    if (number == THREAD_NONE)
        return;
    id_texts_set(&tracks->texts, table, number, 0, text);
    if (chrome_args_find(args, "rbwp_node") == CHROME_ARGS_MAX)
        return;
    struct chrome_process *process = &tracks->processes[number];
    process->is_own = true;
    process->node = (uint32_t)chrome_args_u64(args, "rbwp_node");
    process->os_id = chrome_args_u64(args, "rbwp_os_id");
    process->host_apart = chrome_args_find(args, "rbwp_host") < CHROME_ARGS_MAX;
    id_texts_set(&tracks->texts, PROCESS_COMMAND, number, 0,
                 chrome_args_word(args, "rbwp_command"));
    id_texts_set(&tracks->texts, PROCESS_HOST, number, 0, chrome_args_word(args, "rbwp_host"));
}

/* What our own exports say of it. */
static void chrome_tracks_take_own(struct chrome_tracks *tracks, const struct chrome_args *args,
                                   uint32_t number)
{
    struct chrome_track *track = &tracks->tracks[number];
    struct trace_text kind = chrome_args_word(args, "rbwp_kind");
    struct trace_text name = chrome_args_word(args, "rbwp_name");
    for (int i = 0; i < TRACE_TRACK_KINDS; i++)
        if (strlen(trace_track_kind_name[i]) == kind.bytes &&
            memcmp(trace_track_kind_name[i], kind.text, kind.bytes) == 0)
            track->is_own = true, track->kind = (enum trace_track_kind)i;
    if (!track->is_own)
        return;
    track->own = (uint32_t)chrome_args_u64(args, "rbwp_track") + 1;
    track->own_parent = chrome_args_find(args, "rbwp_parent") < CHROME_ARGS_MAX
                            ? (uint32_t)chrome_args_u64(args, "rbwp_parent") + 1
                            : 0;
    track->id = chrome_args_u64(args, "rbwp_id");
    track->os_id = chrome_args_u64(args, "rbwp_os_id");
    id_texts_set(&tracks->texts, TRACK_UNIT, number, 0, chrome_args_word(args, "rbwp_unit"));
    if (name.bytes)
        id_texts_set(&tracks->texts, TRACK_NAME, number, 0, name);
}

void chrome_tracks_name(struct chrome_tracks *tracks, const struct chrome_event *event)
{
    uint32_t number;
    if (chrome_event_is(event, "process_name"))
        name_process(tracks, event, PROCESS_NAME);
    else if (chrome_event_is(event, "process_labels"))
        name_process(tracks, event, PROCESS_LABELS);
    bool of_own = chrome_event_is(event, "thread_sort_index") &&
                  chrome_args_find(event->args, "rbwp_track") < CHROME_ARGS_MAX;
    if (!chrome_event_is(event, "thread_name") && !of_own)
        return;
    struct trace_text name = chrome_args_word(event->args, "name");
    if (!name.bytes || !chrome_tracks_find(tracks, event, &number))
        return;
    id_texts_set(&tracks->texts, TRACK_NAME, number, 0, name);
    if (chrome_args_find(event->args, "rbwp_works") < CHROME_ARGS_MAX)
        tracks->tracks[number].works = (uint32_t)chrome_args_u64(event->args, "rbwp_works") + 1;
    chrome_tracks_take_own(tracks, event->args, number);
}

void chrome_tracks_join(struct chrome_tracks *tracks)
{
    for (uint32_t i = 0; i < tracks->track_map.count && i < tracks->track_room; i++) {
        struct chrome_track *track = &tracks->tracks[i];
        if (!track->is_own)
            continue;
        uint32_t own = thread_map_place(&tracks->own_map, track->own, &tracks->own,
                                        &tracks->own_room, sizeof *tracks->own);
        if (own == THREAD_NONE)
            tracks->full = true;
        else if (!tracks->own[own])
            tracks->own[own] = i + 1;
        else if (tracks->tracks[tracks->own[own] - 1].process == track->process)
            track->same = tracks->own[own];
    }
}

/* ---- adding them ----------------------------------------------------------------- */

/* "node 3 python (GPU 0)": the node where it is known, the name or else the number. Of our own
 * exports the name is all of it, and labels are the host. */
static void make_process_name(const struct chrome_tracks *tracks, uint32_t number,
                              const struct trace_facts *facts, char *name, size_t room)
{
    char node[32] = "";
    struct trace_text given = id_texts_get(&tracks->texts, PROCESS_NAME, number, 0);
    struct trace_text labels = id_texts_get(&tracks->texts, PROCESS_LABELS, number, 0);
    struct trace_text id = id_texts_get(&tracks->texts, PROCESS_ID, number, 0);
    if (facts->has_node && !tracks->processes[number].is_own)
        snprintf(node, sizeof node, "node %" PRIu32 " ", facts->node);
    bool labelled = labels.bytes > 0 && !tracks->processes[number].is_own;
    struct trace_text shown = given.bytes ? given : id;
    snprintf(name, room, "%s%s%.*s%s%.*s%s", node, given.bytes ? "" : "process ", (int)shown.bytes,
             shown.bytes ? shown.text : "", labelled ? " (" : "", labelled ? (int)labels.bytes : 0,
             labelled ? labels.text : "", labelled ? ")" : "");
}

uint32_t chrome_tracks_add_process(struct chrome_tracks *tracks, uint32_t number)
{
    char name[JSON_TEXT_MAX + 64];
    struct chrome_process *process = &tracks->processes[number];
    if (process->number)
        return process->number - 1;
    struct trace_text host = {"", 0};
    if (process->is_own)
        host = id_texts_get(&tracks->texts, process->host_apart ? PROCESS_HOST : PROCESS_LABELS,
                            number, 0);
    make_process_name(tracks, number, &tracks->opened->facts, name, sizeof name);
    const struct trace_process added = {
        .node = process->is_own ? process->node : tracks->opened->facts.node,
        .os_id = process->os_id,
        .name = trace_text(name),
        .host = host,
        .command = id_texts_get(&tracks->texts, PROCESS_COMMAND, number, 0),
        .source = trace_text(tracks->opened->name)};
    process->number = trace_add_process(tracks->trace, added) + 1;
    return process->number - 1;
}

static struct trace_track chrome_tracks_describe(const struct chrome_tracks *tracks,
                                                 uint32_t number, char *name, size_t room)
{
    const struct chrome_track *track = &tracks->tracks[number];
    struct trace_text given = id_texts_get(&tracks->texts, TRACK_NAME, number, 0);
    struct trace_text id = id_texts_get(&tracks->texts, TRACK_ID, number, 0);
    const char *kind = track->async        ? "async "
                       : !track->is_number ? ""
                       : track->gpu        ? "stream " /* as PyTorch's profiler names them */
                                           : "thread ";
    if (given.bytes)
        snprintf(name, room, "%.*s", (int)given.bytes, given.text);
    else
        snprintf(name, room, "%s%.*s", kind, (int)id.bytes, id.bytes ? id.text : "");
    return (struct trace_track){.kind = track->is_own    ? track->kind
                                        : track->counter ? TRACE_COUNTER
                                        : track->async   ? TRACE_ASYNC
                                        : track->gpu     ? TRACE_GPU
                                                         : TRACE_THREAD,
                                .id = track->id,
                                .os_id = track->is_own                     ? track->os_id
                                         : track->is_number && !track->gpu ? track->id
                                                                           : 0,
                                .name = trace_text(*name ? name : "events"),
                                .unit = id_texts_get(&tracks->texts, TRACK_UNIT, number, 0)};
}

/* NULL: it has none. */
static struct chrome_track *chrome_tracks_parent_of(const struct chrome_tracks *tracks,
                                                    const struct chrome_track *track)
{
    uint32_t own =
        track->own_parent ? thread_map_find(&tracks->own_map, track->own_parent) : THREAD_NONE;
    struct chrome_track *parent = own == THREAD_NONE ? NULL : &tracks->tracks[tracks->own[own] - 1];
    return parent && parent != track && parent->process == track->process ? parent : NULL;
}

static uint32_t chrome_tracks_report(struct chrome_tracks *tracks, struct chrome_track *track,
                                     int depth)
{
    char name[JSON_TEXT_MAX + 16];
    if (track->same)
        track = &tracks->tracks[track->same - 1];
    if (track->number)
        return track->number - 1;
    struct chrome_track *parent =
        depth < PARENTS_MAX ? chrome_tracks_parent_of(tracks, track) : NULL;
    uint32_t above = parent ? chrome_tracks_report(tracks, parent, depth + 1) : TRACE_NONE;
    if (track->number) /* a circle */
        return track->number - 1;
    struct trace_track added =
        chrome_tracks_describe(tracks, (uint32_t)(track - tracks->tracks), name, sizeof name);
    added.process = chrome_tracks_add_process(tracks, track->process);
    track->number = 1 + (parent ? trace_add_track_below(tracks->trace, above, added)
                                : trace_add_track(tracks->trace, added));
    return track->number - 1;
}

uint32_t chrome_tracks_add(struct chrome_tracks *tracks, uint32_t number)
{
    struct chrome_track *track = &tracks->tracks[number];
    uint32_t added = chrome_tracks_report(tracks, track, 0);
    track->number = added + 1;
    return added;
}

struct chrome_track *chrome_tracks_numbered(struct chrome_tracks *tracks, uint32_t own,
                                            uint32_t *number_out)
{
    uint32_t number = thread_map_find(&tracks->own_map, (uint64_t)own + 1);
    if (number == THREAD_NONE)
        return NULL;
    *number_out = tracks->own[number] - 1;
    return &tracks->tracks[*number_out];
}

uint32_t chrome_tracks_own(struct chrome_tracks *tracks, uint64_t own)
{
    uint32_t number = thread_map_find(&tracks->own_map, own + 1);
    return number == THREAD_NONE
               ? TRACE_NONE
               : chrome_tracks_report(tracks, &tracks->tracks[tracks->own[number] - 1], 0);
}

void chrome_tracks_free(struct chrome_tracks *tracks)
{
    id_texts_free(&tracks->texts);
    thread_map_free(&tracks->process_map);
    thread_map_free(&tracks->track_map);
    thread_map_free(&tracks->own_map);
    free(tracks->own);
    free(tracks->processes);
    free(tracks->tracks);
}
