/* SPDX-License-Identifier: Apache-2.0 */
#include "session_config.h"

#include "failure.h"
#include "node.h"
#include "ring.h"
#include "settings_file.h"

#include <stdlib.h>
#include <string.h>

#define PART_BYTES (UINT64_C(512) << 20) /* of a file, where a time alone says when one ends */
#define CAP_BYTES (UINT64_C(1) << 30)
#define COMPRESSION 1
#define BLOCK_BYTES 65536u
#define BLOCK_BYTES_MIN 1024u
#define KEEP_BYTES (UINT64_C(1) << 30) /* where an age alone was given */
#define RULE_EVERY_NS INT64_C(60000000000)
#define STALL_NS UINT64_C(1000000000)

static enum rbwp_status check(const struct rbwp_session_config *config, struct rbwp_error *error)
{
    if (config->level < 0 || config->level > 2)
        return failure(error, RBWP_E_USAGE, 0, "profiling level %d is not 0, 1 or 2",
                       config->level);
    if (config->block_bytes &&
        (config->block_bytes < BLOCK_BYTES_MIN || config->block_bytes > RBWP_BLOCK_BYTES_MAX))
        return failure(error, RBWP_E_USAGE, 0, "block size %u is not %u to %u bytes",
                       config->block_bytes, BLOCK_BYTES_MIN, RBWP_BLOCK_BYTES_MAX);
    if (config->compression < 0 || config->compression > 9)
        return failure(error, RBWP_E_USAGE, 0, "compression level %d is not 0 to 9",
                       config->compression);
    if (config->at_cap != RBWP_AT_CAP_WAIT && config->at_cap != RBWP_AT_CAP_DROP)
        return failure(error, RBWP_E_USAGE, 0, "what to do at the cap is %d, not 0 or 1",
                       (int)config->at_cap);
    if (config->node > UINT32_MAX || (config->own_node && config->node < 0))
        return failure(error, RBWP_E_USAGE, 0, "node id %lld is not 0 to %u",
                       (long long)config->node, UINT32_MAX);
    if (config->keep_bytes && config->keep_bytes < RING_BYTES_MIN)
        return failure(error, RBWP_E_USAGE, 0, "to keep %llu bytes is too little: at least %llu",
                       (unsigned long long)config->keep_bytes, (unsigned long long)RING_BYTES_MIN);
    if ((config->keep_bytes || config->keep_ns) && config->strict)
        return failure(error, RBWP_E_USAGE, 0,
                       "a file of plain version 1 (strict) cannot say what was not kept");
    bool rotates = config->rotate_bytes || config->rotate_ns;
    if (config->rotate_bytes && config->rotate_bytes < RING_BYTES_MIN)
        return failure(
            error, RBWP_E_USAGE, 0, "files of %llu bytes (rotate) are too small: at least %llu",
            (unsigned long long)config->rotate_bytes, (unsigned long long)RING_BYTES_MIN);
    if (rotates && (config->strict || config->keep_bytes || config->keep_ns))
        return failure(error, RBWP_E_USAGE, 0,
                       "a recording that is cut into files (rotate) keeps all of them, and says "
                       "which part each is: neither keep nor strict goes with it");
    if (config->rules && !rotates && !config->keep_bytes && !config->keep_ns)
        return failure(error, RBWP_E_USAGE, 0,
                       "a rule (\"%.60s\") dumps what is kept: -bgworkprofile_keep says how much",
                       config->rules);
    if (config->rules && rule_text_check(config->rules, error) != RBWP_OK)
        return RBWP_E_USAGE;
    if ((unsigned)config->control > RBWP_CONTROL_ALWAYS)
        return failure(error, RBWP_E_USAGE, 0, "who controls the recording is %d, not 0 to 2",
                       (int)config->control);
    if (config->logfile && !config->logfile[0])
        return failure(error, RBWP_E_USAGE, 0, "the log file has no name");
    return RBWP_OK;
}

static int64_t time_of(uint64_t ns)
{
    return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

enum rbwp_status session_config_read(const struct rbwp_session_config *given,
                                     struct session_settings *settings_out,
                                     struct rbwp_error *error)
{
    struct rbwp_session_config config;
    enum rbwp_status status =
        sized_take(&config, sizeof config, given, "rbwp_session_config", error);
    if (status == RBWP_OK)
        status = check(&config, error);
    if (status != RBWP_OK)
        return status;
    const uint64_t cap_bytes = config.cap_bytes ? config.cap_bytes : CAP_BYTES;
    *settings_out = (struct session_settings){
        .level = config.level,
        .logfile = config.logfile ? config.logfile : NODE_FILE_PATTERN,
        .cap_bytes = cap_bytes == RBWP_CAP_NONE ? 0 : cap_bytes,
        .compression = config.stored        ? 0
                       : config.compression ? config.compression
                                            : COMPRESSION,
        .block_bytes = config.block_bytes ? config.block_bytes : BLOCK_BYTES,
        .at_cap = config.at_cap,
        .cpu = !config.no_cpu,
        .strict = config.strict,
        .live = !config.no_live,
        .live_in_memory = config.live_in_memory,
        .follow = config.follow,
        .stall_ns = time_of(config.stall_ns ? config.stall_ns : STALL_NS),
        .sync_ns = time_of(config.sync_ns),
        .stacks_ns = time_of(config.stacks_ns),
        .has_node = config.own_node || config.node > 0,
        .node = config.node > 0 ? (uint32_t)config.node : 0,
        .nodes = config.nodes,
        .keep_bytes = config.keep_bytes || !config.keep_ns ? config.keep_bytes : KEEP_BYTES,
        .keep_ns = time_of(config.keep_ns),
        .rotate_bytes = config.rotate_bytes || !config.rotate_ns ? config.rotate_bytes : PART_BYTES,
        .rotate_ns = time_of(config.rotate_ns),
        .rules = config.rules,
        .rule_every_ns = config.rule_every_ns ? time_of(config.rule_every_ns) : RULE_EVERY_NS,
    };
    return RBWP_OK;
}

/* ---- a configuration with texts of its own --------------------------------------------------- */

static const char **session_config_text_of(struct rbwp_session_config *config, unsigned i)
{
    const char **texts[] = {&config->logfile, &config->rules, &config->signals, &config->settings};
    return i < sizeof texts / sizeof texts[0] ? texts[i] : NULL;
}

bool config_copy(struct rbwp_session_config *copy, const struct rbwp_session_config *from)
{
    bool whole = true;
    *copy = *from;
    for (unsigned i = 0; session_config_text_of(copy, i); i++) {
        const char **text = session_config_text_of(copy, i);
        whole &= !*text || (*text = strdup(*text));
    }
    if (!whole)
        config_copy_free(copy);
    return whole;
}

void config_copy_free(struct rbwp_session_config *copy)
{
    for (unsigned i = 0; session_config_text_of(copy, i); i++)
        free((void *)(uintptr_t)*session_config_text_of(copy, i));
    *copy = (struct rbwp_session_config){0};
}
