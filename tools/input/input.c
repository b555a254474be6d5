/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs. Files are opened here and handed to the reader as descriptors, so
 * that a folder, a missing file and a missing permission are distinguished in
 * words before any byte is read.
 */
#include "input.h"
#include "decode_ahead.h"
#include "losses.h"
#include "message.h"
#include "tar_input.h"
#include "temporary_file.h"
#include "progress.h"
#include "unpack.h"
#include "live_path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- opening ------------------------------------------------------------ */

static int descriptor_of(const struct input *input)
{
    return input->fd < 0 ? STDIN_FILENO : input->fd;
}

static bool open_descriptor(struct input *input, struct stat *status)
{
    if (strcmp(input->path, "-") == 0) {
        input->name = "standard input";
    } else if (tar_input_file(input->path, &input->fd)) {
        if (input->fd < 0)
            return false;
    } else {
        input->fd = open(input->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (input->fd < 0)
            return message_fail("%s: cannot be opened: %s", input->name, strerror(errno));
    }
    if (fstat(descriptor_of(input), status) != 0)
        return message_fail("%s: cannot be read: %s", input->name, strerror(errno));
    if (S_ISDIR(status->st_mode))
        return message_fail("%s: is a folder; name the RBWP files in it", input->name);
    return true;
}

/* copy takes the place of the descriptor; -1 is a copy that failed. */
static bool read_from(struct input *input, int copy)
{
    if (copy < 0)
        return false;
    if (input->fd >= 0)
        close(input->fd);
    input->fd = copy;
    return true;
}

static bool open_reader(struct input *input, bool spool_first)
{
    if (spool_first && !read_from(input, temporary_copy(descriptor_of(input), input->name)))
        return false;
    if (gzip_is(descriptor_of(input)) &&
        !read_from(input, gzip_unpack(descriptor_of(input), input->name, &input->gzip_problem)))
        return false;
    struct rbwp_error error;
    int fd = descriptor_of(input);
    struct rbwp_reader_options options = {.size = sizeof options, .follow = input->follow};
    if (rbwp_reader_open_fd(fd, &options, &input->reader, &error) == RBWP_OK)
        return true;
    return message_fail("%s: %s", input->name, error.text);
}

static bool may_have_live(const struct input *input)
{
    return strcmp(input->path, "-") != 0 && !rbwp_reader_is_stream(input->reader) &&
           rbwp_reader_header(input->reader)->descriptor_offset == 0;
}

/* Said once of an input that is looked at again and again. */
static void refuse_live(struct input *input, const char *path, const char *why)
{
    if (!input->live_refused)
        message("%s: ignored: %s", path, why);
    input->live_refused = true;
}

/* The one that lies beside the file by now; NULL if none does, or it belongs to another. */
static struct rbwp_live *open_live(struct input *input)
{
    struct rbwp_error error;
    struct rbwp_live *live = NULL;
    char *path = live_path(input->path);
    if (path && access(path, F_OK) == 0 && rbwp_live_open(path, &live, &error) != RBWP_OK)
        refuse_live(input, path, error.text);
    if (live && !rbwp_live_belongs(live, rbwp_reader_header(input->reader))) {
        refuse_live(input, path, "it was written beside another file");
        rbwp_live_close(live);
        live = NULL;
    }
    free(path);
    return live;
}

void input_find_live(struct input *input)
{
    struct rbwp_live *found = may_have_live(input) ? open_live(input) : NULL;
    /* A program that stops finalises its file, then takes the live file away: names are in one of
     * the two at any time. */
    if (!found && input->live && rbwp_reader_look_again(input->reader) != RBWP_END)
        return;
    (void)rbwp_reader_set_live(input->reader, found);
    rbwp_live_close(input->live);
    input->live = found;
}

static bool open_input(struct input *input, bool names_first)
{
    struct stat status;
    if (open_descriptor(input, &status) &&
        open_reader(input, names_first && !S_ISREG(status.st_mode))) {
        input_find_live(input);
        return true;
    }
    if (input->fd >= 0)
        close(input->fd);
    return false;
}

bool input_open(struct input *input, const char *path, bool names_first)
{
    *input = (struct input){.path = path, .name = path, .fd = -1, .end_status = RBWP_OK};
    return open_input(input, names_first);
}

bool input_open_fd(struct input *input, int fd, const char *name)
{
    *input = (struct input){.path = "-", .name = name, .fd = fd, .end_status = RBWP_OK};
    if (open_reader(input, false))
        return true;
    close(fd);
    return false;
}

bool input_open_follow(struct input *input, const char *path)
{
    *input = (struct input){.path = path, .name = path, .fd = -1, .follow = true};
    return open_input(input, true);
}

/* Writes what a repair would give into fd. */
static bool recover_into(struct input *input, const char *path, const char *live, int fd)
{
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    struct rbwp_recover_result result;
    struct rbwp_error error;
    bool done = rbwp_recover(path, live, &sink, NULL, NULL, &result, &error) == RBWP_OK;
    if (!done) {
        const char *section = error.section[0] ? error.section : "file";
        message("%s: %s: %s", strcmp(section, "live file") == 0 ? live : path, section, error.text);
    }
    input->was_unfinished = done && !result.finalised;
    input->was_written = done && result.is_written;
    return done && lseek(fd, 0, SEEK_SET) == 0;
}

void input_decode_ahead(struct input *input, struct job_threads *threads)
{
    if (!input->ahead && !input->follow && !rbwp_reader_is_stream(input->reader))
        input->ahead = decode_ahead_start(input->reader, descriptor_of(input), threads);
}

static void close_files(struct input *input)
{
    decode_ahead_stop(input->ahead);
    rbwp_reader_close(input->reader);
    rbwp_live_close(input->live);
    if (input->fd >= 0)
        close(input->fd);
}

static bool open_recovered(struct input *input, const char *path, const char *live)
{
    int fd = temporary_file();
    *input = (struct input){.path = path, .name = path, .fd = fd, .recovered = true};
    if (fd >= 0 && recover_into(input, path, live, fd) && open_reader(input, false))
        return true;
    if (fd >= 0)
        close(fd);
    return false;
}

uint64_t input_archive_bytes(const struct input *input)
{
    struct stat status;
    bool file = rbwp_reader_is_archive(input->reader) &&
                fstat(descriptor_of(input), &status) == 0 && S_ISREG(status.st_mode);
    return file ? (uint64_t)status.st_size : 0;
}

bool input_is_finished(const struct input *input)
{
    return !input->was_unfinished && rbwp_reader_header(input->reader)->descriptor_offset != 0;
}

static bool input_is_written(const struct input *input)
{
    return input->was_written || (input->live && rbwp_live_is_written(input->live));
}

static bool is_recovered(const struct rbwp_trailer *trailer)
{
    static const char mark[] = RBWP_WRITER_RECOVERED;
    const uint32_t bytes = sizeof mark - 1;
    return trailer && trailer->writer_bytes >= bytes &&
           memcmp(trailer->writer + trailer->writer_bytes - bytes, mark, bytes) == 0;
}

bool input_has_died(const struct input *input)
{
    if (!input_is_finished(input))
        return !input_is_written(input);
    return is_recovered(rbwp_reader_trailer(input->reader));
}

/* A file without a live file beside it has all there is, or nothing more is to be had. */
bool input_open_live(struct input *input, const char *path)
{
    char *live = live_path(path);
    if (!live)
        return message_fail("out of memory");
    bool is_there = strcmp(path, "-") != 0 && access(live, F_OK) == 0;
    bool opened = is_there ? open_recovered(input, path, live) : input_open(input, path, true);
    free(live);
    return opened;
}

bool input_next(struct input *input, struct rbwp_block *block_out)
{
    if (input->end_status != RBWP_OK && input->end_status != RBWP_AGAIN)
        return false;
    input->end_status = rbwp_reader_next_block(input->reader, block_out);
    if (input->end_status != RBWP_OK)
        return false;
    input->blocks++;
    input->records += block_out->header.records;
    progress_at(input->name, block_out->offset, rbwp_reader_size(input->reader));
    return true;
}

/* ---- the report --------------------------------------------------------- */

/* A file that is being written ends anywhere; what is missing there is in its live file. */
static bool is_no_problem(const struct input *input, const struct rbwp_problem *problem)
{
    return input->live && problem->cut_tail;
}

static uint64_t problem_count(const struct input *input)
{
    uint64_t count = rbwp_reader_problem_count(input->reader);
    const struct rbwp_problem *problem;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(input->reader, i)); i++)
        count -= is_no_problem(input, problem);
    return count;
}

