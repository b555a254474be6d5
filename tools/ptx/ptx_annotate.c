/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp ptx annotate: the source with what each line took.
 *
 * A file that can be read is shown from its first line that has probes to its last, every line of
 * it; of others the lines with probes, without their text. Of a folder of launches each kernel is
 * shown, all of its launches together.
 */
#include "grow.h"
#include "message.h"
#include "ptx_pairs.h"
#include "ptx_tool.h"
#include "ptx_walk.h"
#include "text_name.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_BYTES_MAX (16u << 20)
#define BAR 10
#define BEFORE_SOURCE 67

struct view {
    struct out *out;
    const struct ptx_tool_options *tool;
    const struct ptx_sums *sums;
    const struct ptx_whole *whole;
    struct colors colors;
    unsigned width;
    bool utf8;
};

/* What stands before a line's text; sum is NULL where nothing was timed. */
static void put_numbers(const struct view *view, const struct ptx_sum *sum, uint32_t line)
{
    if (!sum) {
        out_format(view->out, "%57s%8" PRIu32 "  ", "", line);
        return;
    }
    double share = view->sums->cycles ? (double)sum->cycles / (double)view->sums->cycles : 0;
    out_text(view->out, share >= 0.2 ? view->colors.red : "");
    out_format(view->out, "%6.1f%% ", 100 * share);
    int full = (int)(share * BAR + 0.5);
    for (int i = 0; i < BAR; i++)
        out_text(view->out, i >= full ? " " : view->utf8 ? "\u2588" : "#");
    out_text(view->out, share >= 0.2 ? view->colors.off : "");
    out_format(view->out, " %10" PRIu64 " %9" PRIu64 " %9" PRIu64 " %6.1f%%", sum->count, sum->p50,
               sum->p99, 100 * sum->spread);
    out_format(view->out, "%8" PRIu32 "  ", line);
}

static void put_line(const struct view *view, const struct ptx_sum *sum, uint32_t line,
                     const char *text, size_t count)
{
    put_numbers(view, sum, line);
    while (count > 0 && (text[count - 1] == '\r' || text[count - 1] == '\n'))
        count--;
    char plain[TEXT_COLUMNS_MAX];
    if (count > sizeof plain)
        count = sizeof plain;
    for (size_t i = 0; i < count; i++)
        plain[i] = text[i] == '\t' ? ' ' : text[i];
    unsigned room = view->width > BEFORE_SOURCE + 20 ? view->width - BEFORE_SOURCE : 20;
    text_name_fit(view->out, plain, count, room < TEXT_COLUMNS_MAX ? room : TEXT_COLUMNS_MAX);
    out_text(view->out, "\n");
}

/* The lines of one file: sums first to before end. */
static void put_source(const struct view *view, const char *text, uint32_t first, uint32_t end)
{
    const struct ptx_sum *sums = view->sums->sums;
    uint32_t line = 1, last = (uint32_t)sums[end - 1].key, from = (uint32_t)sums[first].key;
    for (; text && *text && line <= last; line++) {
        const char *stop = strchr(text, '\n');
        size_t count = stop ? (size_t)(stop - text) : strlen(text);
        bool here = first < end && (uint32_t)sums[first].key == line;
        if (line >= from)
            put_line(view, here ? &sums[first] : NULL, line, text, count);
        first += here;
        text += count + (stop != NULL);
    }
    for (; first < end; first++) /* that the file does not have, or without a file */
        put_line(view, &sums[first], (uint32_t)sums[first].key, "", 0);
}

