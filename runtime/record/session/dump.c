/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live file has all that the dump needs (recover_part.h); the
 * writer thread stands still only while the chunks that it has not met yet are
 * copied. Blocks are gathered before they are written: thousands of small
 * writes would cost more than the copy.
 */
#include "dump.h"

#include "clock.h"
#include "failure.h"
#include "folder.h"
#include "live.h"
#include "output.h"
#include "recover_part.h"
#include "ring.h"
#include "session_parts.h"
#include "test_point.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GATHER_BYTES (256u << 10) /* stays in a cache */
#ifndef NUMBERS_TRIED
#define NUMBERS_TRIED 100000u
#endif

/* ---- a sink that gathers ------------------------------------------------------------------- */

struct gathered {
    struct rbwp_sink sink;
    uint8_t *bytes;
    size_t count;
};

static enum rbwp_status flush(struct gathered *gathered)
{
    size_t count = gathered->count;
    gathered->count = 0;
    return count ? gathered->sink.write(gathered->sink.context, gathered->bytes, count) : RBWP_OK;
}

static enum rbwp_status dump_gather(void *context, const void *bytes, size_t count)
{
    struct gathered *gathered = context;
    enum rbwp_status status = RBWP_OK;
    if (gathered->count + count > GATHER_BYTES)
        status = flush(gathered);
    if (status == RBWP_OK && count > GATHER_BYTES)
        return gathered->sink.write(gathered->sink.context, bytes, count);
    if (status == RBWP_OK) {
        memcpy(gathered->bytes + gathered->count, bytes, count);
        gathered->count += count;
    }
    return status;
}

static enum rbwp_status patch(void *context, uint64_t offset, const void *bytes, size_t count)
{
    struct gathered *gathered = context;
    enum rbwp_status status = flush(gathered);
    return status == RBWP_OK ? gathered->sink.patch(gathered->sink.context, offset, bytes, count)
                             : status;
}

/* ---- the file ------------------------------------------------------------------------------ */

/* A file that gets its name when it is whole, where the file system has such; else it has it now.
 */
struct dump_file {
    struct output output;
    struct place place;
    bool is_named;
};

/* Somewhere in the folder of that name; where there is no /proc it could not be named. */
static int open_nameless(struct place place)
{
    char folder[DUMP_PATH_BYTES_MAX];
    snprintf(folder, sizeof folder, "%s", place.name);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    return access("/proc/self/fd", X_OK) == 0
               ? openat(place.folder, slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666)
               : -1;
}

