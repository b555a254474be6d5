/* SPDX-License-Identifier: Apache-2.0 */
/* Records are put together in a buffer and compressed; numbers of kinds are those that Legion has.
 */
#include "legion_file.h"

#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* ---- gzip files of one member each, compressed in pieces by all threads ---------------------- */
/*
 * Files that are written side by side share one queue of pieces, so memory is a
 * piece a file and a few of the queue's. A piece knows the last 32 KiB before
 * it, so that cutting costs a few bytes each; how many threads there are
 * changes nothing.
 *
 * A piece ends with an empty stored block, which brings the next one to a whole byte.
 */

enum { LEGION_FILE_PIECE_BYTES = 128 << 10, WINDOW_BYTES = 32 << 10, LEVEL = 6 };

struct piece {
    struct gzip_file *file;
    uint8_t *text, *packed;
    uint32_t before, count;
    size_t packed_bytes, packed_room; /* packed_bytes 0: it failed */
    uint32_t crc;
    bool ready; /* stream is initialised */
    z_stream stream;
};

struct gzip_pieces {
    struct ordered_jobs *jobs;
};

static uint8_t *new_text(void)
{
    return malloc(WINDOW_BYTES + LEGION_FILE_PIECE_BYTES);
}

static void legion_file_run(void *job)
{
    struct piece *piece = job;
    z_stream *stream = &piece->stream;
    uint8_t *begin = piece->text + piece->before;
    deflateReset(stream);
    if (piece->before)
        deflateSetDictionary(stream, piece->text, piece->before);
    stream->next_in = begin;
    stream->avail_in = piece->count;
    stream->next_out = piece->packed;
    stream->avail_out = (uInt)piece->packed_room;
    bool done = deflate(stream, Z_SYNC_FLUSH) == Z_OK && stream->avail_in == 0;
    piece->packed_bytes = done ? stream->total_out : 0;
    piece->crc = (uint32_t)crc32(crc32(0, NULL, 0), begin, piece->count);
}

static void legion_file_stop(void *job)
{
    struct piece *piece = job;
    if (piece->ready)
        deflateEnd(&piece->stream);
    free(piece->text);
    free(piece->packed);
}

struct gzip_pieces *gzip_pieces_new(struct job_threads *threads)
{
    struct gzip_pieces *pieces = calloc(1, sizeof *pieces);
    if (pieces && (pieces->jobs = ordered_jobs_new(threads, sizeof(struct piece), legion_file_run)))
        return pieces;
    free(pieces);
    return NULL;
}

void gzip_pieces_free(struct gzip_pieces *pieces)
{
    if (pieces)
        ordered_jobs_free(pieces->jobs, legion_file_stop);
    free(pieces);
}

/* ---- pieces in, pieces out ------------------------------------------------------------- */

static void legion_file_write_piece(const struct piece *piece)
{
    struct gzip_file *file = piece->file;
    file->failed |= piece->packed_bytes == 0;
    if (file->failed)
        return;
    out_bytes(file->out, (const char *)piece->packed, piece->packed_bytes);
    file->crc = (uint32_t)crc32_combine(file->crc, piece->crc, (z_off_t)piece->count);
    file->bytes += piece->count;
}

static bool make_ready(struct piece *piece)
{
    if (piece->ready)
        return true;
    if (deflateInit2(&piece->stream, LEVEL, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    piece->ready = true;
    piece->packed_room = deflateBound(&piece->stream, LEGION_FILE_PIECE_BYTES) + 16;
    piece->packed = malloc(piece->packed_room);
    piece->text = new_text();
    return piece->packed && piece->text;
}

/* The file's text goes with the piece; the piece's own, which was written, becomes the file's. */
static void legion_file_submit(struct gzip_file *file)
{
    struct ordered_jobs *jobs = file->pieces->jobs;
    struct piece *piece;
    while (!(piece = ordered_jobs_next(jobs)))
        legion_file_write_piece(ordered_jobs_take(jobs));
    file->failed |= !make_ready(piece);
    if (file->failed || file->count == 0)
        return;
    uint8_t *text = file->text;
    uint32_t all = file->before + file->count, kept = all < WINDOW_BYTES ? all : WINDOW_BYTES;
    file->text = piece->text;
    memcpy(file->text, text + all - kept, kept);
    piece->file = file;
    piece->text = text;
    piece->before = file->before;
    piece->count = file->count;
    file->before = kept;
    file->count = 0;
    ordered_jobs_submit(jobs);
}

/* ---- a file ---------------------------------------------------------------------------- */

/* The file does not move until it is finished. False without memory. */
static bool gzip_file_start(struct gzip_file *file, struct gzip_pieces *pieces, struct out *out)
{
    /* No name and no time in it: the same data give the same file. 255: system not given. */
    static const char head[] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)255};
    *file = (struct gzip_file){
        .out = out, .pieces = pieces, .text = new_text(), .crc = (uint32_t)crc32(0, NULL, 0)};
    if (!file->text)
        return false;
    out_bytes(out, head, sizeof head);
    return true;
}

