/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_rows.h - rows of the tables open_call, stack_word, code_file and python_frame (SPEC.md,
 * appendix A): the long calls and waits of a file, and their stacks. Kept in memory; a stack is
 * unwound when it is asked for.
 */
#ifndef STACK_ROWS_H
#define STACK_ROWS_H

#include "early_rows.h"
#include "index_map.h"
#include "trace.h"
#include "unwind.h"

#define STACK_ROWS_MAX (1u << 20) /* rows of a table; others are dropped */

struct open_call {
    int64_t time_ns, since_ns;
    uint64_t thread, kind, object, holder, system_call; /* kind: a name of the file */
    uint64_t system_call_name;                          /* the same; 0: not known */
    bool last;                                          /* see stack_rows_mark_last */
};

struct stack_list {
    void *rows;
    uint32_t count, room, before; /* before: of earlier files */
};

struct stack_rows {
    struct trace *trace;
    const struct early_rows *early;
    struct stack_list calls, words, files, python;
    int64_t from_ns, until_ns; /* of the file that is read */
    bool dropped;              /* there are more than STACK_ROWS_MAX */
    bool failed;               /* out of memory; some are missing */
    struct index_map by_os_id; /* threads of the trailer */
    struct unwind *unwind;     /* made with the first stack */
    struct stack_object {
        uint64_t address;
        struct trace_text name;
    } objects[64]; /* the last of each hash */
    struct stack_word *of_stack;
    uint32_t of_stack_room;
    struct trace_frame frames[2 * FRAMES_MAX]; /* C's and Python's */
    char text[FRAMES_MAX * 64];
};

/* As in call_cpu.h. */
void stack_rows_begin_file(struct stack_rows *rows, int64_t from_ns, int64_t until_ns);
bool stack_rows_add(struct stack_rows *rows, enum early_table table, const uint64_t *const *cells,
                    uint32_t count);
void stack_rows_forget(struct stack_rows *rows);
void stack_rows_end_file(struct stack_rows *rows, const char *name);
void stack_rows_free(struct stack_rows *rows);

/* The thread of that number of the operating system, the last one that had it; 0: none is known.
 * trailer: the same each time; may be NULL. */
uint64_t stack_rows_thread(struct stack_rows *rows, const struct rbwp_trailer *trailer,
                           uint64_t os_id);

/* Marks the last look of each thread and kind that has a stack. */
void stack_rows_mark_last(struct stack_rows *rows);
/* Fills frames of the stack at that time, on the file's axis: none is known, or so many. Valid
 * until the next one. */
void stack_rows_unwind(struct stack_rows *rows, uint64_t thread, int64_t time_ns,
                       struct trace_stack *stack);
/* What is at an address, if that is in a file's data; empty: not known. As long as the trace. */
struct trace_text stack_rows_object(struct stack_rows *rows, uint64_t address);
/* The same as names, the outermost first, with ; between; the innermost ones if those are too
 * long. Empty: none is known. */
struct trace_text stack_rows_folded(struct stack_rows *rows, uint64_t thread, int64_t time_ns);

#endif /* STACK_ROWS_H */
