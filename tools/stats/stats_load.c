/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of one pass over files. */
#include "stats_load.h"
#include "input_list.h"

static struct stats_load *load_of(struct trace_pass *pass)
{
    return (struct stats_load *)(uintptr_t)pass->asked;
}

static bool load_begin(struct trace_pass *pass)
{
    struct stats_load *load = load_of(pass);
    stats_start(&load->stats, &load->options);
    load->loaded = true;
    pass->sink = stats_sink(&load->stats);
    return true;
}

static enum exit_code load_end(struct trace_pass *pass)
{
    struct stats_load *load = load_of(pass);
    stats_finish(&load->stats);
    return load->stats.failed ? EXIT_PARTLY : EXIT_GOOD;
}

enum exit_code stats_load(struct stats_load *load, struct operands files)
{
    static const struct trace_maker maker = {
        .own_output = true, .begin = load_begin, .end = load_end};
    load->options.orphans = load->reading.filter.kinds != 0;
    struct operands found;
    bool usage;
    enum exit_code code = EXIT_BAD_DATA;
    if (input_list_open(&load->reading.inputs, files, &found, &usage))
        code = trace_pass(&maker, load, &load->reading, found);
    input_list_close(&found);
    return code;
}
