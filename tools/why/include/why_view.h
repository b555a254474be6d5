/* SPDX-License-Identifier: Apache-2.0 */
/* why_view.h - what was found, as its tables and its text show it. */
#ifndef WHY_VIEW_H
#define WHY_VIEW_H

#include "why.h"
#include "why_split.h"

enum { WHY_DOUBTS = 8, WHY_WORK_PART = 8 };

/* Names in it are as they are: who shows it makes it fit for a terminal, or JSON. */
struct why_said {
    struct trace_text text; /* own memory */
    uint32_t what_bytes;    /* of the cause; behind it who ended it */
    /* The code that calls of the cause were in, and that who ended them was in meanwhile: frames,
     * the innermost first; empty: not known. Of the first the bytes that fit a sentence. */
    struct trace_text stack, by_stack;
    uint32_t stack_front;
};

struct why_view {
    const struct why_options *options;
    const struct trace *trace; /* NULL: nothing is slow, and no thread is named */
    const struct why_names *names;
    const struct why_name *name; /* NULL: nothing is slow */
    bool further;                /* another name came before */
    bool work; /* own CPU time of run intervals that are no exception: counts an eighth */
    const struct why_calls *calls;
    const struct why_split *split;
    const char *file; /* the first, for commands; NULL: several */
    int64_t zero_ns;
    struct result_rows causes;
    struct why_said *texts;   /* of each cause */
    char *doubts[WHY_DOUBTS]; /* own memory */
    uint32_t doubt_count;
};

/* Those that were looked at, and those that were too many. */
static inline uint64_t why_slow_calls(const struct why_view *view)
{
    const uint64_t all = view->name && view->name->own.slow ? view->name->own.bounds.slow : 0;
    return all > WHY_LONGEST ? all : view->split->slow;
}
void why_find_doubts(struct why_view *view);
/* False without memory. */
bool why_find_texts(struct why_view *view);
/* Of who ended the waits, where it is not the process that waited; else empty. */
struct trace_text why_other_process(const struct trace *trace, const struct why_cause *cause);
/* What stands before the cause's thread: that it has all of it, or most; NULL: none has. */
const char *why_on(const struct why_cause *cause);
/* Frames of a path, its innermost first. Places in files without symbols are there where functions
 * are few, of a row in one file the innermost. How many bytes of it fit a sentence. */
uint32_t why_put_stack(struct out *out, struct trace_text hot, size_t most);
void why_text(struct out *out, const struct why_view *view);

#endif /* WHY_VIEW_H */
