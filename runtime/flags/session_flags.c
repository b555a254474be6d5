/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiler's flags: one table, from which values are read and messages made.
 *
 * In some of them 0 has a meaning, where in the config it is the default: what they say is read
 * beside the config and told to it in its own words.
 */
#include "failure.h"
#include "flags.h"
#include "rbwp_session.h"
#include "sized.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the flags set. -1: not given. */
struct values {
    int64_t cap_bytes, compression, stall_ns, live, node;
    const char *keep;
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
    {"bgworkprofile_live", FLAG_I64, VALUE(live), 0, 1, 1, "0 or 1 (survive a crash)"},
    {"bgworkprofile_follow", FLAG_BOOL, CONFIG(follow), 0, 1, 1,
     "0 or 1 (the log file may be a link)"},
    {"bgworkprofile_sync", FLAG_U64, CONFIG(sync_ns), 0, 3600 * 1000, 1000000,
     "milliseconds, 0 = never"},
    {"bgworkprofile_keep", FLAG_STRING, VALUE(keep), 0, 0, 1,
     "a size (64M), an age (30s) or both (64M,30s)"},
    {"bgworkprofile_node", FLAG_I64, VALUE(node), 0, UINT32_MAX, 1, "a node id"},
};
const struct flag_table session_flags = {table, sizeof table / sizeof table[0]};

static void tell(struct rbwp_session_config *config, const struct values *values)
{
    if (values->cap_bytes >= 0)
        config->cap_bytes = values->cap_bytes ? (uint64_t)values->cap_bytes : RBWP_CAP_NONE;
    if (values->compression >= 0) {
        config->compression = (int)values->compression;
        config->stored = values->compression == 0;
    }
    if (values->stall_ns >= 0)
        config->stall_ns = values->stall_ns ? (uint64_t)values->stall_ns : 1;
    if (values->live >= 0)
        config->no_live = values->live == 0;
    if (values->node >= 0) {
        config->node = values->node;
        config->own_node = true;
    }
}

/* A number and one of the units, which are in ascending order of what they stand for. */
struct unit {
    char name[4];
    uint64_t times;
    bool is_time;
};

static const struct unit units[] = {
    {"K", UINT64_C(1) << 10, false},
    {"M", UINT64_C(1) << 20, false},
    {"G", UINT64_C(1) << 30, false},
    {"ms", 1000000, true},
    {"s", 1000000000, true},
    {"min", UINT64_C(60000000000), true},
    {"h", UINT64_C(3600000000000), true},
};

/* One of them, up to a comma or the end, which *text moves to. */
static bool take_limit(const char **text, uint64_t *bytes, uint64_t *ns)
{
    char *end;
    size_t unit_bytes;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    unsigned long long number = strtoull(*text, &end, 10);
    unit_bytes = strcspn(end, ",");
    *text = end + unit_bytes;
    for (size_t i = 0; errno == 0 && number && i < sizeof units / sizeof units[0]; i++) {
        uint64_t *to = units[i].is_time ? ns : bytes;
        if (strlen(units[i].name) == unit_bytes && !memcmp(end, units[i].name, unit_bytes))
            return *to == 0 && !__builtin_mul_overflow(number, units[i].times, to);
    }
    return false;
}

static bool take_keep(struct rbwp_session_config *config, const char *text)
{
    uint64_t bytes = 0, ns = 0;
    bool good = take_limit(&text, &bytes, &ns);
    if (good && *text == ',') {
        text++;
        good = take_limit(&text, &bytes, &ns);
    }
    config->keep_bytes = bytes;
    config->keep_ns = ns;
    return good && *text == '\0';
}

enum rbwp_status rbwp_session_parse(struct rbwp_session_config *config, int *argc, char **argv,
                                    struct rbwp_error *error)
{
    struct values values = {-1, -1, -1, -1, -1, NULL, {0}};
    enum rbwp_status status =
        sized_take(&values.config, sizeof values.config, config, "rbwp_session_config", error);
    if (status == RBWP_OK)
        status = flags_apply(&session_flags, &values, sizeof values, argc, argv, error);
    if (status != RBWP_OK)
        return status;
    if (values.keep && !take_keep(&values.config, values.keep))
        return failure(error, RBWP_E_USAGE, 0,
                       "-bgworkprofile_keep: \"%s\" is not a size (64M), an age (30s) or both "
                       "(64M,30s)",
                       values.keep);
    tell(&values.config, &values);
    sized_give(config, config->size, &values.config, sizeof values.config);
    return RBWP_OK;
}
