/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs. Files are opened here and handed to the reader as descriptors, so
 * that a folder, a missing file and a missing permission are told apart in
 * words before any byte is read.
 */
#include "input.h"
#include "losses.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- streams into a temporary file -------------------------------------- */

static int unlinked_file(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char path[4096];
    int count = snprintf(path, sizeof path, "%s/rbwp-XXXXXX", folder);
    if (count < 0 || (size_t)count >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static bool write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

enum { COPY_BYTES = 256 << 10 };

/* Copies all of from into to. Returns NULL, or the side that failed, with errno set. */
static const char *copy_all(int from, int to, char *buffer)
{
    for (;;) {
        ssize_t count = read(from, buffer, COPY_BYTES);
        if (count == 0)
            return NULL;
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return "cannot be read";
        if (!write_all(to, buffer, (size_t)count))
            return "cannot be copied to a temporary file (set TMPDIR to a larger folder)";
    }
}

/* Returns a descriptor of a copy of fd at its beginning, -1 with the message given. */
static int spool(const struct input *input, int fd)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    char *buffer = malloc(COPY_BYTES);
    int copy = buffer ? unlinked_file(folder) : -1;
    const char *failed = NULL;
    if (!buffer)
        message("out of memory");
    else if (copy < 0)
        message("%s: cannot create a temporary file: %s", folder, strerror(errno));
    else if ((failed = copy_all(fd, copy, buffer)) || lseek(copy, 0, SEEK_SET) != 0)
        message("%s: %s: %s", input->name, failed ? failed : "cannot be copied", strerror(errno));
    else {
        free(buffer);
        return copy;
    }
    free(buffer);
    if (copy >= 0)
        close(copy);
    return -1;
}

/* ---- opening ------------------------------------------------------------ */

static bool open_descriptor(struct input *input, struct stat *status)
{
    if (strcmp(input->path, "-") == 0) {
        input->name = "standard input";
    } else {
        input->fd = open(input->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (input->fd < 0) {
            message("%s: cannot be opened: %s", input->name, strerror(errno));
            return false;
        }
    }
    if (fstat(input->fd < 0 ? STDIN_FILENO : input->fd, status) != 0) {
        message("%s: cannot be read: %s", input->name, strerror(errno));
        return false;
    }
    if (S_ISDIR(status->st_mode)) {
        message("%s: is a folder; name the RBWP files in it", input->name);
        return false;
    }
    return true;
}

static bool open_reader(struct input *input, bool spool_first)
{
    if (spool_first) {
        int copy = spool(input, input->fd < 0 ? STDIN_FILENO : input->fd);
        if (copy < 0)
            return false;
        if (input->fd >= 0)
            close(input->fd);
        input->fd = copy;
    }
    struct rbwp_error error;
    int fd = input->fd < 0 ? STDIN_FILENO : input->fd;
    if (rbwp_reader_open_fd(fd, NULL, &input->reader, &error) == RBWP_OK)
        return true;
    message("%s: %s", input->name, error.text);
    return false;
}

bool input_open(struct input *input, const char *path, bool names_first)
{
    *input = (struct input){.path = path, .name = path, .fd = -1, .end_status = RBWP_OK};
    struct stat status;
    if (open_descriptor(input, &status) &&
        open_reader(input, names_first && !S_ISREG(status.st_mode)))
        return true;
    if (input->fd >= 0)
        close(input->fd);
    return false;
}

bool input_next(struct input *input, struct rbwp_block *block_out)
{
    if (input->end_status != RBWP_OK)
        return false;
    enum rbwp_status status = rbwp_reader_next_block(input->reader, block_out);
    if (status != RBWP_OK) {
        input->end_status = status;
        return false;
    }
    input->blocks++;
    input->records += block_out->header.records;
    return true;
}

/* ---- the report --------------------------------------------------------- */

enum exit_code input_code(const struct input *input)
{
    bool stopped = input->end_status < 0;
    if (rbwp_reader_problem_count(input->reader) == 0 && !stopped)
        return EXIT_GOOD;
    const struct rbwp_tables *tables = rbwp_reader_tables(input->reader);
    bool something = input->blocks || tables->work_item_count || tables->sub_item_count;
    return something ? EXIT_PARTLY : EXIT_BAD_DATA;
}

/* The reader's text says what, where (file offset) and which rule. */
static void report_problem(const struct input *input, const struct rbwp_problem *problem)
{
    const struct rbwp_error *error = &problem->error;
    message_plain("%s: %s%s%s", input->name, error->section, error->section[0] ? ": " : "",
                  error->text);
}

static void report(const struct input *input)
{
    uint64_t count = rbwp_reader_problem_count(input->reader), skipped = 0;
    const struct rbwp_problem *problem;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(input->reader, i)); i++) {
        if (i < INPUT_PROBLEM_LINES)
            report_problem(input, problem);
        skipped += problem->skipped_bytes;
    }
    if (count > INPUT_PROBLEM_LINES)
        message_plain("%s: ... and %" PRIu64 " more problems", input->name,
                      count - INPUT_PROBLEM_LINES);
    uint64_t lost = losses_total(rbwp_reader_trailer(input->reader)).records;
    if (lost)
        message_plain("%s: %" PRIu64 " records were lost while recording (rbwp info tells which)",
                      input->name, lost);
    if (input->end_status < 0)
        message("%s: reading stopped: %s", input->name, rbwp_status_text(input->end_status));
    if (input_code(input) != EXIT_GOOD)
        message_plain("%s: %s: %" PRIu64 " blocks, %" PRIu64 " records; %" PRIu64
                      " problems, %" PRIu64 " bytes skipped",
                      input->name, input->blocks ? "partly read" : "no block could be read",
                      input->blocks, input->records, count, skipped);
}

enum exit_code input_close(struct input *input)
{
    report(input);
    enum exit_code code = input_code(input);
    rbwp_reader_close(input->reader);
    if (input->fd >= 0)
        close(input->fd);
    return code;
}
