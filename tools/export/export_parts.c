/* SPDX-License-Identifier: Apache-2.0 */
/* The pass over all files opens and aligns them; each is then read by a pass of its own. */
#include "export_parts.h"
#include "message.h"
#include "span_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct parts {
    struct export_options options;
    const struct exporter *exporter;
};

bool export_parts_wanted(const struct out_options *output)
{
    struct stat status;
    size_t bytes = output->path ? strlen(output->path) : 0;
    return bytes > 0 && (output->path[bytes - 1] == '/' ||
                         (stat(output->path, &status) == 0 && S_ISDIR(status.st_mode)));
}

static bool begin(struct trace_pass *pass)
{
    (void)pass;
    return true;
}

static enum exit_code end(struct trace_pass *pass)
{
    (void)pass;
    return EXIT_GOOD;
}

static bool make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    message("%s: cannot be made: %s", path, strerror(errno));
    return false;
}

/* In memory that the caller frees; NULL with the message given. number: of the file among those of
 * its node. */
static char *path_of(const struct parts *parts, uint32_t node, uint32_t number)
{
    const char *folder = parts->options.reading.output.path;
    int bytes = (int)strlen(folder);
    char which[16] = "", *path, *below;
    while (bytes > 1 && folder[bytes - 1] == '/')
        bytes--;
    if (number)
        snprintf(which, sizeof which, "-%" PRIu32, number);
    if (asprintf(&below, "%.*s/node=%" PRIu32, bytes, folder, node) < 0) {
        message("out of memory");
        return NULL;
    }
    bool made = make_folder(below);
    if (made &&
        asprintf(&path, "%s/part%s%.*s", below, which, (int)strcspn(parts->exporter->suffixes, " "),
                 parts->exporter->suffixes) < 0) {
        message("out of memory");
        made = false;
    }
    free(below);
    return made ? path : NULL;
}

/* Not the node's: readers make one of the path, and do not take it twice. */
static uint32_t columns_of(uint32_t chosen)
{
    uint32_t all =
        span_column_count() == 32 ? UINT32_MAX : (UINT32_C(1) << span_column_count()) - 1;
    return (chosen ? chosen : all) & ~(UINT32_C(1) << span_column_named("node", 4));
}

static enum exit_code write_part(const struct trace_pass *pass, struct trace_source *source,
                                 struct alignment *alignment, const char *path)
{
    const struct parts *parts = pass->asked;
    struct export_options options = parts->options;
    struct trace_maker maker = parts->exporter->maker;
    struct trace_pass part = *pass;
    options.reading.output.path = path;
    options.columns = columns_of(options.columns);
    maker.empty_is_good = true;
    part.maker = &maker;
    part.asked = &options;
    part.options = &options.reading;
    part.is_part = true;
    return trace_pass_write(&part, &(struct trace_sources){source, alignment, 1});
}

static enum exit_code read_parts(struct trace_pass *pass, const struct trace_sources *sources)
{
    const struct parts *parts = pass->asked;
    uint32_t *nodes = calloc((size_t)sources->count, sizeof *nodes);
    enum exit_code code = EXIT_GOOD;
    if (!nodes || !make_folder(parts->options.reading.output.path)) {
        if (!nodes)
            message("out of memory");
        free(nodes);
        return EXIT_BAD_DATA;
    }
    for (int i = 0; i < sources->count; i++)
        nodes[i] = sources->list[i].facts.node; /* which goes when it was read */
    for (int i = 0; i < sources->count; i++) {
        uint32_t number = 0;
        if (!shard_has(pass->options->inputs.shard, sources->list[i].number))
            continue;
        for (int before = 0; before < i; before++)
            number += nodes[before] == nodes[i];
        char *path = path_of(parts, nodes[i], number);
        code = exit_worse(code,
                          path ? write_part(pass, &sources->list[i], &sources->alignments[i], path)
                               : EXIT_BAD_DATA);
        free(path);
    }
    free(nodes);
    return code;
}

enum exit_code export_parts(const struct exporter *exporter, const struct export_options *options,
                            struct operands files)
{
    static const struct trace_maker maker = {
        .own_output = true, .begin = begin, .read = read_parts, .end = end};
    const struct parts parts = {*options, exporter};
    return trace_pass(&maker, &parts, &options->reading, files);
}
