/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legion_tracks.h - where the rows of a Legion Prof log belong.
 *
 * A processor is a track. A GPU has two: where the host launches, and the device. Processors are
 * known before tracks are made, so that only those that do something get one, in the order of
 * their kinds. Copies are on channels, made when they come: one for each pair of memories.
 */
#ifndef LEGION_TRACKS_H
#define LEGION_TRACKS_H

#include "id_texts.h"
#include "legion_log.h"
#include "thread_map.h"
#include "trace.h"

/* ---- what a Legion Prof log calls its tasks, calls and memories ------------------------------ */

struct legion_names {
    struct id_texts texts;
};

/* Takes the record if it describes something. */
void legion_names_note(struct legion_names *names, const struct legion_record *record);
/* The number of a row's name. */
uint32_t legion_names_row(const struct legion_names *names, struct trace *trace,
                          const struct legion_record *record);
/* A task that our own log says is a call of a work item. */
bool legion_names_is_call(const struct legion_names *names, const struct legion_record *record);
void legion_names_free(struct legion_names *names);

/* ---- legion tracks --------------------------------------------------------------------------- */

#define LEGION_NO_MEMORY UINT32_MAX
/* In place of a destination: the channel of partitioning. */
#define LEGION_PARTITIONING (LEGION_NO_MEMORY - 1)

struct legion_proc {
    uint64_t id;
    uint32_t kind;
    bool host_used, device_used;
    uint32_t host_track, device_track;
};

struct legion_tracks {
    const char *name; /* of the log, for messages */
    struct thread_map proc_map, memory_map;
    struct legion_proc *procs;
    uint32_t proc_room;

    /* While it is read. */
    struct trace *trace;
    const struct legion_names *names;
    uint32_t process;
    struct thread_map channel_map;
    uint32_t *channel_tracks;
    uint32_t channel_room;
    bool failed; /* a message was given */
};

/* NULL when there is no room. */
struct legion_proc *legion_tracks_proc(struct legion_tracks *tracks, uint64_t id);
/* A row, or what describes a processor. */
void legion_tracks_note(struct legion_tracks *tracks, const struct legion_record *record);
/* Makes the tracks of processors. */
void legion_tracks_start(struct legion_tracks *tracks, struct trace *trace,
                         const struct legion_names *names, uint32_t process);
/* Memories have these numbers. */
uint32_t legion_tracks_memory(struct legion_tracks *tracks, uint64_t id);
/* The track for copies between two memories; LEGION_NO_MEMORY where it is not known. */
uint32_t legion_tracks_channel(struct legion_tracks *tracks, uint32_t src, uint32_t dst);
void legion_tracks_stop(struct legion_tracks *tracks);
void legion_tracks_free(struct legion_tracks *tracks);

#endif /* LEGION_TRACKS_H */
