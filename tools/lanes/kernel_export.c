/* SPDX-License-Identifier: Apache-2.0 */
/* All forms but our own are made from a profile, which is a temporary file then. */
#include "kernel_export.h"
#include "message.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TITLE_BYTES 61u

bool kernel_wants(const struct kernel_options *options, const char *form)
{
    return options->export.to && strcmp(options->export.to, form) == 0;
}

bool kernel_wants_durations(const struct kernel_options *options)
{
    return options->json || options->csv ||
           (!options->export.to && !options->export.reading.output.path);
}

/* By its suffix, where nothing is said. */
static bool wants_profile(const struct kernel_options *options)
{
    const char *path = options->export.reading.output.path;
    size_t bytes = path ? strlen(path) : 0;
    if (options->export.to)
        return kernel_wants(options, "rbwp");
    return bytes > 4 && strcmp(path + bytes - 4, ".bin") == 0;
}

/* The files' names without folders, as far as there is room. */
static uint16_t make_title(char title[TITLE_BYTES], struct operands files)
{
    size_t used = 0;
    for (int i = 0; i < files.count && used < TITLE_BYTES - 1; i++) {
        const char *slash = strrchr(files.words[i], '/');
        used += (size_t)snprintf(title + used, TITLE_BYTES - used, "%s%s", i ? ", " : "",
                                 slash ? slash + 1 : files.words[i]);
    }
    return (uint16_t)strlen(title);
}

/* Nobody knows which process of which node it was: it is called by its files, and when it was is
 * by a clock that all processes of the machine share. */
static bool write_profile(int fd, const char *name, bool stays, struct operands files,
                          const struct kernel_maker *maker)
{
    char title[TITLE_BYTES] = "";
    const struct rbwp_clock_sample sample = {.monotonic_ns = maker->zero_ns};
    const struct rbwp_process_info process = {.title = title,
                                              .title_bytes = make_title(title, files)};
    const struct rbwp_loss loss = {.cause = RBWP_LOSS_ROWS, .count = maker->dropped};
    struct rows_file file;
    bool good = rows_file_begin(&file, fd, name, &maker->schema, 1, stays) &&
                maker->fill(maker->context, &file);
    return rows_file_end(&file, NULL,
                         (struct rbwp_trailer){.losses = &loss,
                                               .loss_count = maker->dropped > 0,
                                               .stop_ns = maker->last_ns > 0 ? maker->last_ns : 0,
                                               .processes = &process,
                                               .process_count = 1,
                                               .samples = &sample,
                                               .sample_count = maker->zero_ns != 0}) &&
           good;
}

static enum exit_code make_profile(const struct out_options *output, struct operands files,
                                   const struct kernel_maker *maker)
{
    if (out_is_standard(output))
        return message_usage("a profile cannot go to standard output: give -o FILE");
    if (!out_may_create(output, files))
        return EXIT_BAD_DATA;
    int fd = open(output->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return message_bad_data("%s: cannot be created: %s", output->path, strerror(errno));
    bool good = write_profile(fd, output->path, true, files, maker);
    if (close(fd) != 0) {
        message("%s: cannot be written: %s", output->path, strerror(errno));
        good = false;
    }
    if (!good)
        unlink(output->path);
    return good ? EXIT_GOOD : EXIT_BAD_DATA;
}

enum exit_code kernel_export(const struct kernel_options *options, struct operands files,
                             const struct kernel_maker *maker)
{
    char path[32];
    if (wants_profile(options))
        return make_profile(&options->export.reading.output, files, maker);
    int fd = temporary_file();
    if (fd < 0)
        return EXIT_BAD_DATA;
    enum exit_code code = EXIT_BAD_DATA;
    if (write_profile(fd, "a temporary file", false, files, maker)) {
        snprintf(path, sizeof path, "/dev/fd/%d", fd);
        code = export_files(&options->export, (struct operands){(char *[]){path, NULL}, 1});
    }
    close(fd);
    return code;
}
