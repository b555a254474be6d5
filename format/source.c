/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c - see source.h.
 *
 * A regular file is read with pread into a window rather than mapped: a file
 * that somebody truncates meanwhile would kill the process by SIGBUS if mapped,
 * and here simply ends earlier. The copy costs little beside decoding (files
 * are a few bytes a record), memory stays bounded, and file and stream share
 * the code. Memory given by the caller is looked at where it is.
 */
#include "source.h"

#include "archive_source.h"
#include "reader_error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_AHEAD_BYTES (256u << 10)

void source_open_memory(struct source *source, const void *data, size_t size_bytes)
{
    *source = (struct source){
        .kind = SOURCE_MEMORY, .fd = -1, .memory = data, .size = size_bytes, .at_end = true};
}

enum rbwp_status source_open_fd(struct source *source, int fd, struct rbwp_error *error)
{
    struct stat status;
    *source = (struct source){.kind = SOURCE_STREAM, .fd = fd};
    if (fstat(fd, &status) != 0)
        return error_set_os(error, "file", "look at the file");
    if (S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return error_set_os(error, "file", "read the file");
    }
    if (S_ISREG(status.st_mode)) {
        source->kind = SOURCE_FILE;
        source->size = (uint64_t)status.st_size;
    }
    return RBWP_OK;
}

enum rbwp_status source_open_path(struct source *source, const char *path, struct rbwp_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_os(error, "file", "open the file");
    enum rbwp_status status = source_open_fd(source, fd, error);
    if (status != RBWP_OK) {
        close(fd);
        return status;
    }
    source->owns_fd = true;
    return RBWP_OK;
}

enum rbwp_status source_open_archive(struct source *source, struct rbwp_error *error)
{
    struct view view;
    struct source inner = *source;
    enum rbwp_status status = source_view(&inner, 0, RBWP_FILE_HEADER_BYTES, &view, error);
    *source = inner;
    if (status != RBWP_OK)
        source_close(source);
    if (status != RBWP_OK || !archive_begins(view.bytes, view.count))
        return status;
    bool stream = inner.kind == SOURCE_STREAM;
    *source = (struct source){.kind = stream ? SOURCE_STREAM : SOURCE_FILE, .fd = -1};
    status = archive_open(&inner, &source->archive, error);
    if (status == RBWP_OK)
        source->size = stream ? 0 : source->archive->bytes;
    return status;
}

void source_close(struct source *source)
{
    archive_close(source->archive);
    if (source->owns_fd)
        close(source->fd);
    free(source->window);
    *source = (struct source){.fd = -1};
}

void source_rewind(struct source *source)
{
    if (source->kind == SOURCE_FILE)
        source->at_end = false;
    source->filled = 0;
    source->window_offset = 0;
}

enum rbwp_status source_look_again(struct source *source, struct rbwp_error *error)
{
    struct stat status;
    if (source->archive) /* does not grow */
        return RBWP_OK;
    if (fstat(source->fd, &status) != 0)
        return error_set_os(error, "file", "look at the file");
    source->size = (uint64_t)status.st_size;
    source_rewind(source); /* what was read at the end may have been elided and written anew */
    return RBWP_OK;
}

/* The same of an archive: to the end of a chunk at most. */
static enum rbwp_status fill_from_archive(struct source *source, size_t room,
                                          struct rbwp_error *error)
{
    struct view view;
    uint64_t offset = source->window_offset + source->filled;
    enum rbwp_status status = archive_view(source->archive, offset, &view, error);
    if (status != RBWP_OK)
        return status;
    size_t count = view.count < room ? view.count : room;
    if (count)
        memcpy(source->window + source->filled, view.bytes, count);
    source->filled += count;
    source->at_end = count == 0;
    if (source->kind == SOURCE_STREAM)
        source->size = offset + count;
    return RBWP_OK;
}

