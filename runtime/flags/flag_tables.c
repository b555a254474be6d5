/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flag_tables.c - the profiler's flags and the work manager's: a table each, from which values are
 * read and messages made.
 *
 * In some of them 0 has a meaning, where in the config it is the default: what they say is read
 * beside the config and put into it in its own words.
 */
#include "failure.h"
#include "flags.h"
#include "settings_file.h"
#include "rbwp_session.h"
#include "rbwp_work.h"

#include <string.h>

/* What the flags set. -1: not given. */
struct values {
    int64_t cap_bytes, compression, stall_ns, live, cpu, node, control;
    const char *keep, *rotate, *rule_every, *stacks;
    struct rbwp_session_config config;
};

#define CONFIG(name) offsetof(struct values, config.name)
#define VALUE(name) offsetof(struct values, name)
#define MEGABYTE (1u << 20)
#define BUFFER_MB_MAX (1 << 24) /* 16 TiB */

static const struct flag table[] = {
    {"bgworkprofile", FLAG_INT, CONFIG(level), 0, 2, 1,
     "0 (off), 1 (coarse) or 2 (coarse and fine)"},
    {"bgworkprofile_logfile", FLAG_STRING, CONFIG(logfile), 0, 0, 1, "a file name"},
    {"bgworkprofile_bufsize", FLAG_I64, VALUE(cap_bytes), 0, BUFFER_MB_MAX, MEGABYTE,
     "megabytes, 0 = unlimited"},
    {"bgworkprofile_compress", FLAG_I64, VALUE(compression), 0, 9, 1,
     "0 (stored), 1 (fast) to 9 (small)"},
    {"bgworkprofile_block", FLAG_U32, CONFIG(block_bytes), 1, RBWP_BLOCK_BYTES_MAX / 1024, 1024,
     "kilobytes"},
    {"bgworkprofile_drop", FLAG_ENUM, CONFIG(at_cap), 0, 1, 1,
     "0 (wait at the cap) or 1 (drop and count)"},
    {"bgworkprofile_strict", FLAG_BOOL, CONFIG(strict), 0, 1, 1, "0 or 1 (plain version 1)"},
    {"bgworkprofile_stall", FLAG_I64, VALUE(stall_ns), 0, 3600 * 1000, 1000000, "milliseconds"},
    {"bgworkprofile_live", FLAG_I64, VALUE(live), 0, 2, 1,
     "0, 1 (survive a crash) or 2 (in memory, not on a disk)"},
    {"bgworkprofile_follow", FLAG_BOOL, CONFIG(follow), 0, 1, 1,
     "0 or 1 (the log file may be a link)"},
    {"bgworkprofile_sync", FLAG_U64, CONFIG(sync_ns), 0, 3600 * 1000, 1000000,
     "milliseconds, 0 = never"},
    {"bgworkprofile_keep", FLAG_STRING, VALUE(keep), 0, 0, 1,
     "a size (64M), an age (30s) or both (64M,30s)"},
    {"bgworkprofile_rotate", FLAG_STRING, VALUE(rotate), 0, 0, 1,
     "a size (1G), an age (1h) or both (1G,1h)"},
    {"bgworkprofile_rule", FLAG_STRING, CONFIG(rules), 0, 0, 1,
     "rules: call:NAME>10ms, queue:NAME>5ms, counter:NAME>100"},
    {"bgworkprofile_rule_every", FLAG_STRING, VALUE(rule_every), 0, 0, 1, "a duration (60s)"},
    {"bgworkprofile_ctl", FLAG_I64, VALUE(control), 0, 1, 1,
     "0 (nobody controls it) or 1 (rbwp ctl does, at level 0 too)"},
    {"bgworkprofile_settings", FLAG_STRING, CONFIG(settings), 0, 0, 1, "a file name"},
    {"bgworkprofile_signal", FLAG_STRING, CONFIG(signals), 0, 0, 1, "SIGNAL or SIGNAL=ACTION,..."},
    {"bgworkprofile_children", FLAG_BOOL, CONFIG(children), 0, 1, 1,
     "0 or 1 (forked children record too)"},
    {"bgworkprofile_cpu", FLAG_I64, VALUE(cpu), 0, 1, 1,
     "0 or 1 (say what calls did with their time)"},
    {"bgworkprofile_stacks", FLAG_STRING, VALUE(stacks), 0, 0, 1,
     "a duration (10ms): stacks of what takes longer"},
    {"bgworkprofile_node", FLAG_I64, VALUE(node), 0, UINT32_MAX, 1, "a node id"},
};

static void flag_tables_report(struct rbwp_session_config *config, const struct values *values)
{
    if (values->cap_bytes >= 0)
        config->cap_bytes = values->cap_bytes ? (uint64_t)values->cap_bytes : RBWP_CAP_NONE;
    if (values->compression >= 0) {
        config->compression = (int)values->compression;
        config->stored = values->compression == 0;
    }
    if (values->stall_ns >= 0)
        config->stall_ns = values->stall_ns ? (uint64_t)values->stall_ns : 1;
    if (values->live >= 0) {
        config->no_live = values->live == 0;
        config->live_in_memory = values->live == 2;
    }
    if (values->cpu >= 0)
        config->no_cpu = values->cpu == 0;
    if (values->control >= 0)
        config->control = values->control ? RBWP_CONTROL_ALWAYS : RBWP_CONTROL_NONE;
    if (values->node >= 0) {
        config->node = values->node;
        config->own_node = true;
    }
}

