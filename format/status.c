/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - names of the numbers in rbwp_format.h, and the version of the library. */
#include "loss_text.h"
#include "reader_error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- reader error ---------------------------------------------------------------------------- */
/* See rules.h. Texts are one line: what, where, and the broken rule. */

static void reader_error_append(struct rbwp_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void reader_error_append(struct rbwp_error *error, const char *format, ...)
{
    size_t used = strlen(error->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + used, sizeof(error->text) - used, format, arguments);
    va_end(arguments);
}

enum rbwp_status error_set(struct rbwp_error *error, enum rbwp_status status, struct place place,
                           const char *format, ...)
{
    if (!error)
        return status;
    *error = (struct rbwp_error){.status = status,
                                 .offset = place.offset,
                                 .section = place.section,
                                 .rule = (unsigned)place.rule};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    if (place.offset != NOWHERE)
        reader_error_append(error, ", at file offset %" PRIu64, place.offset);
    if (place.rule)
        reader_error_append(error, " (SPEC.md R%u)", (unsigned)place.rule);
    return status;
}

enum rbwp_status error_set_os(struct rbwp_error *error, const char *section, const char *operation)
{
    int os_errno = errno; /* %m: strerror_r has two forms, and which one depends on the libc */
    error_set(error, RBWP_E_IO, (struct place){section, NOWHERE, 0}, "cannot %s: %m", operation);
    if (error)
        error->os_errno = os_errno;
    return RBWP_E_IO;
}

enum rbwp_status error_set_memory(struct rbwp_error *error, const char *section)
{
    return error_set(error, RBWP_E_MEMORY, (struct place){section, NOWHERE, 0}, "out of memory");
}

/* ---- status ---------------------------------------------------------------------------------- */

const char *rbwp_version(void)
{
    return RBWP_VERSION_STRING;
}

const char *rbwp_status_text(enum rbwp_status status)
{
    enum { LEAST = RBWP_E_UNSUPPORTED, MOST = RBWP_AGAIN };
    static const char *const texts[] = {
        [RBWP_OK - LEAST] = "done",
        [RBWP_END - LEAST] = "end reached",
        [RBWP_AGAIN - LEAST] = "not now, try again",
        [RBWP_E_INVALID - LEAST] = "invalid argument",
        [RBWP_E_MEMORY - LEAST] = "out of memory",
        [RBWP_E_IO - LEAST] = "input/output error",
        [RBWP_E_NOT_RBWP - LEAST] = "not an RBWP file",
        [RBWP_E_VERSION - LEAST] = "unknown version or part",
        [RBWP_E_CORRUPT - LEAST] = "corrupt data",
        [RBWP_E_TRUNCATED - LEAST] = "data cut short",
        [RBWP_E_LIMIT - LEAST] = "limit exceeded",
        [RBWP_E_BUSY - LEAST] = "in use",
        [RBWP_E_STATE - LEAST] = "not possible now",
        [RBWP_E_USAGE - LEAST] = "wrong usage",
        [RBWP_E_UNSUPPORTED - LEAST] = "not supported here",
    };
    const int number = (int)status; /* of another version of the library, perhaps */
    return number >= LEAST && number <= MOST ? texts[number - LEAST] : "unknown status";
}

const char *rbwp_kind_name(unsigned kind)
{
    static const char *const names[] = {
        [RBWP_COARSE_BEGIN] = "COARSE_BEGIN", [RBWP_COARSE_END] = "COARSE_END",
        [RBWP_FINE_BEGIN] = "FINE_BEGIN",     [RBWP_FINE_END] = "FINE_END",
        [RBWP_GPU_WORK] = "GPU_WORK",
    };
    return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "UNKNOWN";
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

/* ---- refused calls --------------------------------------------------------------------------- */

uint32_t loss_refused_cause(const char *name, size_t bytes)
{
    for (uint32_t cause = 0; cause <= RBWP_LOSS_CAUSE_MAX; cause++) {
        const char *own = rbwp_loss_cause_name(cause);
        if (loss_is_refused(cause) && strlen(own) == bytes && memcmp(own, name, bytes) == 0)
            return cause;
    }
    return 0;
}

const char *loss_refused_text(char text[LOSS_TEXT_BYTES], uint32_t cause, uint64_t count)
{
    static const char *const reasons[] = {
        [RBWP_LOSS_NOT_ATTACHED] = "not recorded: the thread was not attached; call "
                                   "rbwp_thread_attach in each thread that records",
        [RBWP_LOSS_NESTED_BEGIN] = "not recorded: an item was open already; end it first, or begin "
                                   "a sub-item (rbwp_fine_begin)",
        [RBWP_LOSS_STRAY_END] = "not recorded: an end without its begin; begin and end on the same "
                                "thread, as often",
        [RBWP_LOSS_UNCLOSED_FINE] = "with sub-items left open, which were closed there; call "
                                    "rbwp_fine_end before rbwp_end",
        [RBWP_LOSS_SIGNAL] = "not recorded: a signal handler made them during another recording "
                             "call",
        [RBWP_LOSS_RANGE] = "not recorded: slot, id or time out of range; use what the register "
                            "functions returned",
        [RBWP_LOSS_KEPT_EMPTY] = "recorded though they did no work: memory was at its cap; raise "
                                 "-bgworkprofile_bufsize",
    };
    snprintf(text, LOSS_TEXT_BYTES, "%" PRIu64 " call%s %s", count, count == 1 ? "" : "s",
             loss_is_refused(cause) ? reasons[cause] : "refused");
    return text;
}
