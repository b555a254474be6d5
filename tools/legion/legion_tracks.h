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

#include "text_buffer.h"
#include "thread_map.h"
#include "trace.h"
#include "unpack.h"

/* ---- legion log ------------------------------------------------------------------------------ */
/*
 * The records of a Legion Prof log, without their meaning.
 *
 * A log is text that declares each kind of record with its fields, an empty
 * line, then records: a 32-bit number of the kind and the fields, packed. Kinds
 * go by name, their numbers are the file's own. Kinds that are not known here
 * are skipped by what is declared; a table corrects the declarations that
 * writers are known to get wrong. Two dialects: one writes "v: 1.0" and has
 * its version in MachineDesc, the other writes the version there.
 *
 * A file that was cut keeps its whole records.
 */

#define LEGION_MAGIC "FileType: BinaryLegionProf v: "
#define LEGION_TEXT_MAX 4096 /* longer texts are cut */
#define LEGION_FIELDS_MAX 64 /* of one kind */
#define LEGION_KINDS_MAX 1024

enum legion_kind {
    LEGION_MACHINE,
    LEGION_ZERO_TIME,
    LEGION_CALIBRATION_ERROR,
    LEGION_MAX_DIM,
    LEGION_PROC,
    LEGION_MEM,
    LEGION_TASK_KIND,
    LEGION_TASK_VARIANT,
    LEGION_META,
    LEGION_RUNTIME_CALL_KIND,
    LEGION_MAPPER_CALL_KIND,
    LEGION_PROVENANCE,
    LEGION_TASK, /* the first row */
    LEGION_IMPLICIT_TASK,
    LEGION_GPU_TASK,
    LEGION_META_TASK,
    LEGION_MESSAGE,
    LEGION_PROF_TASK,
    LEGION_TASK_WAIT,
    LEGION_META_WAIT,
    LEGION_RUNTIME_CALL,
    LEGION_MAPPER_CALL,
    LEGION_APPLICATION_CALL,
    LEGION_COPY,
    LEGION_COPY_INST,
    LEGION_FILL,
    LEGION_FILL_INST,
    LEGION_PARTITION,
    LEGION_OTHER, /* skipped */
};

/* Fields that are looked at, by their name in the declaration. */
enum legion_field {
    LEGION_OP_ID,
    LEGION_TASK_ID,
    LEGION_VARIANT_ID,
    LEGION_LG_ID,
    LEGION_KIND,
    LEGION_PROC_ID,
    LEGION_MEM_ID,
    LEGION_READY,
    LEGION_START,
    LEGION_STOP,
    LEGION_GPU_START,
    LEGION_GPU_STOP,
    LEGION_SPAWN,
    LEGION_CREATE,
    LEGION_CREATOR,
    LEGION_FEVENT,
    LEGION_WAIT_START,
    LEGION_WAIT_READY,
    LEGION_WAIT_END,
    LEGION_PROVENANCE_ID,
    LEGION_SRC,
    LEGION_DST,
    LEGION_NODE_ID,
    LEGION_NUM_NODES,
    LEGION_VERSION,
    LEGION_PROCESS_ID,
    LEGION_PRIVILEGE,
    LEGION_VALUE, /* the one number of a kind that has no more */
    LEGION_FIELDS
};

struct legion_record {
    enum legion_kind kind;
    uint64_t value[LEGION_FIELDS]; /* of the fields that its kind declares; 32-bit ones unsigned */
    struct trace_text text;        /* name, host or provenance; valid until the next record */
};

struct legion_layout;

struct legion_log {
    struct unpack bytes;
    const char *name;
    bool dialect_b;
    uint32_t version; /* 0 not known (yet) */
    struct legion_layout *layouts;
    uint32_t layout_count, layout_room;
    uint32_t max_dim;
    char *text;
    uint64_t records, skipped; /* skipped: of kinds that are not known */
    uint64_t cut_bytes;        /* of a record that is not whole, at the end */
    char problem[160];         /* why not all was read; empty: it was */
};

/* Reads up to the first record; false with the message given. */
bool legion_log_open(struct legion_log *log, int fd, const char *name);
void legion_log_close(struct legion_log *log);
/* False at the end; then problem says how it ended. */
bool legion_log_next(struct legion_log *log, struct legion_record *record);
/* Of the records so far: what is dropped or missing, by kind. */
void legion_log_report(const struct legion_log *log);

/* ---- legion tracks --------------------------------------------------------------------------- */

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
