/* SPDX-License-Identifier: Apache-2.0 */
/* trace_stack.h - a call or wait that was looked at because it was long, and its thread's stack. */
#ifndef TRACE_STACK_H
#define TRACE_STACK_H

#include "trace_text.h"

/* Texts: empty is not known. */
struct trace_frame {
    uint64_t address;
    struct trace_text function;
    uint64_t offset;        /* in the function, or else in the file */
    struct trace_text file; /* that was mapped there */
    struct trace_text source;
    uint32_t line; /* 0: not known */
    bool guessed;  /* see unwind.h */
    bool python;   /* a Python function: the address is that of the C frame that interprets it */
};

struct trace_stack {
    uint32_t track; /* of the thread */
    int64_t time_ns, since_ns;
    int64_t alive_ns;       /* the last sign of life of its process: of one that runs, now */
    bool before;            /* the look was before the window asked for */
    struct trace_text kind; /* of a wait; or "call" */
    uint64_t object, holder, system_call; /* as in the table open_call */
    struct trace_text object_name;        /* of one in a file's data; empty: not known */
    struct trace_text system_call_name;   /* empty: not known */
    const struct trace_frame *frames;     /* the innermost first */
    uint32_t frame_count;
    bool whole; /* up to where the thread began */
};

static inline bool trace_stack_is_call(const struct trace_stack *stack)
{
    return trace_text_is(stack->kind, "call");
}

/* The last part of a path. */
static inline struct trace_text trace_path_end(struct trace_text path)
{
    const char *slash = path.bytes ? memrchr(path.text, '/', path.bytes) : NULL;
    if (!slash)
        return path;
    const uint32_t before = (uint32_t)(slash + 1 - path.text);
    return (struct trace_text){slash + 1, path.bytes - before};
}

/* What is wanted of stacks: frames take time, and open other files. */
enum trace_stacks {
    TRACE_NO_STACKS,
    TRACE_STACK_ARGUMENTS, /* as text, where a thread was looked at */
    TRACE_LAST_STACKS,     /* frames of each thread's last call and wait that have any */
    TRACE_ALL_STACKS
};

enum { TRACE_FRAME_BYTES = 512 };
/* As one name: "lock", "libm.so.6+0x1f00", "0x7f00", with a "?" behind what is guessed; "load
 * (a.py:12)" of Python's. Longer ones are cut. */
struct trace_text trace_frame_name(const struct trace_frame *frame, char name[TRACE_FRAME_BYTES]);

#endif /* TRACE_STACK_H */