/* What the file came to so far; after the last block it is final. */
static enum exit_code input_code(const struct input *input)
{
    bool stopped = input->end_status < 0;
    if (problem_count(input) == 0 && !stopped && !input->gzip_problem)
        return EXIT_GOOD;
    const struct rbwp_tables *tables = rbwp_reader_tables(input->reader);
    bool something = input->blocks || tables->work_item_count || tables->sub_item_count;
    return something ? EXIT_PARTIAL : EXIT_BAD_DATA;
}

static void input_report(const struct input *input)
{
    uint64_t count = problem_count(input), skipped = 0, lines = 0;
    const struct rbwp_problem *problem;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(input->reader, i)); i++) {
        if (is_no_problem(input, problem))
            continue;
        /* The reader's text says what, where (file offset) and which rule. */
        if (lines++ < INPUT_PROBLEM_LINES) {
            const struct rbwp_error *error = &problem->error;
            message_plain("%s: %s%s%s", input->name, error->section, error->section[0] ? ": " : "",
                          error->text);
        }
        skipped += problem->skipped_bytes;
    }
    if (count > INPUT_PROBLEM_LINES)
        message_plain("%s: ... and %" PRIu64 " more problems", input->name,
                      count - INPUT_PROBLEM_LINES);
    losses_report(input->name, rbwp_reader_trailer(input->reader));
    if (input->live && !input->tailed)
        message_plain("%s: %s: its newest records are in %s.live; --live shows them, and rbwp "
                      "repair makes a whole file of both",
                      input->name,
                      rbwp_live_is_written(input->live) ? "is being written" : "its program died",
                      input->name);
    if (input->gzip_problem)
        message_plain("%s: %s", input->name, input->gzip_problem);
    if (input->end_status < 0)
        message("%s: reading stopped: %s", input->name, rbwp_status_text(input->end_status));
    if (input_code(input) != EXIT_GOOD)
        message_plain("%s: %s: %" PRIu64 " blocks, %" PRIu64 " records; %" PRIu64
                      " problems, %" PRIu64 " bytes skipped",
                      input->name, input->blocks ? "partly read" : "no block could be read",
                      input->blocks, input->records, count, skipped);
}

