/* SPDX-License-Identifier: Apache-2.0 */
/* The options of rbwp ptx, which rbwp-ptxas takes from its environment too. */
#include "ptx_tool.h"

#define MODES "block single entire config cfg mma warp" /* in the order of enum ptx_mode */

static bool store_mode(void *value, const char *text, struct option_error *error)
{
    struct ptx_tool_options *options = value;
    uint32_t which;
    options->mode_given = option_choice(text, MODES, &which, error);
    if (options->mode_given)
        options->probes.mode = (enum ptx_mode)which;
    return options->mode_given;
}

/* In these enums 0 is what the mode has. */
static bool store_cells(void *value, const char *text, struct option_error *error)
{
    return option_choice(text, "compat wide", value, error) && ++*(enum ptx_cells *)value;
}

static bool store_lane(void *value, const char *text, struct option_error *error)
{
    return option_choice(text, "thread warp", value, error) && ++*(enum ptx_lane *)value;
}

static bool store_param(void *value, const char *text, struct option_error *error)
{
    struct ptx_options *options = value;
    options->binding = PTX_BIND_PARAM;
    return option_store_text(&options->param, text, error);
}

static bool store_pair_cost(void *value, const char *text, struct option_error *error)
{
    struct ptx_tool_options *options = value;
    options->pair_cost_given = true;
    return option_number(text, 0, INT32_MAX, &options->pair_cost, error);
}

/* ---- sets of threads ------------------------------------------------------------------- */

/* The number that *at begins with; false if there is none, or it is beyond 10^15. */
static bool ptx_options_take_number(const char **at, uint64_t *number_out)
{
    const char *begin = *at;
    *number_out = 0;
    for (; **at >= '0' && **at <= '9' && *number_out < UINT64_C(1000000000000000); ++*at)
        *number_out = *number_out * 10 + (uint64_t)(**at - '0');
    return *at > begin && !(**at >= '0' && **at <= '9');
}

/* A, A-B or A-B/STEP. */
static bool take_range(const char **at, struct ptx_range *range)
{
    range->step = 1;
    if (!ptx_options_take_number(at, &range->first))
        return false;
    range->last = range->first;
    if (**at == '-') {
        ++*at;
        if (!ptx_options_take_number(at, &range->last))
            return false;
    }
    if (**at == '/') {
        ++*at;
        if (!ptx_options_take_number(at, &range->step))
            return false;
    }
    return range->last >= range->first && range->step > 0;
}

static bool store_threads(void *value, const char *text, struct option_error *error)
{
    struct ptx_options *options = value;
    for (options->range_count = 0; options->range_count < PTX_RANGES_MAX;) {
        if (!take_range(&text, &options->ranges[options->range_count]))
            break;
        options->range_count++;
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            break;
    }
    return option_wrong(error, "is no set: up to %d of N, A-B or A-B/STEP, by commas",
                        PTX_RANGES_MAX);
}

/* ---- tables ---------------------------------------------------------------------------- */

#define AT(member) offsetof(struct ptx_tool_options, member)

static const struct option ptx_probe_table[] = {
    {"mode", 'm', "MODE", MODES, "what a probe is around: block (default), see the manual", 0,
     store_mode},
    {"kernel", 0, "NAME", NULL, "this kernel; '*' is all of them; default: the first, or all shown",
     AT(probes.kernel), NULL},
    {"file", 0, "N", NULL, "lines of this file of .loc: number, path or all", AT(file), NULL},
    {"threads", 't', "SET", NULL, "the threads (or warps) that record: 0-127, 0-65535/256, 3,7",
     AT(probes), store_threads},
    {"per", 0, "LANE", "thread warp", "what records: a thread, or a warp's first one",
     AT(probes.lane), store_lane},
    {"capacity", 0, "N", "1..2147483647", "records that each of them has room for; default 256",
     AT(probes.capacity), NULL},
    {"cells", 0, "KIND", "compat wide", "records of 16 bytes, or of 32 with time, SM and warp",
     AT(probes.cells), store_cells},
    {"bind", 0, "HOW", "variable append param", "where the buffer's address comes from",
     AT(probes.binding), NULL},
    {"param", 0, "NAME", NULL, "from this parameter of the kernel", AT(probes), store_param},
    {"active", 0, "FILE", NULL, "only the probes of this list (active_probes.json)", AT(active),
     NULL},
    {"unknown", 0, NULL, NULL, "let instructions pass that are not known", AT(probes.unknown_too),
     NULL},
    {0},
};

static const struct option ptx_reading_table[] = {
    {"dir", 0, "FOLDER", NULL, "decode: where raw.npy, raw.csv, trace.json and the rest go",
     AT(folder), NULL},
    {"rbwp", 0, "FILE", NULL, "decode: a folder of launches as a profile", AT(profile), NULL},
    {"csv-header", 0, NULL, NULL, "decode: raw.csv with a line of names", AT(csv_header), NULL},
    {"pair-cost", 0, "CYCLES", NULL, "taken off each record; default: as it was measured", 0,
     store_pair_cost},
    {"compat", 0, NULL, NULL, "sanitize: take records of probe 0 for empty ones", AT(compat), NULL},
    {"keep-dead", 0, NULL, NULL, "sanitize: keep probes that never fired", AT(keep_dead), NULL},
    {"keep-neighbours", 0, NULL, NULL, "sanitize: merge no neighbours", AT(keep_edges), NULL},
    {"source", 0, "FILE", NULL, "annotate: the source, where the map has another path", AT(source),
     NULL},
    {0},
};

static const struct option ptx_file_table[] = {
    {"map", 0, "FILE", NULL, "what the probes are and how the buffer looks", AT(map), NULL},
    {"loc-map", 0, "FILE", NULL, "probes and their source lines (loc_map.json)", AT(loc_map), NULL},
    {"config", 0, "FILE", NULL, "config.ini: what no option says, and where files go", AT(config),
     NULL},
    {"json", 0, NULL, NULL, "blocks as JSON", AT(json), NULL},
    {0},
};

const struct option_group ptx_option_groups[] = {
    {"Probes", ptx_probe_table, 0},
    {"Reading what they wrote", ptx_reading_table, 0},
    {"Files", ptx_file_table, 0},
    {"Output", out_option_table, AT(output)},
    {"Terminal", terminal_option_table, AT(terminal)},
    {0},
};