static void put_file(const struct view *view, const struct ptx_map *map, uint32_t first,
                     uint32_t end)
{
    uint32_t number = (uint32_t)(view->sums->sums[first].key >> 32);
    const char *path = view->tool->source ? view->tool->source : ptx_map_name(&map->files, number);
    size_t bytes;
    char *text = NULL;
    if (view->sums->sums[first].key == 0) {
        out_text(view->out, "without a source line:\n");
    } else {
        out_text(view->out, *path ? "" : "file ");
        if (*path)
            text_name(view->out, path, strlen(path));
        else
            out_format(view->out, "%" PRIu32, number);
        out_text(view->out, ":\n");
        text =
            *path && access(path, R_OK) == 0 ? ptx_read_file(path, SOURCE_BYTES_MAX, &bytes) : NULL;
    }
    put_source(view, text, first, end);
    free(text);
}

/* launches: 0 where it is a buffer. */
static void put_view(const struct view *view, const struct ptx_map *map, const char *kernel,
                     uint64_t launches, uint64_t dropped)
{
    const struct ptx_sums *sums = view->sums;
    out_text(view->out, "kernel ");
    text_name(view->out, kernel, strlen(kernel));
    out_format(view->out, ": %" PRIu64 " cycles in all lanes", sums->cycles);
    if (launches)
        out_format(view->out, " of %" PRIu64 " launch%s", launches, launches == 1 ? "" : "es");
    if (dropped)
        out_format(view->out, ", %" PRIu64 " records lost", dropped);
    out_format(view->out, "\n%7s %-10s %10s %9s %9s %7s%8s  %s\n", "share", "", "count", "p50",
               "p99", "spread", "line", "source");
    for (uint32_t first = 0, end; first < sums->count; first = end) {
        for (end = first + 1;
             end < sums->count && sums->sums[end].key >> 32 == sums->sums[first].key >> 32;)
            end++;
        put_file(view, map, first, end);
    }
    ptx_whole_write(view->out, view->whole);
}

static struct view view_of(const struct ptx_tool_options *tool, struct out *out,
                           const struct ptx_sums *sums, const struct ptx_whole *whole)
{
    return (struct view){.out = out,
                         .tool = tool,
                         .sums = sums,
                         .whole = whole,
                         .colors = terminal_colors(&tool->terminal, out->fd),
                         .width = terminal_width(out->fd),
                         .utf8 = terminal_is_utf8()};
}

static enum exit_code ptx_annotate_show(const struct ptx_tool_options *tool, struct operands files,
                                        const struct ptx_map *map, const struct ptx_matrix *matrix)
{
    struct ptx_sums sums;
    struct out out;
    uint32_t cost = tool->pair_cost_given ? tool->pair_cost : matrix->pair_cost;
    if (!ptx_sums_make(&sums, matrix, map, cost))
        return EXIT_BAD_DATA;
    enum exit_code code = EXIT_BAD_DATA;
    if (out_open(&out, &tool->output, files)) {
        struct ptx_whole whole = {0};
        ptx_whole_add(&whole, matrix, cost);
        struct view view = view_of(tool, &out, &sums, &whole);
        put_view(&view, map, ptx_map_kernel(map), 0, matrix->dropped);
        code = out_close(&out);
    }
    ptx_sums_free(&sums);
    return code;
}

/* ---- a folder -------------------------------------------------------------------------- */

/* A kernel of a module with probes, and what its launches recorded. */
struct annotated {
    char map[PTX_FILE_NAME], kernel[PTX_KERNEL_NAME];
    uint64_t launches, dropped;
    struct ptx_gathered gathered;
    struct ptx_whole whole;
};

struct annotating {
    const struct ptx_tool_options *tool;
    struct annotated *kernels;
    uint32_t count, room;
    bool failed; /* a message was given */
};

/* NULL with the message given. */
static struct annotated *find_kernel(struct annotating *all, const struct ptx_launch *launch,
                                     const struct ptx_map *map)
{
    const char *kernel = *launch->kernel ? launch->kernel : ptx_map_kernel(map);
    for (uint32_t i = 0; i < all->count; i++)
        if (strcmp(all->kernels[i].map, launch->map) == 0 &&
            strcmp(all->kernels[i].kernel, kernel) == 0)
            return &all->kernels[i];
    if (!GROW_ZEROED(all->kernels, all->room, all->count + 1)) {
        message("out of memory");
        return NULL;
    }
    struct annotated *found = &all->kernels[all->count++];
    memcpy(found->map, launch->map, sizeof found->map);
    snprintf(found->kernel, sizeof found->kernel, "%s", kernel);
    return found;
}

