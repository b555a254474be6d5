/* SPDX-License-Identifier: Apache-2.0 */
/* The profiler's flags: one table, from which values are read and messages made. */
#include "flags.h"
#include "rbwp_session.h"

#define FIELD(name) offsetof(struct rbwp_session_config, name)
#define MEGABYTE (1u << 20)
#define BUFFER_MB_MAX (1 << 24) /* 16 TiB */

static const struct flag table[] = {
    {"bgworkprofile", FLAG_INT, FIELD(level), 0, 2, 1,
     "0 (off), 1 (coarse) or 2 (coarse and fine)"},
    {"bgworkprofile_logfile", FLAG_STRING, FIELD(logfile), 0, 0, 1, "a file name"},
    {"bgworkprofile_bufsize", FLAG_U64, FIELD(cap_bytes), 0, BUFFER_MB_MAX, MEGABYTE,
     "megabytes, 0 = unlimited"},
    {"bgworkprofile_compress", FLAG_INT, FIELD(compression), 0, 9, 1,
     "0 (stored), 1 (fast) to 9 (small)"},
    {"bgworkprofile_block", FLAG_U32, FIELD(block_bytes), 1, RBWP_BLOCK_BYTES_MAX / 1024, 1024,
     "kilobytes"},
    {"bgworkprofile_drop", FLAG_ENUM, FIELD(at_cap), 0, 1, 1,
     "0 (wait at the cap) or 1 (drop and count)"},
    {"bgworkprofile_strict", FLAG_BOOL, FIELD(strict), 0, 1, 1, "0 or 1 (plain version 1)"},
    {"bgworkprofile_stall", FLAG_U64, FIELD(stall_ns), 0, 3600 * 1000, 1000000, "milliseconds"},
    {"bgworkprofile_live", FLAG_BOOL, FIELD(live), 0, 1, 1, "0 or 1 (survive a crash)"},
    {"bgworkprofile_follow", FLAG_BOOL, FIELD(follow), 0, 1, 1,
     "0 or 1 (the log file may be a link)"},
    {"bgworkprofile_sync", FLAG_U64, FIELD(sync_ns), 0, 3600 * 1000, 1000000,
     "milliseconds, 0 = never"},
    {"bgworkprofile_node", FLAG_I64, FIELD(node), 0, UINT32_MAX, 1, "a node id"},
};
const struct flag_table session_flags = {table, sizeof table / sizeof table[0]};

void rbwp_session_defaults(struct rbwp_session_config *config)
{
    *config = (struct rbwp_session_config){
        .size = sizeof *config,
        .level = 0,
        .logfile = "bgwork_%.bin",
        .cap_bytes = 1024ull * MEGABYTE,
        .compression = 1,
        .block_bytes = 65536,
        .at_cap = RBWP_AT_CAP_WAIT,
        .stall_ns = 1000000000,
        .live = true,
        .node = -1,
    };
}

enum rbwp_status rbwp_session_parse(struct rbwp_session_config *config, int *argc, char **argv,
                                    struct rbwp_error *error)
{
    return flags_apply(&session_flags, config, sizeof *config, argc, argv, error);
}
