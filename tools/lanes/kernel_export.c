/* SPDX-License-Identifier: Apache-2.0 */
/* All forms but our own are made from a profile, which is a temporary file then. */
#include "kernel_export.h"
#include "message.h"
#include "temporary_file.h"
#include "text_name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- durations report ------------------------------------------------------------------------ */

enum { NAME_COLUMNS = 20, GROUP, EVENT, BLOCK };

RESULT_MAKES(mean, rbwp_duration,
             result_u64(row->count ? (uint64_t)(rbwp_duration_mean_ns(row) + 0.5) : 0))

static struct result_cell made(const struct result_at *at, int what)
{
    const struct durations_report *report = at->all;
    const struct rbwp_duration *row = at->row;
    if (what == BLOCK)
        return report->by_block ? result_u64(row->group >> 32) : result_nothing();
    return result_word(what == GROUP
                           ? report->group(report->context, row->group & UINT32_MAX, report->text)
                           : report->event(report->context, row->event, report->text));
}

static void durations_report_put_name(struct out *out, const struct result_cell name)
{
    text_name(out, name.text, name.bytes);
    for (uint32_t i = name.bytes; i < NAME_COLUMNS; i++)
        out_text(out, " ");
    out_text(out, " ");
}

static void show_names(struct out *out, const struct result_at *at)
{
    const struct durations_report *report = at->all;
    if (report->by_block)
        out_format(out, "%8" PRIu64 " ", made(at, BLOCK).u64);
    durations_report_put_name(out, made(at, GROUP));
    durations_report_put_name(out, made(at, EVENT));
}

#define ROW(field) RESULT_FIELD(struct rbwp_duration, field)
#define NAMES "group                event                "
#define BLOCK_NAMES "   block " NAMES
#define NUMBERS ",n,total us,mean us,min us,p50 us,p99 us,max us,unmatched"

static const struct result_column columns[] = {
    {NULL, NAMES, sizeof NAMES - 1, RESULT_OWN, .show = show_names},
    {NULL, BLOCK_NAMES, sizeof BLOCK_NAMES - 1, RESULT_OWN, .show = show_names},
    {"block", NULL, 0, RESULT_ID, RESULT_MADE(made, BLOCK), .optional = true},
    {"group", NULL, 0, RESULT_TEXT, RESULT_MADE(made, GROUP)},
    {"event", NULL, 0, RESULT_TEXT, RESULT_MADE(made, EVENT)},
    {"n", "n", 10, RESULT_ID, ROW(count)},
    {"total_us", "total us", 15, RESULT_MICROS, ROW(total_ns)},
    {"mean_us", "mean us", 12, RESULT_MICROS, RESULT_MADE(mean, 0)},
    {"min_us", "min us", 12, RESULT_MICROS, ROW(min_ns)},
    {"p50_us", "p50 us", 12, RESULT_MICROS, ROW(p50_ns)},
    {"p99_us", "p99 us", 12, RESULT_MICROS, ROW(p99_ns)},
    {"max_us", "max us", 12, RESULT_MICROS, ROW(max_ns)},
    {"unmatched", "unmatched", 10, RESULT_ID, ROW(unmatched)},
    {0}};
const struct result_table durations_table = {"durations", NULL, columns, NAMES NUMBERS, NULL, 0};

struct result_rows durations_rows(const struct result_at *at)
{
    size_t count;
    const struct rbwp_duration *rows =
        rbwp_durations_rows(((const struct durations_report *)at->all)->durations, &count);
    return result_array(rows, sizeof *rows, (uint32_t)count);
}

static void durations_report_put_text(struct out *out, const struct durations_report *report)
{
    const struct result_view view = {out, {"", "", "", "", false}, UINT16_MAX, false, 0, NULL};
    const struct result_rows rows = durations_rows(&(struct result_at){.all = report});
    const struct result_layout layout = result_layout(
        &view, &durations_table, report->by_block ? BLOCK_NAMES NUMBERS : NAMES NUMBERS, 0);
    result_text_titles(&view, &layout);
    result_text_rows(&view, &layout, &rows, report, NULL, NULL);
}

enum exit_code durations_show(struct durations_report *report, const struct kernel_options *options,
                              struct operands files)
{
    struct out out;
    char text[ID_NAME_BYTES];
    enum exit_code code = EXIT_BAD_DATA;
    report->text = text;
    report->durations = rbwp_durations_new();
    if (!report->durations || !report->fill(report->context, report->durations)) {
        message("out of memory");
    } else if (out_open(&out, &options->export.reading.output, files)) {
        if (options->json || options->csv)
            result_document(&out, report->json, options->csv, report, report->context);
        else
            durations_report_put_text(&out, report);
        code = out_close(&out);
    }
    rbwp_durations_free(report->durations);
    return code;
}

/* ---- id names -------------------------------------------------------------------------------- */

static bool id_names_add(struct id_names *names, int64_t id, const char *text, size_t bytes)
{
    if (names->count == ID_NAMES_MAX || !GROW_ARRAY(names->names, names->room, names->count + 1))
        return false;
    names->names[names->count++] = (struct id_name){id, text, (uint32_t)bytes};
    return true;
}

/* "7=store": the number and what is behind it. */
static bool take_id(const char **text, size_t *bytes, int64_t *id)
{
    char number[16];
    uint32_t value;
    struct option_error error;
    const char *equals = memchr(*text, '=', *bytes);
    size_t digits = equals ? (size_t)(equals - *text) : 0;
    if (!equals || digits >= sizeof number)
        return !equals;
    memcpy(number, *text, digits);
    number[digits] = '\0';
    if (!option_number(number, 0, INT32_MAX, &value, &error))
        return false;
    *id = value;
    *bytes -= digits + 1;
    *text = equals + 1;
    return true;
}

bool id_names_parse(struct id_names *names, const char *option, const char *text)
{
    int64_t id = 0;
    for (const char *at = text; at; id++) {
        const char *comma = strchr(at, ',');
        size_t bytes = comma ? (size_t)(comma - at) : strlen(at);
        if (!take_id(&at, &bytes, &id)) {
            message_usage("%s: '%.*s' is no NUMBER=NAME", option, (int)bytes, at);
            return false;
        }
        if (bytes && !id_names_add(names, id, at, bytes)) {
            message_usage("%s: more than %d names, or out of memory", option, ID_NAMES_MAX);
            return false;
        }
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

const char *id_names_get(const struct id_names *names, const char *what, int64_t id,
                         char text[ID_NAME_BYTES])
{
    for (uint32_t i = names->count; i-- > 0;) { /* the last one counts */
        const struct id_name *name = &names->names[i];
        if (name->id != id)
            continue;
        snprintf(text, ID_NAME_BYTES, "%.*s", (int)name->bytes, name->text);
        return text;
    }
    snprintf(text, ID_NAME_BYTES, "%s_%" PRId64, what, id);
    return text;
}

void id_names_free(struct id_names *names)
{
    free(names->names);
    *names = (struct id_names){0};
}
