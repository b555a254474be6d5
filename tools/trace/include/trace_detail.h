/* SPDX-License-Identifier: Apache-2.0 */
/* trace_detail.h - what only some spans have (trace.h). */
#ifndef TRACE_DETAIL_H
#define TRACE_DETAIL_H

#include "trace_text.h"

enum trace_arg_type {
    TRACE_ARG_U64,
    TRACE_ARG_I64,
    TRACE_ARG_F64,
    TRACE_ARG_BOOL,     /* in u64 */
    TRACE_ARG_TIME,     /* in i64, on the trace's axis */
    TRACE_ARG_DURATION, /* in u64, ns */
    TRACE_ARG_NAME,     /* in u64, the number of a name */
    TRACE_ARG_TEXT,
    TRACE_ARG_JSON, /* a text that is an object or array of JSON */
};

/* Of texts: where the bytes are, behind the beginning of the detail. */
struct trace_arg {
    uint32_t key; /* number of a name */
    uint32_t type;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        struct {
            uint32_t offset, bytes;
        } text;
    } value;
};

enum trace_detail_flag {
    TRACE_HAS_BOUNDS = 1, /* start_uncertain_ns, stop_uncertain_ns and certain_ns are known */
    TRACE_HAS_LAUNCH = 2, /* launch_ns is known */
    TRACE_INFERRED = 4,   /* the launch was inferred, the source does not say it */
    TRACE_HAS_CPU = 8     /* running_ns and runnable_ns are known, as far as they are not -1 */
};

/* A position-independent record of words uint64_t: this, its arguments (trace_args_of), their
 * texts. Made by span_detail.h. */
struct trace_detail {
    uint32_t words;
    uint32_t arg_count;
    uint32_t flags;       /* enum trace_detail_flag */
    uint32_t category;    /* the source's own word for it, a label (see trace_add_label) */
    uint64_t correlation; /* the source's id of what belongs together; 0 none */
    /* The ends may be earlier or later by so much, and it ran for certain_ns at least. */
    uint64_t start_uncertain_ns, stop_uncertain_ns, certain_ns;
    int64_t launch_ns;     /* when the call that launched it began to */
    uint64_t launch_span;  /* id of the span around that, 0 none or not known */
    uint64_t thread_id;    /* that launched it, as the source has it; 0 none or not known */
    uint32_t launch_track; /* its track, TRACE_NONE none */
    uint32_t minor_faults; /* page faults, with TRACE_HAS_CPU; 0 also of what is not known */
    uint32_t major_faults; /* that waited for a disk */
    uint32_t unused;
    int64_t running_ns, runnable_ns; /* see trace_cpu_of */
};
static inline const struct trace_arg *trace_args_of(const struct trace_detail *detail)
{
    return (const void *)(detail + 1);
}

static inline struct trace_text trace_arg_text(const struct trace_detail *detail,
                                               const struct trace_arg *arg)
{
    return (struct trace_text){(const char *)detail + arg->value.text.offset,
                               arg->value.text.bytes};
}

/* The details of a batch of spans. Zero is none. */
struct trace_details {
    uint64_t *words;
    uint32_t count, room; /* word 0 belongs to nobody */
};

#endif /* TRACE_DETAIL_H */
