/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp archive: finished files as archives, and back. The library does it; here are the names, and
 * what is said.
 */
#include "archive.h"
#include "decode_ahead.h"
#include "input.h"
#include "message.h"
#include "text_name.h"
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARCHIVE_SUFFIX ".rbwa"
#define FILE_SUFFIX ".bin"

struct archive_options {
    struct out_options output;
    bool unpack, remove;
    unsigned jobs;
};

static const struct option archive_option_table[] = {
    {"unpack", 'd', NULL, NULL, "files from archives", offsetof(struct archive_options, unpack),
     NULL},
    {"output", 'o', "FILE", NULL,
     "write to FILE (default: " ARCHIVE_SUFFIX " in place of " FILE_SUFFIX ", with -d the reverse)",
     offsetof(struct archive_options, output.path), NULL},
    {"jobs", 'j', "N", NULL, JOBS_OPTION_HELP, offsetof(struct archive_options, jobs),
     jobs_option_store},
    {"force", 'f', NULL, NULL, "overwrite files that exist",
     offsetof(struct archive_options, output.force), NULL},
    {"remove", 0, NULL, NULL, "remove each file whose result is whole and on the disk",
     offsetof(struct archive_options, remove), NULL},
    {0},
};

static const struct option_group archive_groups[] = {
    {"Archive", archive_option_table, 0},
    {0},
};

/* ---- names ------------------------------------------------------------------------------ */

/* "a.bin" becomes "a.rbwa" and "a.rbwa" "a.bin"; others get the suffix behind their name. */
static char *archive_default_output(const char *path, bool unpack)
{
    const char *from = unpack ? ARCHIVE_SUFFIX : FILE_SUFFIX;
    const char *to = unpack ? FILE_SUFFIX : ARCHIVE_SUFFIX;
    size_t bytes = strlen(path), suffix = strlen(from);
    char *output;
    if (bytes > suffix && strcmp(path + bytes - suffix, from) == 0)
        bytes -= suffix;
    return asprintf(&output, "%.*s%s", (int)bytes, path, to) < 0 ? NULL : output;
}

/* ---- one file --------------------------------------------------------------------------- */

/* What may help. */
static const char *advice(const struct archive_options *options, enum rbwp_status status)
{
    if (options->unpack)
        return status == RBWP_E_CORRUPT ? "; nothing is written. rbwp dump, export and all other "
                                          "views read what is whole"
                                        : "";
    if (status == RBWP_E_STATE)
        return "; rbwp repair makes a whole file of what a crash left";
    return status == RBWP_E_CORRUPT || status == RBWP_E_TRUNCATED
               ? "; only whole files are archived: rbwp check tells all, rbwp repair makes one"
               : "";
}

static bool archive_report(const struct archive_options *options, const char *output,
                           const struct archive_result *result)
{
    struct out out;
    if (!out_open(&out, &(struct out_options){0}, (struct operands){0}))
        return false;
    text_name(&out, output, strlen(output));
    out_format(&out, ": %" PRIu64 " bytes from %" PRIu64 ", %" PRIu64 " records", result->bytes,
               result->bytes_before, result->records);
    if (result->opaque_blocks)
        out_format(&out, ", %" PRIu64 " blocks of tables and extensions", result->opaque_blocks);
    if (!options->unpack)
        out_text(&out, result->packed_blocks ? "; unpacked its content is equal"
                                             : "; unpacked it is the same, byte for byte");
    out_text(&out, "\n");
    return out_close(&out) == EXIT_GOOD;
}

/* Several threads at a file: its blocks are decoded ahead, and jobs make what they become. */
struct helped {
    struct job_threads *threads;
    struct job_queues queues;
    struct decode_ahead *ahead;
};

static void begin_help(void *context, struct rbwp_reader *reader, int fd)
{
    struct helped *helped = context;
    helped->ahead = decode_ahead_start(reader, fd, helped->threads);
}

static void end_help(void *context)
{
    struct helped *helped = context;
    decode_ahead_stop(helped->ahead);
}