static void gzip_file_put(struct gzip_file *file, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    while (count > 0 && !file->failed) {
        size_t room = LEGION_FILE_PIECE_BYTES - file->count, part = count < room ? count : room;
        memcpy(file->text + file->before + file->count, from, part);
        file->count += (uint32_t)part;
        from += part;
        count -= part;
        if (file->count == LEGION_FILE_PIECE_BYTES)
            legion_file_submit(file);
    }
}

/* False when something could not be compressed. */
static bool gzip_file_finish(struct gzip_file *file)
{
    struct piece *piece;
    char end[10] = {3, 0}; /* an empty block, the last one */
    legion_file_submit(file);
    while ((piece = ordered_jobs_take(file->pieces->jobs)))
        legion_file_write_piece(piece);
    for (int i = 0; i < 4; i++) {
        end[2 + i] = (char)(file->crc >> 8 * i);
        end[6 + i] = (char)(file->bytes >> 8 * i);
    }
    if (!file->failed)
        out_bytes(file->out, end, sizeof end);
    free(file->text);
    return !file->failed;
}

/* ---- legion file ----------------------------------------------------------------------------- */

enum { RECORD_BYTES = 16 << 10, TEXT_BYTES = 4096, UUID_BYTES = 16 };
enum legion_file_kind {
    CALL_DESC = 3,
    PROC_DESC = 6,
    MACHINE_DESC = 10,
    TASK_KIND = 11,
    TASK_VARIANT = 12,
    TASK_INFO = 18,
    CALL_INFO = 26,
    GPU_TASK_INFO = 29,
    ZERO_TIME = 60
};

#define TASK_HEAD                                                                                  \
    ", op_id:UniqueID:8, task_id:TaskID:4, variant_id:VariantID:4, proc_id:ProcID:8"               \
    ", create:timestamp_t:8, ready:timestamp_t:8, start:timestamp_t:8, stop:timestamp_t:8"
#define TASK_TAIL                                                                                  \
    ", creator:unsigned long long:8, critical:unsigned long long:8, fevent:unsigned long "         \
    "long:8}\n"

/* What both dialects declare alike. */
static const char declarations[] =
    "RuntimeCallDesc {id:3, kind:RuntimeCallKind:4, name:string:-1}\n"
    "ProcDesc {id:6, proc_id:ProcID:8, kind:ProcKind:4, uuid_size:unsigned:4, uuid:uuid:1}\n"
    "TaskKind {id:11, task_id:TaskID:4, name:string:-1, overwrite:bool:1}\n"
    "TaskVariant {id:12, task_id:TaskID:4, variant_id:VariantID:4, name:string:-1}\n"
    "TaskInfo {id:18" TASK_HEAD TASK_TAIL
    "RuntimeCallInfo {id:26, kind:RuntimeCallKind:4, start:timestamp_t:8, stop:timestamp_t:8"
    ", proc_id:ProcID:8, fevent:unsigned long long:8}\n"
    "GPUTaskInfo {id:29" TASK_HEAD ", gpu_start:timestamp_t:8, gpu_stop:timestamp_t:8" TASK_TAIL
    "ZeroTime {id:60, zero_time:long long:8}\n"
    "\n";

/* ---- bytes ----------------------------------------------------------------------- */

static void legion_file_put(struct legion_file *file, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        file->record[file->record_bytes++] = (uint8_t)(value >> 8 * i);
}

/* A zero byte would end it, so it ends there. */
static void legion_file_put_text(struct legion_file *file, struct trace_text text)
{
    for (uint32_t i = 0; i < text.bytes && i < TEXT_BYTES && text.text[i]; i++)
        file->record[file->record_bytes++] = (uint8_t)text.text[i];
    legion_file_put(file, 0, 1);
}

static void legion_file_begin(struct legion_file *file, enum legion_file_kind kind)
{
    file->record_bytes = 0;
    legion_file_put(file, kind, 4);
}

static void legion_file_end(struct legion_file *file)
{
    gzip_file_put(&file->gzip, file->record, file->record_bytes);
}

/* ---- the file -------------------------------------------------------------------- */