static bool dump_exists(struct place place)
{
    return faccessat(place.folder, place.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The next number of a dump that nobody has. */
static bool next_path(struct rbwp_session *session, char *path_out)
{
    const char *file = session->summary.path;
    for (uint32_t i = 0; i < NUMBERS_TRIED; i++) {
        int length = snprintf(path_out, DUMP_PATH_BYTES_MAX, "%s.dump-%u", file, ++session->dumps);
        if (length < 0 || length >= DUMP_PATH_BYTES_MAX) {
            errno = ENAMETOOLONG;
            return false;
        }
        if (!dump_exists(folder_place(&session->folder, file, path_out)))
            return true;
    }
    errno = EEXIST;
    return false;
}

static bool choose_path(struct rbwp_session *session, const struct dump_wish *wish, char *path_out)
{
    if (!wish->path && !wish->cut)
        return next_path(session, path_out);
    if (wish->cut)
        return session_part_path(session, path_out, DUMP_PATH_BYTES_MAX);
    errno = ENAMETOOLONG;
    return snprintf(path_out, DUMP_PATH_BYTES_MAX, "%s", wish->path) < DUMP_PATH_BYTES_MAX;
}

/* What the caller names stands where the process is now, all else beside FILE. */
static struct dump_file dump_open_file(struct rbwp_session *session, const struct dump_wish *wish,
                                       const char *path)
{
    struct dump_file file = {.place = {AT_FDCWD, path}};
    if (!wish->path)
        file.place = folder_place(&session->folder, session->summary.path, path);
    int fd = open_nameless(file.place);
    if (fd >= 0 && dump_exists(file.place)) {
        close(fd);
        fd = -1;
        errno = EEXIST;
    } else if (fd < 0) {
        fd = openat(file.place.folder, file.place.name,
                    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666);
        file.is_named = true;
    }
    int reason = errno;
    output_open(&file.output, fd);
    errno = reason;
    return file;
}

/* Never over another file. */
static bool give_name(struct dump_file *file)
{
    char name[32];
    if (file->is_named)
        return true;
    snprintf(name, sizeof name, "/proc/self/fd/%d", held_fd(&file->output.file));
    file->is_named =
        linkat(AT_FDCWD, name, file->place.folder, file->place.name, AT_SYMLINK_FOLLOW) == 0;
    return file->is_named;
}

static void hold(void *context, bool on)
{
    const struct rbwp_session *session = context;
    ring_hold(session->ring, on);
}

static void dump_pass(void *context, uint64_t number)
{
    const struct rbwp_session *session = context;
    ring_read_passed(session->ring, number);
    TEST_POINT("dump: a segment copied");
}

static int open_live(const struct rbwp_session *session)
{
    ring_hold(session->ring, true);
    int fd = live_open_to_read();
    ring_hold(session->ring, false);
    return fd;
}

static enum rbwp_status write_dump(struct rbwp_session *session, const struct dump_wish *wish,
                                   struct output *output, struct recover_cut *cut_out,
                                   struct rbwp_error *error)
{
    struct gathered gathered = {.sink = output_sink(output), .bytes = malloc(GATHER_BYTES)};
    const struct rbwp_sink sink = {&gathered, dump_gather, patch};
    const char *text = wish->text ? wish->text : "";
    size_t text_bytes = strlen(text);
    int64_t now_ns = clock_now_ns(session->timeline.line.offset_ns);
    int64_t last_ns = wish->last_ns && wish->last_ns < (uint64_t)now_ns ? (int64_t)wish->last_ns
                                                                        : session->settings.keep_ns;
    struct recover_cut cut;
    const struct recover_part part = {
        .sink = &sink,
        .ring_only = wish->cut,
        .cut_out = &cut,
        .live_fd = open_live(session),
        .since_ns = last_ns ? now_ns - last_ns : INT64_MIN,
        .ended_ns = &session->ended_ns,
        .why = wish->why,
        .text = text,
        .text_bytes = text_bytes < UINT16_MAX ? (uint16_t)text_bytes : UINT16_MAX,
        .hold = hold,
        .passed = dump_pass,
        .context = session,
    };
    struct rbwp_recover_result result;
    if (!gathered.bytes)
        return failure(error, RBWP_E_MEMORY, 0, "no memory to write the dump");
    output->ending = true; /* nothing is kept for an end that is a moment away */
    ring_read_begin(session->ring);
    enum rbwp_status status = recover_part_write(&part, &result, error);
    ring_read_end(session->ring);
    free(gathered.bytes);
    if (status == RBWP_OK)
        *cut_out = cut;
    return status;
}

enum rbwp_status dump_session(struct rbwp_session *session, const struct dump_wish *wish,
                              char *path_out, struct rbwp_error *error)
{
    struct rbwp_error reason;
    const char *what = wish->cut ? "part" : "dump";
    error = error ? error : &reason;
    if (!session->ring)
        return failure(error, RBWP_E_STATE, 0,
                       "the session keeps all that it records in \"%s\": a dump is for one with "
                       "-bgworkprofile_keep (rbwp repair makes a file of this one at any time)",
                       session->summary.path);
    if (wish->cut && session->part == 0)
        return failure(error, RBWP_E_STATE, 0,
                       "the recording is not cut into files: "
                       "-bgworkprofile_rotate says how");
    errno = 0;
    if (!choose_path(session, wish, path_out))
        return failure(error, RBWP_E_IO, errno, "cannot make the %s \"%s\"", what, path_out);
    struct dump_file file = dump_open_file(session, wish, path_out);
    if (file.output.file.fd < 0)
        return failure(error, RBWP_E_IO, errno, "cannot make the %s \"%s\"", what, path_out);
    struct recover_cut cut;
    enum rbwp_status status = write_dump(session, wish, &file.output, &cut, error);
    errno = 0;
    if (status == RBWP_OK && !give_name(&file))
        status = failure(error, RBWP_E_IO, errno, "cannot name the %s \"%s\"", what, path_out);
    errno = 0;
    if (output_close(&file.output) != RBWP_OK && status == RBWP_OK)
        status = failure(error, RBWP_E_IO, errno, "cannot write the %s \"%s\"", what, path_out);
    if (status != RBWP_OK && file.is_named &&
        held_is_at(&file.output.file, file.place.folder, file.place.name))
        unlinkat(file.place.folder, file.place.name, 0);
    if (status == RBWP_OK && wish->cut) {
        session->number++;
        session->cut_dropped += cut.dropped;
        ring_hold(session->ring, true);
        ring_cut(session->ring, &cut, ++session->part);
        ring_hold(session->ring, false);
    }
    return status;
}