static bool ptx_annotate_take_launch(void *context, const struct ptx_launch *launch,
                                     const struct ptx_map *map, const struct ptx_matrix *matrix)
{
    struct annotating *all = context;
    const struct ptx_tool_options *tool = all->tool;
    if (!matrix)
        return true;
    struct annotated *kernel = find_kernel(all, launch, map);
    uint32_t cost = tool->pair_cost_given ? tool->pair_cost : matrix->pair_cost;
    all->failed = !kernel || !ptx_gather(&kernel->gathered, matrix, map, cost);
    if (!all->failed) {
        ptx_whole_add(&kernel->whole, matrix, cost);
        kernel->launches++;
        kernel->dropped += matrix->dropped;
    }
    return !all->failed;
}

/* The map was read before; it is read again, as only one is kept. */
static bool put_kernel(const struct annotating *all, struct annotated *kernel, const char *folder,
                       struct out *out, bool first)
{
    char path[PATH_MAX];
    struct ptx_map map;
    struct ptx_sums sums;
    if (snprintf(path, sizeof path, "%s/%s", folder, kernel->map) >= (int)sizeof path ||
        !ptx_map_read(&map, path))
        return false;
    bool good = ptx_gathered_sums(&kernel->gathered, &sums);
    if (good) {
        struct view view = view_of(all->tool, out, &sums, &kernel->whole);
        out_text(out, first ? "" : "\n");
        put_view(&view, &map, kernel->kernel, kernel->launches, kernel->dropped);
        ptx_sums_free(&sums);
    }
    ptx_map_free(&map);
    return good;
}

static enum exit_code annotate_folder(const struct ptx_tool_options *tool, struct operands files)
{
    struct annotating all = {.tool = tool};
    struct ptx_walk walk = {
        .path = files.words[0], .context = &all, .launch = ptx_annotate_take_launch};
    struct out out;
    enum exit_code code = EXIT_BAD_DATA;
    if (ptx_walk_begin(&walk)) {
        ptx_walk_launches(&walk);
        if (all.count == 0 && !all.failed)
            message_plain("%s: no launch with records is in it", walk.path);
        if (all.count > 0 && !all.failed && out_open(&out, &tool->output, (struct operands){0})) {
            bool good = true;
            for (uint32_t i = 0; i < all.count && good; i++)
                good = put_kernel(&all, &all.kernels[i], walk.path, &out, i == 0);
            code = exit_worse(good ? EXIT_GOOD : EXIT_BAD_DATA, out_close(&out));
            code = exit_worse(code, walk.refused ? EXIT_PARTIAL : EXIT_GOOD);
        }
    }
    for (uint32_t i = 0; i < all.count; i++)
        free(all.kernels[i].gathered.timed);
    free(all.kernels);
    ptx_walk_end(&walk);
    return code;
}

enum exit_code ptx_tool_annotate(const struct ptx_tool_options *tool, struct operands files)
{
    struct ptx_map map;
    struct ptx_matrix matrix;
    struct stat status;
    if (stat(files.words[0], &status) == 0 && S_ISDIR(status.st_mode))
        return annotate_folder(tool, files);
    if (!tool->map)
        return message_usage("annotate needs the probes: --map MAP, or a folder of launches");
    if (!ptx_map_read(&map, tool->map))
        return EXIT_BAD_DATA;
    enum exit_code code = EXIT_BAD_DATA;
    if (ptx_matrix_read_raw(&matrix, &map, files.words[0])) {
        code = ptx_annotate_show(tool, files, &map, &matrix);
        ptx_matrix_free(&matrix);
    }
    ptx_map_free(&map);
    return code;
}
