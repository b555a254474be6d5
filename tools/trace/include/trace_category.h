/* SPDX-License-Identifier: Apache-2.0 */
/* trace_category.h - what spans are. */
#ifndef TRACE_CATEGORY_H
#define TRACE_CATEGORY_H

enum trace_category {
    TRACE_CALL, /* a work item's do_work; item is its slot */
    TRACE_AM,   /* sub-items by type; item is their id */
    TRACE_XFER,
    TRACE_DEPPART,
    TRACE_REAP,
    TRACE_WAITING,  /* a sub-item of a kind that waits: its thread is not busy with it */
    TRACE_SUB_ITEM, /* of a type that is not known */
    TRACE_GPU_WORK, /* item is the slot that launched it */
    TRACE_TASK,     /* another profiler's */
    TRACE_CALLED,   /* a runtime or mapper call inside a task */
    TRACE_WAIT,     /* a task is not running: waiting, or ready again */
    TRACE_COPY,
    TRACE_OTHER,
    TRACE_RANGE, /* a name that a program gave to a stretch of time: no work, never busy time */
    TRACE_ANNOTATION, /* when work of such a range ran on a GPU's stream: none of its own either */
    TRACE_QUEUED,     /* a call's work waited for it; item is its slot: nobody was busy with that */
    TRACE_CATEGORIES
};
/* "bgwork", "am", "xfer", "deppart", "reap", "waiting", "sub_item", "gpu", "task", "call", "wait",
 * "copy", "other", "range", "annotation", "queued". */
extern const char *const trace_category_name[TRACE_CATEGORIES];

#endif /* TRACE_CATEGORY_H */
