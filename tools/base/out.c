/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffered output. An output file is opened without truncation first, so that
 * "-f -o FILE" with FILE among the inputs is refused before anything is lost.
 *
 * Where the file system can, the file has no name until it is whole: who is killed leaves none, and
 * one that was there stays as it was until then.
 */
#include "out.h"

#include "live_path.h"
#include "message.h"
#include "progress.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { SEND_BYTES = 1 << 20, LARGE_BYTES = 32 << 10 };

const struct option out_option_table[] = {
    {"output", 'o', "FILE", NULL, "write to FILE instead of standard output ('-')",
     offsetof(struct out_options, path), NULL},
    {"force", 'f', NULL, NULL, "overwrite FILE if it exists", offsetof(struct out_options, force),
     NULL},
    {0},
};

static bool is_file(const struct stat *output, const char *path)
{
    struct stat input;
    int rc = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &input) : stat(path, &input);
    return rc == 0 && input.st_dev == output->st_dev && input.st_ino == output->st_ino;
}

/* An operand's FILE.live is read with it. */
static bool is_input(const struct stat *output, struct operands inputs)
{
    bool is = false;
    for (int i = 0; i < inputs.count && !is && S_ISREG(output->st_mode); i++) {
        char *live = live_path(inputs.words[i]);
        is = is_file(output, inputs.words[i]) || (live && is_file(output, live));
        free(live);
    }
    return is;
}

