/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files and finds out what they are. */
#include "trace_source.h"

#include "message.h"
#include "tar_input.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- made of --------------------------------------------------------------------------------- */
/*
 * Which recordings are in an export of ours, so that a recording is not merged with what was made
 * of it: all of it would count twice.
 *
 * An export has a fact "recording.PROCESS.BEGAN.PART" for each of them, whose value is its file. A
 * recording without a trailer has its zero time, and as part its node. So has what an export cannot
 * say more of, as a Legion log.
 *
 * What there is no memory for is not found: the list guards against mistakes alone.
 */

enum { MADE_OF_MAX = 1 << 16 };

void made_of_add(struct made_of *made, struct recording_id id)
{
    if (id.began_ns && made->count < MADE_OF_MAX &&
        GROW_ARRAY(made->list, made->room, made->count + 1))
        made->list[made->count++] = id;
}

void made_of_note(struct made_of *made, struct trace_text key)
{
    char copy[80];
    struct recording_id id;
    snprintf(copy, sizeof copy, "%.*s", (int)key.bytes, key.text);
    if (sscanf(copy, "recording.%" SCNu64 ".%" SCNd64 ".%" SCNu32, &id.os_id, &id.began_ns,
               &id.part) == 3)
        made_of_add(made, id);
}

void made_of_add_facts(struct trace *trace, const struct made_of *made, const char *file)
{
    char key[80];
    for (uint32_t i = 0; i < made->count; i++) {
        const struct recording_id *id = &made->list[i];
        snprintf(key, sizeof key, "recording.%" PRIu64 ".%" PRId64 ".%" PRIu32, id->os_id,
                 id->began_ns, id->part);
        trace_add_fact(trace, key, "%s", file);
    }
}

struct recording_id recording_id_of(const struct trace_facts *facts)
{
    const struct trace_identity *identity = &facts->identity;
    if (identity->os_id && identity->session_ns)
        return (struct recording_id){identity->os_id, identity->session_ns, identity->part};
    return (struct recording_id){0, facts->run_zero_ns, facts->node};
}

static bool source_has(const struct made_of *made, struct recording_id id)
{
    for (uint32_t i = 0; i < made->count; i++) {
        const struct recording_id *one = &made->list[i];
        if (one->os_id == id.os_id && one->began_ns == id.began_ns && one->part == id.part)
            return true;
    }
    return false;
}

static bool is_in(const struct trace_source *source, const struct made_of *made)
{
    const struct trace_facts *facts = &source->facts;
    for (uint32_t i = 0; i < source->earlier_count; i++)
        if (is_in(&source->earlier[i], made))
            return true;
    return source_has(made, recording_id_of(facts)) ||
           (facts->run_zero_ns &&
            source_has(made, (struct recording_id){0, facts->run_zero_ns, facts->node}));
}

bool made_of_same(const struct trace_source *a, const struct trace_source *b)
{
    const struct made_of *made = &a->facts.made_of, *other = &b->facts.made_of;
    bool same = (made->count && !other->count && is_in(b, made)) ||
                (other->count && !made->count && is_in(a, other));
    for (uint32_t i = 0; i < made->count && other->count && !same; i++)
        same = source_has(other, made->list[i]);
    return same;
}

/* ---- trace source ---------------------------------------------------------------------------- */

enum { FORMATS_MAX = 16, HEAD_BYTES = 4096 };

static const struct trace_format *formats[FORMATS_MAX];
static unsigned format_count;

void trace_formats_add(const struct trace_format *format)
{
    bool known = format_count == FORMATS_MAX;
    for (unsigned i = 0; i < format_count && !known; i++)
        known = formats[i] == format;
    if (!known)
        formats[format_count++] = format;
}

void trace_formats_list(void)
{
    char list[FORMATS_MAX * 64];
    int bytes = 0;
    for (unsigned i = 0; i < format_count; i++) {
        const char *between = i == 0 ? "" : i + 1 < format_count ? ", " : " and ";
        bytes += snprintf(list + bytes, 64, "%s%s", between, formats[i]->files);
    }
    message_plain("rbwp export and merge read %s, plain or gzip", list);
}

/* ---- what it is ------------------------------------------------------------- */

static size_t source_read_head(int fd, uint8_t *head, size_t room)
{
    size_t bytes = 0;
    while (bytes < room) {
        ssize_t got = pread(fd, head + bytes, room - bytes, (off_t)bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        bytes += (size_t)got;
    }
    return bytes;
}

/* What the first bytes unpack to, as far as they do. False when there is no memory. */
static bool unpack_head(const uint8_t *packed, size_t bytes, uint8_t *head, size_t room,
                        size_t *bytes_out)
{
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)packed,
                       .avail_in = (uInt)bytes,
                       .next_out = head,
                       .avail_out = (uInt)room};
    int rc = inflateInit2(&stream, 15 + 16);
    if (rc == Z_OK) {
        rc = inflate(&stream, Z_SYNC_FLUSH);
        inflateEnd(&stream);
    }
    *bytes_out = room - stream.avail_out;
    return rc != Z_MEM_ERROR;
}

/* False when there is no memory, with the message given. What nothing recognises is of the first
 * format, an RBWP file that is cut or damaged: its reader says how. */
