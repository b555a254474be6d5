/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legion_log.h - the records of a Legion Prof log, without their meaning.
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
#ifndef LEGION_LOG_H
#define LEGION_LOG_H

#include "trace_text.h"
#include "unpack.h"

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
void legion_log_tell(const struct legion_log *log);

#endif /* LEGION_LOG_H */
