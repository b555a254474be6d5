/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What probes recorded in kernels, for the page: lines, probes and edges of each kernel, and the
 * text of their files.
 *
 * A profile may be anybody's, and names files of this machine: only plain files with the suffix of
 * a source are read, and of those the lines from the first to the last that has records, with a few
 * around.
 */
#include "json_text.h"
#include "page_json.h"
#include "report_parts.h"
#include "stats_tables.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINES_SHOWN = 20000, /* likewise probes and edges; of all kernels */
    SOURCES_SHOWN = 256,
    SOURCE_BYTES_MAX = 16 << 20,
    TEXT_BYTES_MAX = 2 << 20, /* of all sources in the page */
    AROUND = 3                /* lines */
};

/* A file, and which of its lines have records. */
struct source {
    struct trace_text path;
    uint64_t first, last;
};

struct sources {
    struct source list[SOURCES_SHOWN];
    uint32_t count;
    size_t text_bytes;
};

/* ---- which files ------------------------------------------------------------------------- */

static void note_line(struct sources *sources, const struct kernel_line *line)
{
    uint32_t i = 0;
    if (!line->file.bytes || !line->line)
        return;
    while (i < sources->count && !trace_text_same(sources->list[i].path, line->file))
        i++;
    if (i == SOURCES_SHOWN)
        return;
    struct source *source = &sources->list[i];
    if (i == sources->count) {
        *source = (struct source){line->file, line->line, line->line};
        sources->count++;
    }
    source->first = line->line < source->first ? line->line : source->first;
    source->last = line->line > source->last ? line->line : source->last;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool has_source_suffix(const char *path)
{
    static const char *const suffixes[] = {"py",   "cu",  "cuh", "c",   "cc",  "cpp", "cxx", "h",
                                           "hh",   "hpp", "hxx", "inl", "hip", "cl",  "ptx", "mlir",
                                           "ttir", "rs",  "jl",  "f90", "zig", "mojo"};
    const char *dot = strrchr(base_name(path), '.');
    for (size_t i = 0; dot && i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(dot + 1, suffixes[i]) == 0)
            return true;
    return false;
}

/* Where it is to be read: what the user says, else what the profile does. */
static bool find_path(const struct report_options *options, const char *named, char path[PATH_MAX])
{
    struct stat status;
    const char *given = options->source;
    int count = snprintf(path, PATH_MAX, "%s", named);
    if (given && stat(given, &status) == 0 && S_ISDIR(status.st_mode)) {
        char inside[PATH_MAX];
        int used = snprintf(inside, sizeof inside, "%s/%s", given, base_name(named));
        if (used > 0 && used < PATH_MAX && access(inside, R_OK) == 0)
            count = snprintf(path, PATH_MAX, "%s", inside);
    } else if (given && strcmp(base_name(given), base_name(named)) == 0) {
        count = snprintf(path, PATH_MAX, "%s", given);
    }
    return count > 0 && count < PATH_MAX && has_source_suffix(path);
}

/* All of a plain file, terminated, in memory that the caller frees; NULL: it cannot be had. */
static char *read_source(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    size_t count;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        text = read_to_end(fd, SOURCE_BYTES_MAX, &count);
    if (fd >= 0)
        close(fd);
    return text;
}

/* ---- their text ---------------------------------------------------------------------------- */

/* Lines first to last of a text, as strings; how many there are. */
static void put_text_lines(struct out *out, const char *text, uint64_t first, uint64_t last)
{
    uint64_t line = 1;
    for (; *text && line <= last; line++) {
        size_t count = strcspn(text, "\n");
        if (line >= first) {
            out_text(out, line > first ? "," : "");
            json_string(out, text, count && text[count - 1] == '\r' ? count - 1 : count);
        }
        text += count + (text[count] != '\0');
    }
}

/* How many bytes these lines have. */
static size_t size_of(const char *text, uint64_t first, uint64_t last)
{
    size_t bytes = 0;
    for (uint64_t line = 1; *text && line <= last; line++) {
        size_t count = strcspn(text, "\n");
        bytes += line >= first ? count : 0;
        text += count + (text[count] != '\0');
    }
    return bytes;
}

/* {"path":, "first": number of the first line, "lines": []}, which is empty without the text. */
static void put_source(const struct report *report, struct sources *sources, struct out *out,
                       const struct source *source)
{
    char *named = strndup(source->path.text, source->path.bytes), path[PATH_MAX];
    uint64_t first = source->first > AROUND ? source->first - AROUND : 1;
    uint64_t last = source->last + AROUND > source->last ? source->last + AROUND : source->last;
    char *text = named && !report->options->no_source && find_path(report->options, named, path)
                     ? read_source(path)
                     : NULL;
    out_text(out, "{");
    json_key(out, "path");
    json_string(out, source->path.text, source->path.bytes);
    out_format(out, ",\"first\":%" PRIu64 ",\"lines\":[", first);
    size_t bytes = text ? size_of(text, first, last) : 0;
    if (bytes && bytes <= TEXT_BYTES_MAX - sources->text_bytes) {
        sources->text_bytes += bytes;
        put_text_lines(out, text, first, last);
    }
    out_text(out, "]}");
    free(text);
    free(named);
}

/* ---- kernels --------------------------------------------------------------------------------- */

struct room {
    uint32_t lines, probes, edges;
};

/* How many of count there is room for. */
static uint32_t lines_take(uint32_t *room, uint32_t count)
{
    uint32_t taken = count < *room ? count : *room;
    *room -= taken;
    return taken;
}

static void lines_put_kernel(const struct stats *stats, struct kernel_sums kernel,
                             struct sources *sources, struct out *out, struct room *room)
{
    kernel.line_count = lines_take(&room->lines, kernel.line_count);
    kernel.probe_count = lines_take(&room->probes, kernel.probe_count);
    kernel.edge_count = lines_take(&room->edges, kernel.edge_count);
    for (uint32_t i = 0; i < kernel.line_count; i++)
        note_line(sources, &stats->lines.lines[kernel.first_line + i]);
    out_text(out, "{");
    page_members(out, stats_kernel_lines_table.columns,
                 &(struct result_at){.all = stats, .row = &kernel}, 0);
    out_text(out, "}");
}

void report_lines_json(const struct report *report, struct out *out)
{
    const struct kernel_lines *lines = &report->stats.lines;
    struct sources *sources = calloc(1, sizeof *sources);
    struct room room = {LINES_SHOWN, LINES_SHOWN, LINES_SHOWN};
    if (!sources)
        out_give_up(out, ENOMEM);
    out_text(out, "\"kernel_lines\":[");
    for (uint32_t i = 0; sources && i < lines->kernel_count && room.lines; i++) {
        out_text(out, i ? ",\n" : "\n");
        lines_put_kernel(&report->stats, lines->kernels[i], sources, out, &room);
    }
    out_text(out, "],\n\"sources\":[");
    for (uint32_t i = 0; sources && i < sources->count; i++) {
        out_text(out, i ? ",\n" : "\n");
        put_source(report, sources, out, &sources->list[i]);
    }
    out_text(out, "],\n");
    free(sources);
}
