/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legion_file.h - one Legion Prof log being written: declarations, then records.
 *
 * One gzip member, since Legion Prof reads no more. Only the kinds that are
 * known to be enough for it are written.
 */
#ifndef LEGION_FILE_H
#define LEGION_FILE_H

#include "out.h"
#include "trace_text.h"

/* ---- gzip files of one member each, compressed in pieces by all threads ---------------------- */

struct gzip_pieces;

/* NULL without memory. */
struct gzip_pieces *gzip_pieces_new(struct job_threads *threads);
/* All of its files are finished. NULL is fine. */
void gzip_pieces_free(struct gzip_pieces *pieces);

struct gzip_file {
    struct out *out;
    struct gzip_pieces *pieces;
    uint8_t *text; /* what came before, then the piece that is being filled */
    uint32_t before, count;
    uint32_t crc;
    uint64_t bytes;
    bool failed;
};

/* ---- legion file ----------------------------------------------------------------------------- */

#define LEGION_GPU 1
#define LEGION_CPU 2
#define LEGION_UTILITY 3

struct legion_file {
    struct out out;
    struct gzip_file gzip;
    uint8_t *record; /* being put together */
    size_t record_bytes;
    bool dialect_b;
    char path[4096];
};

struct legion_machine {
    uint32_t node, nodes, version;
    uint64_t process_id;
    struct trace_text host;
    int64_t zero_ns; /* 0 unknown */
};

/* Work on a GPU has a variant of its own: its host part, a point, is no call of the host's. So has
 * what has a call's name and is none: what waited for it in a queue, a range. */
enum legion_variant { LEGION_HOST_VARIANT = 1, LEGION_DEVICE_VARIANT, LEGION_OTHER_VARIANT };

/* A task, or what is shown as one. On a device gpu_start and gpu_stop are start and stop, and the
 * host's part is a point at start. */
struct legion_task {
    uint64_t op, proc, event;
    uint64_t creator; /* event of the task that launched it, 0 none */
    uint32_t kind;
    enum legion_variant variant;
    uint64_t create, start, stop; /* create <= start */
};

struct legion_output {
    const struct out_options *options;
    struct operands inputs;
    struct gzip_pieces *pieces;
};

/* False with the message given. Writes declarations, machine and zero time. The file does not move
 * until it is closed. */
bool legion_file_open(struct legion_file *file, const struct legion_output *output,
                      const struct legion_machine *machine);
enum exit_code legion_file_close(struct legion_file *file);

void legion_file_proc(struct legion_file *file, uint64_t proc, uint32_t kind);
void legion_file_task_kind(struct legion_file *file, uint32_t kind, struct trace_text name);
void legion_file_variant(struct legion_file *file, uint32_t kind, enum legion_variant variant,
                         struct trace_text name);
void legion_file_call_kind(struct legion_file *file, uint32_t kind, struct trace_text name);
void legion_file_task(struct legion_file *file, const struct legion_task *task);
/* In the task that has the event. */
void legion_file_call(struct legion_file *file, uint32_t kind, uint64_t start, uint64_t stop,
                      uint64_t proc, uint64_t event);

#endif /* LEGION_FILE_H */
