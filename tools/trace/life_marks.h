/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life_marks.h - when a process of a family began to record, and how that ended: two marks on a
 * track above its threads.
 */
#ifndef LIFE_MARKS_H
#define LIFE_MARKS_H

#include "trace.h"

struct life {
    uint32_t process;          /* of the trace */
    uint64_t os_id, parent;    /* process ids; parent: 0 where it is not known */
    int64_t start_ns, last_ns; /* on the trace's axis */
    bool has_start, has_last;  /* else that mark is not wanted */
    enum trace_life end;
};

/* Nothing where no mark is wanted. False without memory: they have no arguments then. */
bool life_marks_add(struct trace *trace, const struct life *life);

#endif /* LIFE_MARKS_H */
