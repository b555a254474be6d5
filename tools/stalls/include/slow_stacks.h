/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_stacks.h - the stacks of slow calls and waits, added up by what was called and by frames.
 *
 * Each look stands for the time since the look before it, the first one for that since the call's
 * begin: looks come each time that the age has doubled.
 */
#ifndef SLOW_STACKS_H
#define SLOW_STACKS_H

#include "index_map.h"
#include "result_table.h"
#include "trace.h"

struct trace_span;

struct slow_stack {
    struct trace_text name;   /* of the call, or what was waited for; the trace's */
    struct trace_text frames; /* the outermost first, with ; between; own memory */
    uint64_t samples, total_ns, oldest_ns;
};

struct slow_look {
    int64_t since_ns, time_ns;
    int64_t new_ns;         /* since the look before, after measure and finish */
    uint32_t track, stack;  /* place in texts */
    struct trace_text name; /* what was waited for, at finish of what was called, too */
    uint32_t called;        /* number of the call's name; TRACE_NONE: none is known */
    bool is_call, blocked;  /* blocked: in a system call */
};

/* Texts by number, each once, in memory of its own. */
struct slow_texts {
    struct trace_text *list;
    uint32_t count, room;
    struct index_map places;
};
/* UINT32_MAX without memory. */
uint32_t slow_texts_number(struct slow_texts *texts, struct trace_text text);
void slow_texts_free(struct slow_texts *texts);

struct slow_stacks {
    struct slow_stack *list; /* after finish: the most time first */
    uint32_t count;
    /* While it is filled. */
    struct slow_look *looks;
    uint32_t look_count, look_room, sorted;
    struct slow_texts texts; /* of all frames of a stack */
    bool failed;             /* out of memory */
};

extern const struct result_table slow_stacks_table;

/* As functions of a sink whose maker wants stacks. */
void slow_stacks_on_stack(struct slow_stacks *slow, const struct trace_stack *stack);
void slow_stacks_on_spans_(struct slow_stacks *slow, const struct trace_span *spans, size_t count);
static inline void slow_stacks_on_spans(struct slow_stacks *slow, const struct trace_span *spans,
                                        size_t count)
{
    if (slow->look_count)
        slow_stacks_on_spans_(slow, spans, count);
}
/* What time each look stands for; they are in the order of tracks and begins then. */
void slow_stacks_measure(struct slow_stacks *slow);
void slow_stacks_finish(struct slow_stacks *slow, const struct trace *trace);
/* The next frame of a stack, which is taken off; false: there is none. */
bool slow_stacks_next(struct trace_text *left, struct trace_text *frame_out);
void slow_stacks_free(struct slow_stacks *slow);

#endif /* SLOW_STACKS_H */