/* Opens an existing file for overwriting. */
static int open_existing(const char *path, struct operands inputs)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        message("%s: cannot be opened for writing: %s", path, strerror(errno));
    } else if (is_input(&status, inputs)) {
        message("%s: is an input too; write to another file", path);
    } else if (S_ISREG(status.st_mode) && ftruncate(fd, 0) != 0) {
        message("%s: cannot be truncated: %s", path, strerror(errno));
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- files without a name ---------------------------------------------------------- */

/* For one that is going to stand at path; -1 where there is no such thing. */
static int open_unnamed(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
    int fd = -1;
    if (folder && access("/proc/self/fd", X_OK) == 0)
        fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
    return fd;
}

static bool give_name(int fd, const char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* A name cannot be taken from a file: it gets another one first. */
static bool replace(int fd, const char *path)
{
    char *part;
    if (asprintf(&part, "%s.%ld.part", path, (long)getpid()) < 0)
        return false;
    unlink(part);
    bool done = give_name(fd, part) && rename(part, path) == 0;
    int reason = errno;
    if (!done)
        unlink(part);
    free(part);
    errno = reason;
    return done;
}

/* One that becomes the owner's and has the rights of a file of a single name. */
static int open_successor(const char *path, struct operands inputs)
{
    struct stat old, made;
    if (lstat(path, &old) != 0 || !S_ISREG(old.st_mode) || old.st_nlink != 1 ||
        is_input(&old, inputs))
        return -1;
    int fd = open_unnamed(path);
    if (fd < 0)
        return -1;
    if (fstat(fd, &made) == 0 && fchmod(fd, old.st_mode & 07777) == 0 &&
        ((made.st_uid == old.st_uid && made.st_gid == old.st_gid) ||
         fchown(fd, old.st_uid, old.st_gid) == 0) &&
        access(path, W_OK) == 0)
        return fd;
    close(fd);
    return -1;
}

/* ---- opening ----------------------------------------------------------------------- */

bool out_may_create(const struct out_options *options, struct operands inputs)
{
    struct stat status;
    if (stat(options->path, &status) != 0)
        return true; /* whatever else is wrong shows when it is created */
    if (!options->force)
        message("%s: exists; give -f to overwrite it", options->path);
    else if (!S_ISREG(status.st_mode))
        message("%s: is no regular file; it cannot be replaced", options->path);
    else if (is_input(&status, inputs))
        message("%s: is an input too; write to another file", options->path);
    else
        return true;
    return false;
}

static bool out_open_file(struct out *out, const struct out_options *options,
                          struct operands inputs)
{
    struct stat status;
    out->name = options->path;
    if (lstat(options->path, &status) != 0 && errno == ENOENT &&
        (out->fd = open_unnamed(options->path)) >= 0) {
        out->unnamed = options->path;
        return true;
    }
    out->fd = open(options->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out->fd >= 0) {
        out->unlink = options->path;
        return true;
    }
    if (errno != EEXIST)
        return message_fail("%s: cannot be created: %s", options->path, strerror(errno));
    if (!options->force)
        return message_fail("%s: exists; give -f to overwrite it", options->path);
    out->fd = open_successor(options->path, inputs);
    out->replaces = out->fd >= 0;
    out->unnamed = out->replaces ? options->path : NULL;
    if (!out->replaces)
        out->fd = open_existing(options->path, inputs);
    return out->fd >= 0;
}

bool out_open(struct out *out, const struct out_options *options, struct operands inputs)
{
    *out = (struct out){.fd = STDOUT_FILENO, .name = "standard output"};
    out->buffer = malloc(OUT_BUFFER_BYTES);
    if (!out->buffer)
        return message_fail("out of memory");
    if (!out_is_standard(options) && !out_open_file(out, options, inputs)) {
        free(out->buffer);
        return false;
    }
    return true;
}

/* Past buffer and layer, to the system. */
static void out_write(struct out *out, const char *bytes, size_t count)
{
    while (count > 0 && !out->os_errno && !out->discarded) {
        ssize_t written = write(out->fd, bytes, count);
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            out->os_errno = written == 0 ? EIO : errno;
        }
    }
}

static void pass_on(struct out *out, const char *bytes, size_t count)
{
    if (count)
        out->last = bytes[count - 1];
    if (out->layer)
        out->layer(out, bytes, count);
    else
        out_write(out, bytes, count);
}

void out_flush(struct out *out)
{
    progress_clear();
    pass_on(out, out->buffer, out->used);
    out->used = 0;
}

void out_discard(struct out *out)
{
    out->discarded = true;
}

enum exit_code out_close(struct out *out)
{
    out_flush(out);
    free(out->buffer);
    if (out->unnamed && !out->os_errno && !out->discarded) {
        bool done =
            out->replaces ? replace(out->fd, out->unnamed) : give_name(out->fd, out->unnamed);
        if (!done)
            out->os_errno = errno;
    }
    /* A network file system may report a full disk only here. */
    if (close(out->fd) != 0 && !out->os_errno && errno != EINTR)
        out->os_errno = errno;
    bool failed = out->os_errno && out->os_errno != EPIPE;
    if (failed)
        message("%s: cannot be written: %s", out->name, strerror(out->os_errno));
    if (out->unlink && (failed || out->discarded))
        unlink(out->unlink);
    return failed ? EXIT_BAD_DATA : EXIT_GOOD;
}

void out_bytes_slow(struct out *out, const char *bytes, size_t count)
{
    out_flush(out);
    if (count > OUT_BUFFER_BYTES)
        pass_on(out, bytes, count);
    else
        out_bytes(out, bytes, count);
}

void out_large(struct out *out, const char *bytes, size_t count)
{
    if (count < LARGE_BYTES) {
        out_bytes(out, bytes, count);
        return;
    }
    out_flush(out);
    pass_on(out, bytes, count);
}

/* How many of them went from file to file. Why no more did shows when the rest is read and written.
 */
static uint64_t send_file(struct out *out, int fd, uint64_t offset, uint64_t bytes)
{
    off_t at = (off_t)offset;
    uint64_t left = bytes;
    out_flush(out);
    while (left > 0 && !out->os_errno && !out->discarded) {
        ssize_t sent = sendfile(out->fd, fd, &at, left < SEND_BYTES ? (size_t)left : SEND_BYTES);
        if (sent == 0 || (sent < 0 && errno != EINTR))
            break;
        left -= sent > 0 ? (uint64_t)sent : 0;
    }
    return bytes - left;
}

bool out_from_file(struct out *out, int fd, uint64_t offset, uint64_t bytes)
{
    uint64_t done = out->layer ? 0 : send_file(out, fd, offset, bytes);
    while (done < bytes && !out->os_errno) {
        size_t part = bytes - done < OUT_BUFFER_BYTES ? (size_t)(bytes - done) : OUT_BUFFER_BYTES;
        char *at = out_room(out, part);
        if (!read_all_at(fd, at, part, offset + done))
            return false;
        out_end(out, at + part);
        done += part;
    }
    return true;
}

void out_format(struct out *out, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (count > 0)
        out_bytes(out, text, (size_t)count < sizeof text ? (size_t)count : sizeof text - 1);
}

/* Compression in pieces. Each ends with an empty stored block, which brings
 * the next one to a whole byte: 5 bytes for OUT_GZIP_PIECE_BYTES of text. */

enum { OUT_GZIP_PIECE_BYTES = 1 << 20, LEVEL = 1 };

struct gzip_piece {
    size_t bytes, packed_bytes; /* packed_bytes 0: it failed */
    size_t packed_room;
    unsigned char *text, *packed;
    uLong crc;
    bool ready; /* stream is initialised */
    z_stream stream;
};

struct gzip_layer {
    struct job_threads *own; /* without any of the command's */
    struct ordered_jobs *jobs;
    struct gzip_piece *piece; /* being filled */
    uLong crc;
    uint64_t bytes;
    bool failed;
};

bool out_gzip_wanted(const char *path)
{
    size_t bytes = path ? strlen(path) : 0;
    return bytes > 3 && strcmp(path + bytes - 3, ".gz") == 0;
}

/* ---- pieces -------------------------------------------------------------------------- */

static void stop_piece(void *job)
{
    struct gzip_piece *piece = job;
    if (piece->ready)
        deflateEnd(&piece->stream);
    free(piece->text);
    free(piece->packed);
}

static bool start_piece(struct gzip_piece *piece)
{
    piece->bytes = 0;
    if (piece->ready)
        return true;
    if (deflateInit2(&piece->stream, LEVEL, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    piece->ready = true;
    piece->packed_room = deflateBound(&piece->stream, OUT_GZIP_PIECE_BYTES) + 16;
    piece->text = malloc(OUT_GZIP_PIECE_BYTES);
    piece->packed = malloc(piece->packed_room);
    return piece->text && piece->packed;
}

static void run_piece(void *job)
{
    struct gzip_piece *piece = job;
    z_stream *stream = &piece->stream;
    deflateReset(stream);
    stream->next_in = piece->text;
    stream->avail_in = (uInt)piece->bytes;
    stream->next_out = piece->packed;
    stream->avail_out = (uInt)piece->packed_room;
    bool done = deflate(stream, Z_SYNC_FLUSH) == Z_OK && stream->avail_in == 0;
    piece->packed_bytes = done ? stream->total_out : 0;
    piece->crc = crc32(crc32(0, NULL, 0), piece->text, (uInt)piece->bytes);
}

static void out_gzip_fail(struct gzip_layer *layer)
{
    message_once(&layer->failed, "out of memory; the output is cut");
}

static void out_gzip_write_piece(struct out *out, const struct gzip_piece *piece)
{
    struct gzip_layer *layer = out->layer_state;
    if (piece->packed_bytes == 0)
        out_gzip_fail(layer);
    if (layer->failed)
        return;
    out_write(out, (const char *)piece->packed, piece->packed_bytes);
    layer->crc = crc32_combine(layer->crc, piece->crc, (z_off_t)piece->bytes);
    layer->bytes += piece->bytes;
}

static void next_piece(struct out *out)
{
    struct gzip_layer *layer = out->layer_state;
    ordered_jobs_submit(layer->jobs);
    while (!(layer->piece = ordered_jobs_next(layer->jobs)))
        out_gzip_write_piece(out, ordered_jobs_take(layer->jobs));
    if (!start_piece(layer->piece))
        out_gzip_fail(layer);
}

static void take_bytes(struct out *out, const char *bytes, size_t count)
{
    struct gzip_layer *layer = out->layer_state;
    while (count > 0 && !layer->failed) {
        size_t room = OUT_GZIP_PIECE_BYTES - layer->piece->bytes,
               part = count < room ? count : room;
        memcpy(layer->piece->text + layer->piece->bytes, bytes, part);
        layer->piece->bytes += part;
        bytes += part;
        count -= part;
        if (layer->piece->bytes == OUT_GZIP_PIECE_BYTES)
            next_piece(out);
    }
}

/* ---- the member ------------------------------------------------------------------------ */

static void gzip_layer_free(struct gzip_layer *layer)
{
    if (layer) {
        ordered_jobs_free(layer->jobs, stop_piece);
        job_threads_free(layer->own);
    }
    free(layer);
}

static bool out_gzip_start(struct out *out, struct job_threads *threads)
{
    /* No name and no time in it: the same data give the same file. 255: system not given. */
    static const char head[] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)255};
    struct gzip_layer *layer = calloc(1, sizeof *layer);
    if (layer && !threads)
        threads = layer->own = job_threads_new(1);
    if (threads && layer)
        layer->jobs = ordered_jobs_new(threads, sizeof(struct gzip_piece), run_piece);
    if (layer && layer->jobs)
        layer->piece = ordered_jobs_next(layer->jobs);
    if (!layer || !layer->piece || !start_piece(layer->piece)) {
        message("out of memory");
        gzip_layer_free(layer);
        return false;
    }
    layer->crc = crc32(0, NULL, 0);
    out_flush(out);
    out_write(out, head, sizeof head);
    out->layer = take_bytes;
    out->layer_state = layer;
    return true;
}

static void write_end(struct out *out, const struct gzip_layer *layer)
{
    unsigned char end[10] = {3, 0}; /* an empty block, the last one */
    for (int i = 0; i < 4; i++) {
        end[2 + i] = (unsigned char)(layer->crc >> 8 * i);
        end[6 + i] = (unsigned char)(layer->bytes >> 8 * i);
    }
    out_write(out, (const char *)end, sizeof end);
}

static bool out_gzip_finish(struct out *out)
{
    struct gzip_layer *layer = out->layer_state;
    struct gzip_piece *piece;
    out_flush(out);
    if (!layer->failed)
        ordered_jobs_submit(layer->jobs);
    while ((piece = ordered_jobs_take(layer->jobs)))
        out_gzip_write_piece(out, piece);
    if (!layer->failed)
        write_end(out, layer);
    bool whole = !layer->failed;
    gzip_layer_free(layer);
    out->layer = NULL;
    return whole;
}

bool out_open_packed(struct out *out, const struct out_options *options, struct operands inputs,
                     struct job_threads *threads)
{
    if (!out_open(out, options, inputs))
        return false;
    if (!out_gzip_wanted(options->path) || out_gzip_start(out, threads))
        return true;
    out_close(out);
    return false;
}

enum exit_code out_close_packed(struct out *out)
{
    const bool whole = out->layer != take_bytes || out_gzip_finish(out);
    return exit_worse(whole ? EXIT_GOOD : EXIT_PARTIAL, out_close(out));
}