static void write_head(struct legion_file *file, const struct legion_machine *machine)
{
    char text[512];
    int bytes = file->dialect_b
                    ? snprintf(text, sizeof text, "FileType: BinaryLegionProf v: %u\nrbwp\n",
                               (unsigned)machine->version)
                    : snprintf(text, sizeof text, "FileType: BinaryLegionProf v: 1.0\n");
    bytes +=
        snprintf(text + bytes, sizeof text - (size_t)bytes,
                 "MachineDesc {id:10, node_id:unsigned:4, num_nodes:unsigned:4%s"
                 ", hostname:string:-1, host_id:unsigned long long:8, process_id:unsigned:4}\n",
                 file->dialect_b ? "" : ", version:unsigned:4");
    gzip_file_put(&file->gzip, text, (size_t)bytes);
    gzip_file_put(&file->gzip, declarations, sizeof declarations - 1);
    legion_file_begin(file, MACHINE_DESC);
    legion_file_put(file, machine->node, 4);
    legion_file_put(file, machine->nodes, 4);
    if (!file->dialect_b)
        legion_file_put(file, machine->version, 4);
    legion_file_put_text(file, machine->host);
    legion_file_put(file, 0, 8);
    legion_file_put(file, machine->process_id, 4);
    legion_file_end(file);
    if (machine->zero_ns == 0)
        return;
    legion_file_begin(file, ZERO_TIME);
    legion_file_put(file, (uint64_t)machine->zero_ns, 8);
    legion_file_end(file);
}

bool legion_file_open(struct legion_file *file, const struct legion_output *output,
                      const struct legion_machine *machine)
{
    file->dialect_b = machine->version > 1008;
    file->record = malloc(RECORD_BYTES);
    if (!file->record)
        message("out of memory");
    if (!file->record || !out_open(&file->out, output->options, output->inputs)) {
        free(file->record);
        return false;
    }
    if (!gzip_file_start(&file->gzip, output->pieces, &file->out)) {
        message("out of memory");
        out_discard(&file->out);
        (void)out_close(&file->out);
        free(file->record);
        return false;
    }
    write_head(file, machine);
    return true;
}

enum exit_code legion_file_close(struct legion_file *file)
{
    bool whole = gzip_file_finish(&file->gzip);
    if (!whole)
        message("out of memory; %s is cut", file->out.name);
    free(file->record);
    return exit_worse(whole ? EXIT_GOOD : EXIT_PARTIAL, out_close(&file->out));
}

/* ---- records --------------------------------------------------------------------- */

void legion_file_proc(struct legion_file *file, uint64_t proc, uint32_t kind)
{
    legion_file_begin(file, PROC_DESC);
    legion_file_put(file, proc, 8);
    legion_file_put(file, kind, 4);
    legion_file_put(file, UUID_BYTES, 4);
    legion_file_put(file, 0, 8);
    legion_file_put(file, 0, 8);
    legion_file_end(file);
}

void legion_file_task_kind(struct legion_file *file, uint32_t kind, struct trace_text name)
{
    legion_file_begin(file, TASK_KIND);
    legion_file_put(file, kind, 4);
    legion_file_put_text(file, name);
    legion_file_put(file, 1, 1);
    legion_file_end(file);
}

void legion_file_variant(struct legion_file *file, uint32_t kind, enum legion_variant variant,
                         struct trace_text name)
{
    legion_file_begin(file, TASK_VARIANT);
    legion_file_put(file, kind, 4);
    legion_file_put(file, variant, 4);
    legion_file_put_text(file, name);
    legion_file_end(file);
}

void legion_file_call_kind(struct legion_file *file, uint32_t kind, struct trace_text name)
{
    legion_file_begin(file, CALL_DESC);
    legion_file_put(file, kind, 4);
    legion_file_put_text(file, name);
    legion_file_end(file);
}

void legion_file_task(struct legion_file *file, const struct legion_task *task)
{
    const bool device = task->variant == LEGION_DEVICE_VARIANT;
    legion_file_begin(file, device ? GPU_TASK_INFO : TASK_INFO);
    legion_file_put(file, task->op, 8);
    legion_file_put(file, task->kind, 4);
    legion_file_put(file, task->variant, 4);
    legion_file_put(file, task->proc, 8);
    legion_file_put(file, task->create, 8);
    legion_file_put(file, task->start, 8); /* ready, start */
    legion_file_put(file, task->start, 8);
    legion_file_put(file, device ? task->start : task->stop, 8);
    if (device) {
        legion_file_put(file, task->start, 8);
        legion_file_put(file, task->stop, 8);
    }
    legion_file_put(file, task->creator, 8);
    legion_file_put(file, 0, 8); /* critical: none */
    legion_file_put(file, task->event, 8);
    legion_file_end(file);
}

void legion_file_call(struct legion_file *file, uint32_t kind, uint64_t start, uint64_t stop,
                      uint64_t proc, uint64_t event)
{
    legion_file_begin(file, CALL_INFO);
    legion_file_put(file, kind, 4);
    legion_file_put(file, start, 8);
    legion_file_put(file, stop, 8);
    legion_file_put(file, proc, 8);
    legion_file_put(file, event, 8);
    legion_file_end(file);
}
