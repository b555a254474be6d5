/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_config.h - what a session's configuration comes to: no field is at a default any more.
 */
#ifndef SESSION_CONFIG_H
#define SESSION_CONFIG_H

#include "rbwp_session.h"

struct session_settings {
    int level;
    const char *logfile;
    uint64_t cap_bytes; /* 0 = unlimited */
    int compression;    /* 0 = stored, 1 to 9 */
    uint32_t block_bytes;
    enum rbwp_at_cap at_cap;
    bool cpu, strict, live, live_in_memory, follow;
    int64_t stall_ns, sync_ns;
    int64_t stacks_ns; /* 0: no stacks */
    bool has_node;     /* else it is the launcher's */
    uint32_t node;
    uint32_t nodes;        /* 0: the launcher's */
    uint64_t keep_bytes;   /* 0: all is kept */
    int64_t keep_ns;       /* 0: of any age */
    uint64_t rotate_bytes; /* 0: one file */
    int64_t rotate_ns;
    const char *rules; /* NULL: none */
    int64_t rule_every_ns;
};

/* Reads and checks a configuration. RBWP_E_USAGE for a wrong value; as sized_take. */
enum rbwp_status session_config_read(const struct rbwp_session_config *given,
                                     struct session_settings *settings_out,
                                     struct rbwp_error *error);

/* ---- a configuration with texts of its own --------------------------------------------------- */

/* False without memory: the copy is empty then. from: whole, as sized_take gives it. */
bool config_copy(struct rbwp_session_config *copy, const struct rbwp_session_config *from);
void config_copy_free(struct rbwp_session_config *copy);

#endif /* SESSION_CONFIG_H */