/* A size or an age, up to a comma or the end, which *text moves to. */
static bool take_limit(const char **text, uint64_t *bytes, uint64_t *ns)
{
    const char *begin = *text;
    size_t count = strcspn(begin, ",");
    *text += count;
    return (*bytes == 0 && limit_text_bytes(begin, count, bytes)) ||
           (*ns == 0 && limit_text_ns(begin, count, ns));
}

/* NULL is none. */
static bool take_limits(const char *text, uint64_t *bytes_out, uint64_t *ns_out)
{
    uint64_t bytes = 0, ns = 0;
    if (!text)
        return true;
    bool good = take_limit(&text, &bytes, &ns);
    if (good && *text == ',') {
        text++;
        good = take_limit(&text, &bytes, &ns);
    }
    *bytes_out = bytes;
    *ns_out = ns;
    return good && *text == '\0';
}

static enum rbwp_status fail_limits(const char *flag, const char *value, struct rbwp_error *error)
{
    return failure(error, RBWP_E_USAGE, 0,
                   "-bgworkprofile_%s: \"%s\" is not a size (64M), an age (30s) or both (64M,30s)",
                   flag, value);
}

/* Likewise. */
static bool take_duration(const char *text, uint64_t *ns_out)
{
    return !text || limit_text_ns(text, strlen(text), ns_out);
}

static enum rbwp_status fail_duration(const char *flag, const char *value, struct rbwp_error *error)
{
    return failure(error, RBWP_E_USAGE, 0,
                   "-bgworkprofile_%s: \"%s\" is not a duration (500ms, 60s, 5min)", flag, value);
}

static enum rbwp_status flag_tables_finish(void *config, struct rbwp_error *error)
{
    struct values *values = config;
    struct rbwp_session_config *given = &values->config;
    if (!take_limits(values->keep, &given->keep_bytes, &given->keep_ns))
        return fail_limits("keep", values->keep, error);
    if (!take_limits(values->rotate, &given->rotate_bytes, &given->rotate_ns))
        return fail_limits("rotate", values->rotate, error);
    if (!take_duration(values->rule_every, &given->rule_every_ns))
        return fail_duration("rule_every", values->rule_every, error);
    if (!take_duration(values->stacks, &given->stacks_ns))
        return fail_duration("stacks", values->stacks, error);
    flag_tables_report(given, values);
    return RBWP_OK;
}

const struct flag_table session_flags = {table, sizeof table / sizeof table[0], CONFIG(settings),
                                         flag_tables_finish};

enum rbwp_status rbwp_session_parse(struct rbwp_session_config *config, int *argc, char **argv,
                                    struct rbwp_error *error)
{
    struct values values = {-1, -1, -1, -1, -1, -1, -1, NULL, NULL, NULL, NULL, {0}};
    enum rbwp_status status =
        sized_take(&values.config, sizeof values.config, config, "rbwp_session_config", error);
    if (status == RBWP_OK)
        status = flags_apply(&session_flags, &values, sizeof values, argc, argv, error);
    if (status == RBWP_OK)
        sized_give(config, config->size, &values.config, sizeof values.config);
    return status;
}

/* ---- the work manager's ---- */

/* What the flags set. -1: not given. 0 is no_workers, no_spin. */
struct work_values {
    int64_t workers;
    int64_t spin_ns;
    struct rbwp_work_config config;
};

#define WORK_CONFIG(field) offsetof(struct work_values, config.field)

static const struct flag work_table[] = {
    {"bgwork", FLAG_I64, offsetof(struct work_values, workers), 0, 1024, 1,
     "worker threads per NUMA domain in use"},
    {"bgnuma", FLAG_BOOL, WORK_CONFIG(numa), 0, 1, 1, "1: a set of workers for each NUMA domain"},
    {"bgworkpin", FLAG_BOOL, WORK_CONFIG(pin), 0, 1, 1, "1: each worker on a CPU of its own"},
    {"bgnumapin", FLAG_BOOL, WORK_CONFIG(numa_pin), 0, 1, 1,
     "1: each worker on the CPUs of its domain"},
    {"bgstack", FLAG_U64, WORK_CONFIG(stack_bytes), 64, 4 << 20, 1024, "kilobytes of worker stack"},
    {"bgspin", FLAG_I64, offsetof(struct work_values, spin_ns), 0, 3600000000, 1000,
     "microseconds an idle worker spins before it sleeps"},
    {"bgslice", FLAG_U64, WORK_CONFIG(slice_ns), 1, 3600000000, 1000,
     "microseconds of a work item's time slice"},
};
const struct flag_table work_flags = {work_table, sizeof work_table / sizeof work_table[0], 0,
                                      NULL};

enum rbwp_status rbwp_work_parse(struct rbwp_work_config *config, int *argc, char **argv,
                                 struct rbwp_error *error)
{
    struct work_values values = {.workers = -1, .spin_ns = -1};
    enum rbwp_status status =
        sized_take(&values.config, sizeof values.config, config, "rbwp_work_config", error);
    if (status == RBWP_OK)
        status = flags_apply(&work_flags, &values, sizeof values, argc, argv, error);
    if (status != RBWP_OK)
        return status;
    if (values.workers >= 0) {
        values.config.workers = (uint32_t)values.workers;
        values.config.no_workers = values.workers == 0;
    }
    if (values.spin_ns >= 0) {
        values.config.spin_ns = (uint64_t)values.spin_ns;
        values.config.no_spin = values.spin_ns == 0;
    }
    sized_give(config, config->size, &values.config, sizeof values.config);
    return RBWP_OK;
}
