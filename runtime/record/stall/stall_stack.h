/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_stack.h - a thread's registers and stack, and rows of the table stack_word.
 *
 * Of one thread at a time, on the writer thread. Who runs fills a copy itself (stall_stack.h).
 */
#ifndef STALL_STACK_H
#define STALL_STACK_H

#include "record_extend.h"
#include "stall_proc.h"
#include "thread_registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- code ------------------------------------------------------------------------------------ */

/*
 * Where this process has code, and rows of the table code_file that say so.
 *
 * One thread at a time, but for code_prepare. Nothing is allocated (stall_proc.h).
 */

/* Before a session: no row was written yet. False without memory. */
bool code_prepare(unsigned table);

/* Where a thread's stack is: the mapping that has the address, or, without one, the main thread's.
 */
struct code_stack {
    uint64_t address, start, end; /* end 0: not known */
};
/* Looks through the mappings as they are now. False: they are not known. */
bool code_load(struct code_stack *stacks, unsigned count);

bool code_is_at(uint64_t address);
/* Sees to it that the mapping with the address, if it has code, has its row, between
 * stray_rows_begin and _end. False: there was no room for it. */
bool code_say(uint64_t address);
/* The same of the next one below, of which the data may have the address. */
bool code_say_below(uint64_t address);
/* The number of a name, between stray_rows_begin and _end or before; 0: of none, or of one that
 * there is no room for. */
uint64_t code_name(const char *text, size_t bytes);

/* The bytes of an ELF file's build id as hexadecimal digits, of which there are at most
 * CODE_BUILD_ID_MAX; how many. base: where its first byte is mapped. 0: it has none. */
#define CODE_BUILD_ID_MAX RBWP_EXTEND_BUILD_ID_MAX
unsigned code_build_id(uint64_t base, char *digits_out);

/* ---- symbols --------------------------------------------------------------------------------- */

/* Where the first byte of a file is mapped that has code and was not among those that this has
 * given before in the session; 0: there is none left. */
uint64_t code_new_file(void);

/* The dynamic symbols of an ELF file. */
struct code_symbols {
    uint64_t shift, hash, table, texts; /* hash: DT_GNU_HASH */
    uint32_t header[4];
};
/* base: as above. False: it has none. */
bool code_symbols(uint64_t base, struct code_symbols *symbols_out);
/* The address of one that is defined there; 0: it has none of that name. */
uint64_t code_symbol(const struct code_symbols *symbols, const char *name);

/* ---- the call or wait ------------------------------------------------------------------------ */

/*
 * Which call or wait a thread is in, as seen by another one.
 *
 * The thread goes on meanwhile and is not asked: what is read may be of two moments, and nothing
 * that ever was. What is the same in two looks was.
 */

struct opened {
    uint64_t thread_id, since_ticks;
    struct rbwp_extend_wait wait; /* of a call its kind alone */
    const void *waiter;
    uint64_t self; /* where the thread's rbwp_self_ is */
    uint64_t item_place, item,
        word; /* of a call: where its thread says that it is open; 0: a wait */
};

/* The numbers of these names; NULL: nobody shows waits. Before the writer looks. */
void opened_prepare(uint64_t call_name, rbwp_extend_wait_fn *wait_of);
/* What the thread is in. Registry locked, in a session. */
bool opened_find(struct thread *thread, struct opened *opened_out);
/* Still, at some moment of this call. Its thread may have gone. */
bool opened_goes_on(const struct opened *opened);

/* ---- when it is due -------------------------------------------------------------------------- */

/* A thread was found in what began at since (0: in nothing). True: this was so in the look before,
 * and it is as old as the limit, or has doubled its age since it was due last. Without room it is
 * due the next time; if it is over by then, that is counted. */
bool open_seen_is_due(struct open_seen *seen, uint64_t since_ticks, uint64_t now_ticks,
                      uint64_t limit_ticks, bool has_room, uint64_t *missed);

/* ---- Python functions ------------------------------------------------------------------------ */

/*
 * The Python functions that a thread is in, and rows of the table python_frame.
 *
 * The interpreter is not asked, nor its lock taken: its structures are read as they lie in memory
 * (stall_python_layout.h), while other threads may change them. What is read counts if it has the
 * type that it should have, and if a second reading finds the same. Nothing is allocated.
 */

struct stack_copy;

#define PYTHON_FRAMES_MAX 128u /* of a thread, the innermost ones */

struct python_frame {
    uint64_t function, file, line, entry; /* as in the table */
};

/* Before a session. */
void python_prepare(unsigned table);
/* The Python frames of the thread whose stack this is, into copy->python: none, if it is in no
 * Python function, or if it is not known in which. Behind code_load. */
void python_read(struct stack_copy *copy);
/* Their rows, between stray_rows_begin and _end. */
void python_write(const struct stack_copy *copy);

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

/* ---- stacks of threads that run -------------------------------------------------------------- */

/*
 * The stack of a thread that runs, by a signal whose handler copies.
 *
 * The signal is SIGURG, as it does nothing where nobody has a handler for it: it kills neither a
 * thread that executes another program, nor one whose program takes the handler away, in the moment
 * before it comes. A real-time signal would.
 *
 * All but the handler on the writer thread.
 */

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

#endif /* STALL_STACK_H */
