/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer_parts.h - what files for viewers have in common: numbers, facts, texts and times as they
 * want them.
 *
 * Numbers of processes and threads are positive, fit 31 bits and stand for one process or row each.
 * The system's own number is kept where it is known and no other node has taken it; everything else
 * gets one that is above all that Linux gives out.
 */
#ifndef VIEWER_PARTS_H
#define VIEWER_PARTS_H

#include "thread_map.h"
#include "trace.h"

#define VIEWER_OS_ID_MAX (1u << 22) /* of Linux, PID_MAX_LIMIT */

struct viewer_ids {
    struct thread_map pids, tids; /* of the system, that are taken */
    uint32_t made;                /* numbers of our own so far */
};

/* os_id: the system's number, 0 unknown. Zero is an empty struct viewer_ids. */
uint32_t viewer_pid(struct viewer_ids *ids, uint64_t os_id);
/* The same where a block of a kernel is shown as a process: also 0. */
uint32_t viewer_block_pid(struct viewer_ids *ids, uint64_t block);
uint32_t viewer_tid(struct viewer_ids *ids, uint64_t os_id);
void viewer_ids_free(struct viewer_ids *ids);

/* Facts about a trace come in the midst of it and are written behind it. */

struct kept_fact {
    struct kept_fact *next;
    struct trace_text key, value;
    char bytes[];
};

/* Zero is none. */
struct kept_facts {
    struct kept_fact *first, **last;
};

/* False without memory. */
bool kept_facts_add(struct kept_facts *facts, const char *key, struct trace_text value);
void kept_facts_free(struct kept_facts *facts);

/* Texts and times for viewers, which want UTF-8 and count from a trace's origin.
 *
 * A byte that is no part of valid UTF-8 becomes U+FFFD. */

/* Room for the text of any name. */
struct viewer_text {
    char *text;
    size_t room;
    bool failed; /* out of memory: a text was dropped */
};

/* Puts text into made, which grows; zero is an empty one. What does not fit into memory is left
 * out, and failed says so. */
struct trace_text viewer_text(struct viewer_text *made, struct trace_text text);
void viewer_text_free(struct viewer_text *made);

/* "node 0, worker 3", and " / 2" for a lane behind the first; without an empty process. What is too
 * long is cut. */
#define VIEWER_TITLE_BYTES 2100
void viewer_title(char title[VIEWER_TITLE_BYTES], struct trace_text process,
                  struct trace_text track, uint32_t lane);

/* Since the origin of the trace; what is further away than 64 bits hold is as far away as they do.
 */
static inline int64_t viewer_since(int64_t origin_ns, int64_t time_ns)
{
    int64_t since_ns;
    if (__builtin_sub_overflow(time_ns, origin_ns, &since_ns))
        return time_ns < 0 ? INT64_MIN : INT64_MAX;
    return since_ns;
}
static inline int64_t viewer_time(const struct trace *trace, int64_t time_ns)
{
    return viewer_since(trace_origin_ns(trace), time_ns);
}

#endif /* VIEWER_PARTS_H */
