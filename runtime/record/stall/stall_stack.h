/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_stack.h - a thread's registers and stack, and rows of the table stack_word.
 *
 * Of one thread at a time, on the writer thread. Who runs fills a copy itself (stall_signal.h).
 */
#ifndef STALL_STACK_H
#define STALL_STACK_H

#include "stall_code.h"
#include "stall_open.h"
#include "stall_proc.h"
#include "stall_python.h"

#define STACK_WORDS_MAX 4096u /* 32 KiB */

/* Of one thread. */
struct stack_copy {
    struct opened opened;
    uint64_t os_id;
    uint64_t ticks;              /* of the look */
    uint64_t code, stack, frame; /* registers; frame 0: not known */
    struct code_stack where;
    bool is_asked; /* the thread ran, and goes on */
    uint32_t count, python_count;
    uint64_t words[STACK_WORDS_MAX];               /* from stack on */
    struct python_frame python[PYTHON_FRAMES_MAX]; /* the innermost first */
};

/* Before a session. */
void stack_prepare(unsigned table);

/* The words from copy->stack on. */
void stack_read(struct stack_copy *copy);
/* Registers and words of a thread that is blocked as it was before. False: it is not, or not known,
 * or has gone on meanwhile. */
bool stack_read_blocked(struct stack_copy *copy, const struct thread_state *before);
/* The row of each word that is kept, behind those of the code that it needs, and of each Python
 * frame; between stray_rows_begin and _end. */
void stack_write(const struct stack_copy *copy);
/* True for a word that is no data of the program's: it points into its stack from `stack` on, or to
 * code. */
bool stack_keeps(const struct stack_copy *copy, uint64_t word);

#endif /* STALL_STACK_H */