static bool recognise(struct trace_source *source)
{
    uint8_t head[HEAD_BYTES], unpacked[HEAD_BYTES];
    const uint8_t *seen = head;
    size_t bytes = source_read_head(source->fd, head, sizeof head);
    if (bytes >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
        if (!unpack_head(head, bytes, unpacked, sizeof unpacked, &bytes))
            return message_fail("%s: no memory to read it", source->name);
        seen = unpacked;
    }
    source->format = formats[0];
    for (unsigned i = format_count; i-- > 0;)
        if (formats[i]->recognises(seen, bytes))
            source->format = formats[i];
    return true;
}

/* ---- facts of their own ------------------------------------------------------ */

enum { FACT_TEXTS = 5 };

static struct trace_text *source_text_of(struct trace_facts *facts, int number)
{
    struct trace_job *job = &facts->job;
    struct trace_text *const texts[FACT_TEXTS] = {&facts->host, &job->id, &job->step,
                                                  &job->launcher, &job->command};
    return texts[number];
}

static void drop_facts(struct trace_facts *facts)
{
    for (int i = 0; i < FACT_TEXTS; i++)
        free((char *)(uintptr_t)source_text_of(facts, i)->text);
    free((void *)(uintptr_t)facts->clocks);
}

/* NULL without memory. */
static void *copy(const void *bytes, size_t count)
{
    char *made = malloc(count + 1);
    if (made && count)
        memcpy(made, bytes, count);
    return made;
}

/* A copy that owns what it refers to. False when there is no memory, or not all can be copied. */
static bool keep_facts(const struct trace_facts *facts, struct trace_facts *kept_out)
{
    bool good = facts->latency_count == 0;
    *kept_out = *facts;
    for (int i = 0; i < FACT_TEXTS; i++) {
        struct trace_text *text = source_text_of(kept_out, i);
        text->text = copy(text->text, text->bytes);
        good = good && text->text;
    }
    kept_out->clocks = copy(facts->clocks, facts->clock_count * sizeof *facts->clocks);
    good = good && kept_out->clocks;
    if (!good)
        drop_facts(kept_out);
    return good;
}

/* ---- opening ---------------------------------------------------------------- */

/* A copy of what can be read only once. -1 with the message given. */
static int open_stream(const struct trace_source *source, int fd)
{
    int copy = temporary_copy(fd, source->name);
    close(fd);
    return copy;
}

/* A descriptor that can be read from anywhere, -1 with the message given. */
static int source_open_file(struct trace_source *source, const char *path)
{
    struct stat status;
    bool is_stdin = strcmp(path, "-") == 0;
    source->name = is_stdin ? "standard input" : path;
    int fd;
    source->again = !is_stdin;
    if (tar_input_file(path, &fd))
        return fd;
    fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        message("%s: cannot be opened: %s", source->name, strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        message("%s: is a folder; name the files in it", source->name);
    } else if (S_ISREG(status.st_mode)) {
        source->path = is_stdin ? NULL : path;
        return fd;
    } else {
        source->again = false;
        return open_stream(source, fd);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

bool trace_same_job(const struct trace_job *a, const struct trace_job *b)
{
    return trace_text_same(a->id, b->id) && trace_text_same(a->step, b->step) &&
           a->ranks == b->ranks;
}

bool trace_source_open(struct trace_source *source, const char *path, bool live)
{
    *source = (struct trace_source){.fd = -1, .live = live};
    source->fd = source_open_file(source, path);
    if (source->fd < 0)
        return false;
    if (recognise(source) && source->format->open(source))
        return true;
    free(source->facts.made_of.list);
    close(source->fd);
    return false;
}

enum exit_code trace_source_read(struct trace_source *source, struct trace *trace,
                                 const struct trace_read_options *options)
{
    return source->format->read(source, trace, options);
}

enum exit_code trace_source_close(struct trace_source *source)
{
    enum exit_code code = EXIT_GOOD;
    free(source->facts.made_of.list);
    for (uint32_t i = 0; i < source->earlier_count; i++)
        code = exit_worse(code, trace_source_close(&source->earlier[i]));
    free(source->earlier);
    source->earlier = NULL;
    source->earlier_count = 0;
    if (source->state) {
        code = exit_worse(code, source->format->close(source));
        close(source->fd);
    } else {
        drop_facts(&source->facts);
    }
    source->state = NULL;
    source->facts = (struct trace_facts){0};
    return code;
}

/* ---- resting ------------------------------------------------------------------ */

void trace_source_rest(struct trace_source *source)
{
    struct trace_facts kept;
    if (!source->format->leave || !source->again || !keep_facts(&source->facts, &kept))
        return;
    source->format->leave(source);
    close(source->fd);
    source->facts = kept;
    source->state = NULL;
    source->fd = -1;
}

bool trace_source_wake(struct trace_source *source)
{
    struct trace_source opened;
    if (source->state)
        return true;
    if (!trace_source_open(&opened, source->name, source->live))
        return false;
    drop_facts(&source->facts);
    opened.number = source->number;
    opened.earlier = source->earlier;
    opened.earlier_count = source->earlier_count;
    *source = opened;
    return true;
}
