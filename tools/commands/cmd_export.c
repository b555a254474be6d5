/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp export: files for other tools. The kinds are in export/. */
#include "critical_path.h"
#include "documents.h"
#include "export.h"

#include <stdlib.h>

static const struct option path_option_table[] = {
    {"critical-path", 0, NULL, NULL,
     "perfetto: a track of what held the run up (rbwp stats --critical-path)",
     offsetof(struct export_options, critical_path), NULL},
    {0},
};

static const struct option_group export_groups[] = {
    {"Format", export_option_table, 0},
    {"Content", path_option_table, 0},
    {"Report", export_report_table, 0},
    READING_GROUPS(struct export_options, FILTER_OPTIONS_UNTIL, progress_option_table),
    {0},
};

struct export_along {
    struct export_options options;
    struct operands files;
    enum exit_code code;
    bool begun;
};

/* While the path and its names are known. */
static void export_with_path(const struct critical_report_view *view, void *context)
{
    struct export_along *along = context;
    const struct critical_path *path = critical_path_of(view);
    along->begun = true;
    struct export_piece *pieces = calloc(path->piece_count + 1u, sizeof *pieces);
    uint32_t count = 0;
    for (; pieces && count < path->piece_count; count++) {
        const struct critical_piece *piece = &path->pieces[count];
        pieces[count] = (struct export_piece){piece->start_ns, piece->duration_ns,
                                              critical_piece_text(view, piece)};
        if (!pieces[count].text)
            break;
    }
    along->options.pieces = pieces;
    along->options.piece_count = count;
    along->code = pieces && count == path->piece_count ? export_files(&along->options, along->files)
                                                       : message_bad_data("out of memory");
    for (uint32_t i = 0; i < count; i++)
        free(pieces[i].text);
    free(pieces);
}

/* Without a path all else is written all the same. */
static enum exit_code export_path(const struct export_options *options, struct operands files)
{
    struct export_along along = {*options, files, EXIT_GOOD, false};
    const enum exit_code found = critical_find(&options->reading, files, export_with_path, &along);
    if (along.begun)
        return found == EXIT_PARTIAL ? exit_worse(along.code, found) : along.code;
    if (found == EXIT_PARTIAL)
        return exit_worse(export_files(options, files), found);
    message("no critical path is known: nothing links the work of these files, or they can be "
            "read once alone");
    return export_files(options, files);
}

static enum exit_code export_run(void *config, struct operands files)
{
    const struct export_options *options = config;
    return csv_is_known(result_has_list(export_columns, options->csv), options->csv, options->json)
               ? (options->critical_path ? export_path : export_files)(options, files)
               : EXIT_USAGE;
}

const struct command command_export = {
    .name = "export",
    .summary = "write files for viewers, databases and scripts",
    .operands = "FILE...",
    .description =
        "Writes the spans of RBWP files in a form that other programs open; '-' is standard\n"
        "input. Files of several nodes come out as one.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = export_groups,
    .config_bytes = sizeof(struct export_options),
    .needs_file = true,
    .inputs = INPUTS_TOGETHER,
    .inputs_offset = offsetof(struct export_options, reading.inputs),
    .run = export_run,
};