/* Reads once at the end of the window; notices the end of the data. */
static enum rbwp_status source_fill(struct source *source, size_t room, struct rbwp_error *error)
{
    uint64_t offset = source->window_offset + source->filled;
    uint8_t *to = source->window + source->filled;
    ssize_t count;
    if (source->archive)
        return fill_from_archive(source, room, error);
    do {
        if (source->kind == SOURCE_STREAM) {
            count = read(source->fd, to, room);
        } else {
            if (room > source->size - offset)
                room = (size_t)(source->size - offset);
            count = room ? pread(source->fd, to, room, (off_t)offset) : 0;
        }
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return error_set_os(error, "file", "read the file");
    source->filled += (size_t)count;
    if (count == 0)
        source->at_end = true;
    if (source->kind == SOURCE_STREAM || source->at_end)
        source->size = offset + (size_t)count;
    return RBWP_OK;
}

/* Drops what lies before offset, which may be beyond the window's end. */
static void slide(struct source *source, uint64_t offset)
{
    uint64_t drop = offset - source->window_offset;
    if (drop > source->filled)
        drop = source->filled;
    source->filled -= (size_t)drop;
    source->window_offset += drop;
    if (drop && source->filled)
        memmove(source->window, source->window + drop, source->filled);
}

/*
 * Makes room behind a full window. It doubles, so that bytes which are wanted but not there are
 * not paid for, and stops at `most`.
 */
static bool source_make_room(struct source *source, size_t most)
{
    if (source->filled < source->capacity)
        return true;
    size_t capacity = source->capacity ? 2 * source->capacity : READ_AHEAD_BYTES;
    if (capacity > most)
        capacity = most;
    uint8_t *window = realloc(source->window, capacity);
    if (!window)
        return false;
    source->window = window;
    source->capacity = capacity;
    return true;
}

/* Moves the end of an empty window forward to offset without keeping what is passed. */
static enum rbwp_status skip(struct source *source, uint64_t offset, struct rbwp_error *error)
{
    if (source->archive && source->filled == 0) {
        source->window_offset = offset;
        return RBWP_OK;
    }
    if (source->kind == SOURCE_FILE && source->filled == 0) {
        source->window_offset = offset < source->size ? offset : source->size;
        return RBWP_OK;
    }
    while (source->window_offset + source->filled < offset && !source->at_end) {
        source->window_offset += source->filled;
        source->filled = 0;
        if (!source_make_room(source, READ_AHEAD_BYTES))
            return error_set_memory(error, "file");
        enum rbwp_status status = source_fill(source, source->capacity, error);
        if (status != RBWP_OK)
            return status;
    }
    return RBWP_OK;
}

/* Moves the window to offset and fills it until it has want bytes from there, or the data end. */
static enum rbwp_status move_window(struct source *source, uint64_t offset, size_t want,
                                    struct rbwp_error *error)
{
    slide(source, offset);
    enum rbwp_status status = skip(source, offset, error);
    if (status != RBWP_OK)
        return status;
    slide(source, offset);
    while (!source->at_end && source->filled < want) {
        if (!source_make_room(source, want + READ_AHEAD_BYTES))
            return error_set_memory(error, "file");
        status = source_fill(source, source->capacity - source->filled, error);
        if (status == RBWP_E_CORRUPT && source->filled)
            break; /* what is before the damage is shown */
        if (status != RBWP_OK)
            return status;
    }
    return RBWP_OK;
}

static enum rbwp_status view_window(struct source *source, uint64_t offset, size_t want,
                                    struct view *view_out, struct rbwp_error *error)
{
    if (offset + want > source->window_offset + source->filled && !source->at_end) {
        enum rbwp_status status = move_window(source, offset, want, error);
        if (status != RBWP_OK)
            return status;
    }
    uint64_t end = source->window_offset + source->filled;
    if (offset >= end)
        return RBWP_OK;
    view_out->bytes = source->window + (offset - source->window_offset);
    view_out->count = end - offset < want ? (size_t)(end - offset) : want;
    return RBWP_OK;
}

/* Blocks lie in one chunk each, and are looked at there; what goes on in the next is copied. */
static enum rbwp_status view_archive(struct source *source, uint64_t offset, size_t want,
                                     struct view *view_out, struct rbwp_error *error)
{
    struct view view;
    enum rbwp_status status = archive_view(source->archive, offset, &view, error);
    if (status != RBWP_OK || view.count == 0)
        return status;
    if (view.count < want)
        return view_window(source, offset, want, view_out, error);
    *view_out = (struct view){view.bytes, want};
    if (source->kind == SOURCE_STREAM && source->size < offset + want)
        source->size = offset + want;
    return RBWP_OK;
}

enum rbwp_status source_view(struct source *source, uint64_t offset, size_t want,
                             struct view *view_out, struct rbwp_error *error)
{
    *view_out = (struct view){0};
    if (offset > INT64_MAX) /* behind the end of any file; sums below cannot wrap */
        return RBWP_OK;
    if (source->archive)
        return view_archive(source, offset, want, view_out, error);
    if (source->kind != SOURCE_MEMORY)
        return view_window(source, offset, want, view_out, error);
    if (offset >= source->size)
        return RBWP_OK;
    view_out->bytes = source->memory + offset;
    view_out->count = source->size - offset < want ? (size_t)(source->size - offset) : want;
    return RBWP_OK;
}

static enum rbwp_status copy_from_archive(struct source *source, uint64_t offset, uint8_t *to,
                                          size_t count, struct rbwp_error *error)
{
    for (size_t done = 0, some; done < count; done += some) {
        struct view view;
        enum rbwp_status status = archive_view(source->archive, offset + done, &view, error);
        if (status != RBWP_OK)
            return status;
        if (view.count == 0) {
            errno = EIO;
            return error_set_os(error, "file", "read the file");
        }
        some = view.count < count - done ? view.count : count - done;
        memcpy(to + done, view.bytes, some);
    }
    return RBWP_OK;
}

enum rbwp_status source_copy(struct source *source, uint64_t offset, void *to, size_t count,
                             struct rbwp_error *error)
{
    if (source->archive)
        return copy_from_archive(source, offset, to, count, error);
    if (source->kind == SOURCE_MEMORY) {
        memcpy(to, source->memory + offset, count);
        return RBWP_OK;
    }
    for (size_t done = 0; done < count;) {
        ssize_t got = pread(source->fd, (uint8_t *)to + done, count - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO; /* the file shrank */
        if (got <= 0)
            return error_set_os(error, "file", "read the file");
        done += (size_t)got;
    }
    return RBWP_OK;
}

uint64_t source_damage_end(const struct source *source, uint64_t offset)
{
    return source->archive ? archive_damage_end(source->archive, offset) : 0;
}

bool source_is_cut(const struct source *source, struct rbwp_error *error)
{
    if (!source->archive || !source->archive->cut)
        return false;
    error_set(error, RBWP_E_CORRUPT,
              (struct place){"archive", source->archive->next_offset, RULE_ARCHIVE_END},
              "the archive ends before its last chunk, or what says where its chunks are is "
              "damaged; what is before this place is read, for the rest take another copy");
    return true;
}
