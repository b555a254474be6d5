/* SPDX-License-Identifier: Apache-2.0 */
/* trace_category.h - what spans are, each once: number and name. */
#ifndef TRACE_CATEGORY_H
#define TRACE_CATEGORY_H

/* clang-format off */
#define TRACE_CATEGORY_LIST(CATEGORY)                                                              \
    CATEGORY(CALL, "bgwork")           /* a work item's do_work; item is its slot */               \
    CATEGORY(AM, "am")                 /* sub-items by type; item is their id */                   \
    CATEGORY(XFER, "xfer")                                                                         \
    CATEGORY(DEPPART, "deppart")                                                                   \
    CATEGORY(REAP, "reap")                                                                         \
    CATEGORY(WAITING, "waiting")       /* a sub-item of a kind that waits: its thread is not busy  \
                                          with it */                                               \
    CATEGORY(SUB_ITEM, "sub_item")     /* of a type that is not known */                           \
    CATEGORY(GPU_WORK, "gpu")          /* item is the slot that launched it */                     \
    CATEGORY(TASK, "task")             /* another profiler's */                                    \
    CATEGORY(CALLED, "call")           /* a runtime or mapper call inside a task */                \
    CATEGORY(WAIT, "wait")             /* a task is not running: waiting, or ready again */        \
    CATEGORY(COPY, "copy")                                                                         \
    CATEGORY(OTHER, "other")                                                                       \
    CATEGORY(RANGE, "range")           /* a name that a program gave to an interval: no      \
                                          work, never busy time */                                 \
    CATEGORY(ANNOTATION, "annotation") /* when work of such a range ran on a GPU's stream: none of \
                                          its own either */                                        \
    CATEGORY(QUEUED, "queued")         /* a call's work waited for it; item is its slot: nobody    \
                                          was busy with that */
/* clang-format on */

#define TRACE_CATEGORY_NUMBER(category, name) TRACE_##category,
enum trace_category { TRACE_CATEGORY_LIST(TRACE_CATEGORY_NUMBER) TRACE_CATEGORIES };
extern const char *const trace_category_name[TRACE_CATEGORIES];

#endif /* TRACE_CATEGORY_H */
