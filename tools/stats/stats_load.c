/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by way of the exporters' frame, which opens files and puts them on one axis. */
#include "stats_load.h"
#include "input_folder.h"

static struct stats_load *load_of(struct export *export)
{
    /* The export options are the first member of a load. */
    return (struct stats_load *)(uintptr_t) export->options;
}

static bool begin(struct export *export)
{
    struct stats_load *load = load_of(export);
    stats_start(&load->stats, &load->options);
    load->loaded = true;
    export->sink = stats_sink(&load->stats);
    return true;
}

static enum exit_code end(struct export *export)
{
    struct stats_load *load = load_of(export);
    stats_finish(&load->stats);
    return load->stats.failed ? EXIT_PARTLY : EXIT_GOOD;
}

enum exit_code stats_load(struct stats_load *load, struct operands files)
{
    static const struct exporter exporter = {
        .name = "sums", .own_output = true, .begin = begin, .end = end};
    load->options.orphans = load->trace.filter.kinds != 0;
    struct operands found;
    enum exit_code code = EXIT_BAD_DATA;
    if (input_folders_open(files, &found))
        code = export_with(&exporter, &load->trace, found);
    input_folders_close(&found);
    return code;
}
