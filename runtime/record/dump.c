/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live file has all that the dump needs (format/recover_part.h); the
 * writer thread stands still only while the chunks that it has not met yet are
 * copied. Blocks are gathered before they are written: thousands of small
 * writes would cost more than the copy.
 */
#include "dump.h"

#include "clock.h"
#include "drain.h"
#include "failure.h"
#include "output.h"
#include "recover_part.h"
#include "session_parts.h"

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

static int create(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666);
}

/* Never over another file. */
static int create_numbered(struct rbwp_session *session, char *path_out)
{
    int fd = -1;
    errno = EEXIST;
    for (uint32_t i = 0; fd < 0 && errno == EEXIST && i < NUMBERS_TRIED; i++) {
        int length = snprintf(path_out, DUMP_PATH_BYTES_MAX, "%s.dump-%u", session->summary.path,
                              ++session->dumps);
        errno = ENAMETOOLONG;
        if (length > 0 && length < DUMP_PATH_BYTES_MAX)
            fd = create(path_out);
    }
    return fd;
}

static int create_file(struct rbwp_session *session, const struct dump_wish *wish, char *path_out)
{
    if (!wish->path)
        return create_numbered(session, path_out);
    errno = ENAMETOOLONG;
    return snprintf(path_out, DUMP_PATH_BYTES_MAX, "%s", wish->path) < DUMP_PATH_BYTES_MAX
               ? create(path_out)
               : -1;
}

static void hold(void *context, bool on)
{
    const struct rbwp_session *session = context;
    drain_hold(session->recording.drain, on);
}

static enum rbwp_status write_dump(struct rbwp_session *session, const struct dump_wish *wish,
                                   struct output *output, struct rbwp_error *error)
{
    struct gathered gathered = {.sink = output_sink(output), .bytes = malloc(GATHER_BYTES)};
    const struct rbwp_sink sink = {&gathered, gather, patch};
    const char *text = wish->text ? wish->text : "";
    size_t text_bytes = strlen(text);
    int64_t now_ns = clock_now_ns(session->timeline.line.offset_ns);
    int64_t last_ns = wish->last_ns && wish->last_ns < (uint64_t)now_ns ? (int64_t)wish->last_ns
                                                                        : session->settings.keep_ns;
    const struct recover_part part = {
        .sink = &sink,
        .live_fd = session->ring_fd,
        .since_ns = last_ns ? now_ns - last_ns : INT64_MIN,
        .why = wish->why,
        .text = text,
        .text_bytes = text_bytes < UINT16_MAX ? (uint16_t)text_bytes : UINT16_MAX,
        .hold = hold,
        .context = session,
    };
    struct rbwp_recover_result result;
    if (!gathered.bytes)
        return failure(error, RBWP_E_MEMORY, 0, "no memory to write the dump");
    output->ending = true; /* nothing is kept for an end that is a moment away */
    enum rbwp_status status = recover_part_write(&part, &result, error);
    free(gathered.bytes);
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
    int fd = create_file(session, wish, path_out);
    if (fd < 0)
        return failure(error, RBWP_E_IO, errno, "cannot make the dump \"%s\"",
                       wish->path ? wish->path : path_out);
    struct output output;
    output_open(&output, fd);
    enum rbwp_status status = write_dump(session, wish, &output, error);
    errno = 0;
    if (output_close(&output) != RBWP_OK && status == RBWP_OK)
        status = failure(error, RBWP_E_IO, errno, "cannot write the dump \"%s\"", path_out);
    if (status != RBWP_OK)
        unlink(path_out);
    return status;
}
