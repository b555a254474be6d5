/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_tracks.h - the processes and tracks of Chrome JSON, and what they are called.
 *
 * Events name them by numbers or strings; the first one that does makes the
 * track. Asynchronous events have a track for each category of a process.
 * Names may stand behind the events, so tracks are told to the trace when the
 * text is read again.
 */
#ifndef CHROME_TRACKS_H
#define CHROME_TRACKS_H

#include "chrome_event.h"
#include "id_texts.h"
#include "thread_map.h"
#include "trace_source.h"

struct chrome_process {
    uint64_t os_id;
    uint32_t node;
    bool is_own, host_apart; /* host_apart: labels are not its host */
    uint32_t number;         /* of the trace, + 1; 0 not told yet */
};

struct chrome_track {
    uint32_t process; /* number in process_map */
    uint32_t number;  /* of the trace, + 1; 0 not told yet */
    bool async, gpu, is_number, counter;
    enum trace_track_kind kind; /* is_own: of our own export */
    bool is_own;
    uint32_t own, own_parent; /* its numbers there, + 1; 0 none */
    uint32_t works;           /* number there + 1 of the track whose spans stand here; 0 its own */
    uint32_t same;            /* number + 1 of the track of which it is another row */
    uint64_t id, os_id;
    int64_t last_ns; /* latest time seen on it */
};

struct chrome_tracks {
    struct id_texts texts;
    struct thread_map process_map, track_map, own_map;
    struct chrome_process *processes;
    struct chrome_track *tracks;
    uint32_t *own; /* by number in own_map: the first of its tracks, + 1 */
    uint32_t process_room, track_room, own_room;
    bool full; /* there was no room */
};

/* The track of an event and its number; NULL when there is no room. */
struct chrome_track *chrome_tracks_find(struct chrome_tracks *tracks,
                                        const struct chrome_event *event, uint32_t *number_out);
/* The track of one series of a counter. NULL when there is no room. */
struct chrome_track *chrome_tracks_find_counter(struct chrome_tracks *tracks,
                                                const struct chrome_event *event, uint32_t arg,
                                                uint32_t *number_out);
/* What a metadata event calls its process or thread. */
void chrome_tracks_name(struct chrome_tracks *tracks, const struct chrome_event *event);
/* When all are named: rows of one track of our own exports are one. */
void chrome_tracks_join(struct chrome_tracks *tracks);
/* The track of an own export that has this number there; NULL: there is none. */
struct chrome_track *chrome_tracks_numbered(struct chrome_tracks *tracks, uint32_t own,
                                            uint32_t *number_out);
/* The number of a track of our own export in the trace; TRACE_NONE: it has none. */
uint32_t chrome_tracks_own(struct chrome_tracks *tracks, uint64_t own, struct trace *trace,
                           const struct trace_source *opened);
/* Of its process, likewise told first. */
uint32_t chrome_tracks_tell_process(struct chrome_tracks *tracks, uint32_t process,
                                    struct trace *trace, const struct trace_source *opened);
/* Its number in the trace, to which it and its process are told first where they were not. */
uint32_t chrome_tracks_tell(struct chrome_tracks *tracks, uint32_t number, struct trace *trace,
                            const struct trace_source *opened);
void chrome_tracks_free(struct chrome_tracks *tracks);

/* Whether its id, not its thread, says what it belongs to. */
bool chrome_is_async(char phase);
uint64_t chrome_hash_text(uint64_t hash, const char *text, uint32_t bytes);
uint64_t chrome_hash_id(uint64_t hash, const struct chrome_id *id);

#endif /* CHROME_TRACKS_H */
