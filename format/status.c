/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - names of the numbers in rbwp_format.h, and the version of the library. */
#include "rbwp_format.h"

const char *rbwp_version(void)
{
    return RBWP_VERSION_STRING;
}

const char *rbwp_status_text(enum rbwp_status status)
{
    switch (status) {
    case RBWP_OK:
        return "done";
    case RBWP_END:
        return "end reached";
    case RBWP_AGAIN:
        return "not now, try again";
    case RBWP_E_INVALID:
        return "invalid argument";
    case RBWP_E_MEMORY:
        return "out of memory";
    case RBWP_E_IO:
        return "input/output error";
    case RBWP_E_NOT_RBWP:
        return "not an RBWP file";
    case RBWP_E_VERSION:
        return "unknown version or part";
    case RBWP_E_CORRUPT:
        return "corrupt data";
    case RBWP_E_TRUNCATED:
        return "data cut short";
    case RBWP_E_LIMIT:
        return "limit exceeded";
    case RBWP_E_BUSY:
        return "in use";
    case RBWP_E_STATE:
        return "not possible now";
    case RBWP_E_USAGE:
        return "wrong usage";
    case RBWP_E_UNSUPPORTED:
        return "not supported here";
    }
    return "unknown status";
}

const char *rbwp_kind_name(unsigned kind)
{
    switch (kind) {
    case RBWP_COARSE_BEGIN:
        return "COARSE_BEGIN";
    case RBWP_COARSE_END:
        return "COARSE_END";
    case RBWP_FINE_BEGIN:
        return "FINE_BEGIN";
    case RBWP_FINE_END:
        return "FINE_END";
    case RBWP_GPU_WORK:
        return "GPU_WORK";
    }
    return "UNKNOWN";
}

const char *rbwp_sub_item_type_name(unsigned type)
{
    static const char *const names[] = {
        [RBWP_AM_HANDLER] = "AM_HANDLER",
        [RBWP_XFER_CHANNEL] = "XFER_CHANNEL",
        [RBWP_DEPPART_OP] = "DEPPART_OP",
        [RBWP_GPU_REAP] = "GPU_REAP",
    };
    return type < sizeof(names) / sizeof(names[0]) ? names[type] : "UNKNOWN";
}

const char *rbwp_left_kind_name(unsigned kind)
{
    static const char *const names[] = {
        [0] = "unknown",
        [RBWP_LEFT_THREADS] = "threads",
        [RBWP_LEFT_SLOT_USES] = "slot uses",
        [RBWP_LEFT_LOSSES] = "losses",
        [RBWP_LEFT_LIVE_LOG] = "live log entries",
    };
    return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

const char *rbwp_kept_why_name(unsigned why)
{
    static const char *const names[] = {
        [RBWP_KEPT_STOP] = "stop",       [RBWP_KEPT_CALL] = "call",
        [RBWP_KEPT_SIGNAL] = "signal",   [RBWP_KEPT_RULE] = "rule",
        [RBWP_KEPT_CONTROL] = "control", [RBWP_KEPT_ROTATED] = "rotated",
        [RBWP_KEPT_SPLIT] = "split",
    };
    return why < sizeof(names) / sizeof(names[0]) ? names[why] : "unknown";
}

const char *rbwp_job_what_name(unsigned what)
{
    static const char *const names[] = {
        [0] = "unknown",
        [RBWP_JOB_ID] = "job",
        [RBWP_JOB_STEP] = "step",
        [RBWP_JOB_NODE_NAME] = "node name",
        [RBWP_JOB_RANK] = "rank",
        [RBWP_JOB_RANKS] = "ranks",
        [RBWP_JOB_LAUNCHER] = "launcher",
        [RBWP_JOB_HARDWARE] = "hardware",
        [RBWP_JOB_STARTED] = "started",
        [RBWP_JOB_PARENT] = "parent",
    };
    return what < sizeof(names) / sizeof(names[0]) ? names[what] : names[0];
}

const char *rbwp_loss_cause_name(unsigned cause)
{
    static const char *const names[] = {
        [0] = "unknown",
        [RBWP_LOSS_DROPPED] = "dropped",
        [RBWP_LOSS_STALLED] = "stalled",
        [RBWP_LOSS_IO] = "io",
        [RBWP_LOSS_MEMORY] = "memory",
        [RBWP_LOSS_NOT_ATTACHED] = "not attached",
        [RBWP_LOSS_NESTED_BEGIN] = "nested begin",
        [RBWP_LOSS_STRAY_END] = "stray end",
        [RBWP_LOSS_UNCLOSED_FINE] = "unclosed fine",
        [RBWP_LOSS_SIGNAL] = "signal",
        [RBWP_LOSS_RANGE] = "range",
        [RBWP_LOSS_KEPT_EMPTY] = "kept empty",
        [RBWP_LOSS_GPU_PENDING] = "GPU work pending",
        [RBWP_LOSS_GPU_FAILED] = "GPU work failed",
        [RBWP_LOSS_UNPROTECTED] = "unprotected",
        [RBWP_LOSS_OVERWRITTEN] = "overwritten",
        [RBWP_LOSS_ROWS] = "rows dropped",
        [RBWP_LOSS_ROWS_IO] = "rows io",
        [RBWP_LOSS_GPU_CAPTURE] = "graph capture",
        [RBWP_LOSS_GPU_STOPPING] = "GPU work while stopping",
        [RBWP_LOSS_CAUSE_MAX + 1] = NULL,
    };
    return cause <= RBWP_LOSS_CAUSE_MAX && names[cause] ? names[cause] : names[0];
}
