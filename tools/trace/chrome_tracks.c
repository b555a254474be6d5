/* SPDX-License-Identifier: Apache-2.0 */
/* Found by a hash of what names them. */
#include "chrome_tracks.h"
#include "text_hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum table { PROCESS_ID = 1, PROCESS_NAME, PROCESS_LABELS, TRACK_ID, TRACK_NAME };

bool chrome_is_async(char phase)
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
    bool same = key.bytes == text.bytes && memcmp(key.text, text.text, key.bytes) == 0;
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

void chrome_tracks_name(struct chrome_tracks *tracks, const struct chrome_event *event)
{
    uint32_t number;
    bool process = chrome_event_is(event, "process_name");
    bool labels = chrome_event_is(event, "process_labels");
    struct trace_text text = chrome_args_word(event->args, labels ? "labels" : "name");
    if (text.bytes == 0)
        return;
    if (process || labels) {
        number = find_process(tracks, event);
        if (number != THREAD_NONE)
            id_texts_set(&tracks->texts, process ? PROCESS_NAME : PROCESS_LABELS, number, 0, text);
    } else if (chrome_event_is(event, "thread_name") &&
               chrome_tracks_find(tracks, event, &number)) {
        id_texts_set(&tracks->texts, TRACK_NAME, number, 0, text);
    }
}

/* ---- telling them ---------------------------------------------------------------- */

/* "node 3 python (GPU 0)": the node where it is known, the name or else the number. */
static uint32_t tell_process(struct chrome_tracks *tracks, uint32_t number, struct trace *trace,
                             const struct trace_source *opened)
{
    char name[320], node[32] = "";
    const struct trace_facts *facts = &opened->facts;
    struct trace_text given = id_texts_get(&tracks->texts, PROCESS_NAME, number, 0);
    struct trace_text labels = id_texts_get(&tracks->texts, PROCESS_LABELS, number, 0);
    struct trace_text id = id_texts_get(&tracks->texts, PROCESS_ID, number, 0);
    if (facts->has_node)
        snprintf(node, sizeof node, "node %" PRIu32 " ", facts->node);
    bool labelled = labels.bytes > 0;
    struct trace_text shown = given.bytes ? given : id;
    snprintf(name, sizeof name, "%s%s%.*s%s%.*s%s", node, given.bytes ? "" : "process ",
             (int)shown.bytes, shown.bytes ? shown.text : "", labelled ? " (" : "",
             labelled ? (int)labels.bytes : 0, labelled ? labels.text : "", labelled ? ")" : "");
    return trace_add_process(trace, (struct trace_process){.node = facts->node,
                                                           .os_id = tracks->processes[number].os_id,
                                                           .name = trace_text(name),
                                                           .source = trace_text(opened->name)});
}

static uint32_t add_track(const struct chrome_tracks *tracks, uint32_t number, uint32_t process,
                          struct trace *trace)
{
    char name[320];
    const struct chrome_track *track = &tracks->tracks[number];
    struct trace_text given = id_texts_get(&tracks->texts, TRACK_NAME, number, 0);
    struct trace_text id = id_texts_get(&tracks->texts, TRACK_ID, number, 0);
    const char *kind = track->async ? "async " : !track->is_number ? "" : "thread ";
    if (given.bytes)
        snprintf(name, sizeof name, "%.*s", (int)given.bytes, given.text);
    else
        snprintf(name, sizeof name, "%s%.*s", kind, (int)id.bytes, id.bytes ? id.text : "");
    return trace_add_track(
        trace, (struct trace_track){.process = process,
                                    .kind = track->counter ? TRACE_COUNTER
                                            : track->async ? TRACE_ASYNC
                                            : track->gpu   ? TRACE_GPU
                                                           : TRACE_THREAD,
                                    .id = track->id,
                                    .os_id = track->is_number && !track->gpu ? track->id : 0,
                                    .name = trace_text(*name ? name : "events")});
}

uint32_t chrome_tracks_tell(struct chrome_tracks *tracks, uint32_t number, struct trace *trace,
                            const struct trace_source *opened)
{
    struct chrome_track *track = &tracks->tracks[number];
    struct chrome_process *process = &tracks->processes[track->process];
    if (!process->number)
        process->number = tell_process(tracks, track->process, trace, opened) + 1;
    if (!track->number)
        track->number = add_track(tracks, number, process->number - 1, trace) + 1;
    return track->number - 1;
}

void chrome_tracks_free(struct chrome_tracks *tracks)
{
    id_texts_free(&tracks->texts);
    thread_map_free(&tracks->process_map);
    thread_map_free(&tracks->track_map);
    free(tracks->processes);
    free(tracks->tracks);
}