void input_leave(struct input *input)
{
    close_files(input);
}

enum exit_code input_close(struct input *input)
{
    input_report(input);
    enum exit_code code = input_code(input);
    close_files(input);
    return code;
}

/* ---- gzip input ------------------------------------------------------------------------------ */
/* From unpack.h to a temporary file. */

bool gzip_is(int fd)
{
    unsigned char head[2];
    return read_all_at(fd, head, sizeof head, 0) && head[0] == 0x1f && head[1] == 0x8b;
}

/* False with errno set. */
static bool write_unpacked(struct unpack *unpack, int to)
{
    while (unpack_fill(unpack))
        if (!write_all(to, (const char *)unpack->out, unpack->end))
            return false;
    return lseek(to, 0, SEEK_SET) == 0;
}

int gzip_unpack(int fd, const char *name, const char **problem_out)
{
    struct unpack unpack;
    int copy = temporary_file();
    if (copy < 0)
        return -1;
    if (!unpack_start(&unpack, fd)) {
        message("out of memory");
        close(copy);
        return -1;
    }
    bool written = write_unpacked(&unpack, copy);
    if (!written)
        message("%s: cannot be unpacked to a temporary file (set TMPDIR to a larger folder): %s",
                name, strerror(errno));
    *problem_out = unpack.problem;
    unpack_stop(&unpack);
    if (!written)
        close(copy);
    return written ? copy : -1;
}
