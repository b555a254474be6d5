/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live file has all that the dump needs (format/recover_part.h); the
 * writer thread stands still only while the chunks that it has not met yet are
 * copied. Blocks are gathered before they are written: thousands of small
 * writes would cost more than the copy.
 */
#include "dump.h"

#include "clock.h"
#include "failure.h"
#include "output.h"
#include "recover_part.h"
#include "ring.h"
#include "rotate.h"
#include "session_parts.h"
#include "test_point.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GATHER_BYTES (256u << 10) /* stays in a cache */
#define NUMBERS_TRIED 100000u

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

static enum rbwp_status gather(void *context, const void *bytes, size_t count)
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
    int fd;
    bool is_named;
};

static int open_named(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666);
}

/* Somewhere in the folder of that path. */
static int open_nameless(const char *path)
{
    char folder[DUMP_PATH_BYTES_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    return open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
}

/* Never over another file. */
static bool give_name(struct dump_file *file, const char *path)
{
    char name[32];
    if (file->is_named)
        return true;
    snprintf(name, sizeof name, "/proc/self/fd/%d", file->fd);
    return linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* The next number of a dump that nobody has. */
static bool next_path(struct rbwp_session *session, char *path_out)
{
    for (uint32_t i = 0; i < NUMBERS_TRIED; i++) {
        int length = snprintf(path_out, DUMP_PATH_BYTES_MAX, "%s.dump-%u", session->summary.path,
                              ++session->dumps);
        if (length < 0 || length >= DUMP_PATH_BYTES_MAX) {
            errno = ENAMETOOLONG;
            return false;
        }
        if (faccessat(AT_FDCWD, path_out, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            return true;
    }
    errno = EEXIST;
    return false;
}

static bool choose_path(struct rbwp_session *session, const struct dump_wish *wish, char *path_out)
{
    if (!wish->path && !wish->cut)
        return next_path(session, path_out);
    errno = ENAMETOOLONG;
    if (wish->cut)
        return session_part_path(session, path_out, DUMP_PATH_BYTES_MAX);
    return snprintf(path_out, DUMP_PATH_BYTES_MAX, "%s", wish->path) < DUMP_PATH_BYTES_MAX;
}

static struct dump_file open_file(const char *path)
{
    struct dump_file file = {.fd = open_nameless(path)};
    if (file.fd >= 0 && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        close(file.fd);
        file.fd = -1;
        errno = EEXIST;
    } else if (file.fd < 0) {
        file = (struct dump_file){.fd = open_named(path), .is_named = true};
    }
    return file;
}

static void hold(void *context, bool on)
{
    const struct rbwp_session *session = context;
    ring_hold(session->ring, on);
}

static void pass(void *context, uint64_t number)
{
    const struct rbwp_session *session = context;
    ring_read_passed(session->ring, number);
    TEST_POINT("dump: a segment copied");
}

static enum rbwp_status write_dump(struct rbwp_session *session, const struct dump_wish *wish,
                                   struct output *output, struct recover_cut *cut_out,
                                   struct rbwp_error *error)
{
    struct gathered gathered = {.sink = output_sink(output), .bytes = malloc(GATHER_BYTES)};
    const struct rbwp_sink sink = {&gathered, gather, patch};
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
        .live_fd = session->ring_fd,
        .since_ns = last_ns ? now_ns - last_ns : INT64_MIN,
        .why = wish->why,
        .text = text,
        .text_bytes = text_bytes < UINT16_MAX ? (uint16_t)text_bytes : UINT16_MAX,
        .hold = hold,
        .passed = pass,
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
    struct dump_file file = {.fd = -1};
    if (choose_path(session, wish, path_out))
        file = open_file(path_out);
    if (file.fd < 0)
        return failure(error, RBWP_E_IO, errno, "cannot make the dump \"%s\"", path_out);
    struct output output;
    output_open(&output, file.fd);
    struct recover_cut cut;
    enum rbwp_status status = write_dump(session, wish, &output, &cut, error);
    errno = 0;
    if (status == RBWP_OK && give_name(&file, path_out))
        file.is_named = true;
    else if (status == RBWP_OK)
        status = failure(error, RBWP_E_IO, errno, "cannot name the dump \"%s\"", path_out);
    errno = 0;
    if (output_close(&output) != RBWP_OK && status == RBWP_OK)
        status = failure(error, RBWP_E_IO, errno, "cannot write the dump \"%s\"", path_out);
    if (status != RBWP_OK && file.is_named)
        unlink(path_out);
    if (status == RBWP_OK && wish->cut) {
        ring_hold(session->ring, true);
        ring_cut(session->ring, &cut, ++session->part);
        ring_hold(session->ring, false);
    }
    return status;
}
