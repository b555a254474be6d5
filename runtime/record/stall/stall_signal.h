/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_signal.h - the stack of a thread that runs, by a signal whose handler copies.
 *
 * The signal is SIGURG, as it does nothing where nobody has a handler for it: it kills neither a
 * thread that executes another program, nor one whose program takes the handler away, in the moment
 * before it comes. A real-time signal would.
 *
 * All but the handler on the writer thread.
 */
#ifndef STALL_SIGNAL_H
#define STALL_SIGNAL_H

#include "stall_stack.h"

/* Before a session: takes the signal if nobody has it. */
void signal_prepare(void);
/* False: the program has it, and nobody is asked. */
bool signal_is_ours(void);

/* The stack of this thread, which is in that, is wanted, as soon as a signal would interrupt no
 * wait of its. False: too many are. */
bool signal_want(const struct opened *opened, uint64_t ticks, uint64_t os_id,
                 const struct code_stack *where);
/* There is something that signal_each_answer has to see to. */
bool signal_awaits(void);
/* Asks who can be asked, calls it with each answer once, and gives up who does not answer. */
void signal_each_answer(void (*each)(const struct stack_copy *copy));

#endif /* STALL_SIGNAL_H */