static enum rbwp_status convert(const struct archive_options *options, int fd,
                                const struct rbwp_sink *sink, struct archive_result *result,
                                struct rbwp_error *error)
{
    struct helped helped = {.threads = job_threads_new(options->jobs)};
    struct archive_help help = {
        .queues = &helped.queues, .context = &helped, .begin = begin_help, .end = end_help};
    if (helped.threads)
        helped.queues = ordered_jobs_queues(helped.threads);
    const struct archive_help *given = helped.threads ? &help : NULL; /* NULL: no memory for them */
    enum rbwp_status status = options->unpack ? archive_unpack(fd, sink, given, result, error)
                                              : archive_pack(fd, sink, given, result, error);
    job_threads_free(helped.threads);
    return status;
}

/* Of a small file, where the archive would take the file's place to save room. */
static bool is_no_smaller(const struct archive_options *options, int fd,
                          const struct archive_result *result)
{
    struct stat status;
    return options->remove && !options->unpack && fstat(fd, &status) == 0 &&
           result->bytes >= (uint64_t)status.st_size;
}

/* The result under its name; result->bytes is 0 if it was not worth it. False with the message
 * given. */
static bool archive_make(const struct archive_options *options, int fd, const char *path,
                         const char *output, struct archive_result *result)
{
    struct whole_file file;
    struct rbwp_error error;
    if (!whole_file_begin(&file, output, options->output.force))
        return false;
    struct rbwp_sink sink = rbwp_sink_fd(&file.fd);
    enum rbwp_status status = convert(options, fd, &sink, result, &error);
    bool kept = status == RBWP_OK && is_no_smaller(options, fd, result);
    if (status == RBWP_OK && !kept)
        return whole_file_publish(&file, path, NULL);
    if (kept)
        message("%s: stays as it is: its archive would be no smaller", path);
    else
        message("%s: %s%s", path, error.text, advice(options, status));
    result->bytes = 0;
    whole_file_drop(&file);
    return kept;
}

/* A descriptor of it, -1 with the message given. */
static int archive_open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        message("%s: cannot be opened: %s", path, strerror(errno));
    if (fd < 0 || !gzip_is(fd))
        return fd;
    message("%s: is gzip; unpack it first: gunzip", path);
    close(fd);
    return -1;
}

static bool archive_one_file(const struct archive_options *options, const char *path,
                             const char *output)
{
    struct archive_result result;
    struct out_options target = {.path = output, .force = options->output.force};
    struct operands inputs = {(char *[]){(char *)path}, 1};
    int fd = archive_open_file(path);
    if (fd < 0)
        return false;
    bool done = out_may_create(&target, inputs) && archive_make(options, fd, path, output, &result);
    close(fd);
    if (done && !result.bytes)
        return true;
    if (done && options->remove && unlink(path) != 0) {
        message("%s: cannot be removed: %s", path, strerror(errno));
        done = false;
    }
    return done && archive_report(options, output, &result);
}

static enum exit_code archive_run(void *config, struct operands files)
{
    const struct archive_options *options = config;
    enum exit_code code = EXIT_GOOD;
    if (files.count == 0)
        return message_usage("no FILE given");
    if (options->output.path && files.count > 1)
        return message_usage("-o is the name of one FILE's result");
    if (out_is_standard(&options->output) && options->output.path)
        return message_usage("the result is a file, not standard output");
    for (int i = 0; i < files.count; i++) {
        const char *path = files.words[i];
        char *output = options->output.path ? strdup(options->output.path)
                                            : archive_default_output(path, options->unpack);
        if (!output)
            message("out of memory");
        if (!output || !archive_one_file(options, path, output))
            code = EXIT_BAD_DATA;
        free(output);
    }
    return code;
}

const struct command command_archive = {
    .name = "archive",
    .summary = "make finished files small, and back",
    .operands = "FILE...",
    .description =
        "Makes an archive of each finished FILE: the same records, tables and trailer, in\n"
        "columns, a fraction of the size. All other commands, and the C reader, read it like\n"
        "the file. -d gives the file back: equal records, tables, names and sections in the\n"
        "same order; byte for byte the same if its blocks were not compressed.\n"
        "FILE stays, unless --remove is given and the archive is smaller. A damaged or unfinished "
        "FILE is refused.\n"
        "Exit status: 0 all done, 1 one of them not (no result of it), 2 usage.",
    .groups = archive_groups,
    .config_bytes = sizeof(struct archive_options),
    .run = archive_run,
};
