/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_extend.h - for parts built upon the recorder (the GPU side is one): what they may ask of
 * the session in progress, and what they learn of its end.
 *
 * Not installed: it has not settled. What is RBWP_API is for librbwp-jobs, of the same
 * version. Any thread, any time, unless it says otherwise.
 */
#ifndef RECORD_EXTEND_H
#define RECORD_EXTEND_H

#include <stdbool.h>
#include <stdint.h>

#include "rbwp_format.h"
#include "rbwp_rows.h"

/* Counts records that were lost before they could be recorded, on the calling thread; of no thread,
 * if that is not attached. */
void rbwp_extend_loss(enum rbwp_loss_cause cause, uint64_t count);

/* The calling thread, as block headers name it; 0 if it is not attached. */
RBWP_API uint64_t rbwp_extend_thread(void);

/* When the open item of the calling thread began, which has one; between rbwp_enter_ and
 * rbwp_leave_. */
uint64_t rbwp_extend_item_ticks(void);

/* When what begins at ticks is to begin: with the session, where a forked child has waited for its
 * first record to start that; between rbwp_enter_ and rbwp_leave_. */
uint64_t rbwp_extend_begin_ticks(uint64_t ticks);

/* A signal handler has taken the calling thread out of its recording call by longjmp, or is about
 * to end the process from inside of it: what the call had begun is elided. Nothing is done
 * where there is none. Not for a call that was on a slow side (rbwp_*_slow_), where signals must be
 * held off. */
void rbwp_extend_leave_call(void);

/* Gives an attached thread another name, as rbwp_thread_attach does its own. RBWP_E_STATE: there is
 * none of that number (any more); RBWP_E_MEMORY. */
enum rbwp_status rbwp_extend_name_thread(uint64_t thread_id, const char *name);

/* The build id in a file's notes, as hexadecimal digits without an end, at most
 * RBWP_EXTEND_BUILD_ID_MAX; how many. 0: it is not there. */
#define RBWP_EXTEND_BUILD_ID_MAX 64u
unsigned rbwp_extend_build_id(const char *notes, size_t bytes, char *digits_out);

/* Code that is mapped, as FILE+0xADDRESS (BuildId: ID), in which tools find the function: text;
 * NULL: not known, or too long. It takes no lock and makes no system call. rbwp_extend_code_names
 * once, before the first. */
#define RBWP_EXTEND_CODE_NAME_MAX 512u
void rbwp_extend_code_names(void);
const char *rbwp_extend_code_name(uintptr_t code, char text[RBWP_EXTEND_CODE_NAME_MAX]);

/* Files that a session opens from now on have descriptors from this one on, where the process may
 * have so many: for programs that give low ones a meaning. */
void rbwp_extend_keep_descriptors_above(int least);

/* The program makes its first thread: ours, which were held back (helper_thread.h), begin, and the
 * session that runs can be controlled, as its config says. */
struct rbwp_session_config;
void rbwp_extend_begin_threads(const struct rbwp_session_config *config);

/* While they are held back: another sample of the clock, once a second at the most. Between
 * rbwp_enter_ and rbwp_leave_. */
void rbwp_extend_look_at_clock(void);

/* For who records run intervals: the thread has just waited at each begin, so that the kernel
 * cannot be asked each time (on_cpu.h). From now on it is if it was not asked for a millisecond;
 * what is then not known of an interval, its row says. Before the first session. */
void rbwp_extend_ask_seldom(void);
/* Before a begin at ticks, between rbwp_enter_ and rbwp_leave_, on an attached thread: false if the
 * thread was switched out and the kernel is to be asked; asks it. */
bool rbwp_extend_stays(uint64_t ticks);
void rbwp_extend_ask_cpu(uint64_t ticks);
/* The calling thread has been on its CPU since its last begin or end, whichever was recorded later.
 * False: it has not, or that is not known. */
bool rbwp_extend_ran(void);
/* Before an end at ticks, as rbwp_extend_stays: the thread ran until then, as was seen in time, and
 * may have waited since. */
void rbwp_extend_ran_to(uint64_t ticks);

/* What a thread waits for just now. */
enum rbwp_extend_lock { RBWP_EXTEND_NO_LOCK, RBWP_EXTEND_MUTEX, RBWP_EXTEND_RWLOCK };
struct rbwp_extend_wait {
    uint64_t since_ticks, object, kind; /* as cells of the table wait */
    enum rbwp_extend_lock lock;         /* what the object is */
};
/* For who records waits, before the first session: wait_of is called by the writer thread, with
 * what the thread of that number has shown; false: it waits for nothing. It touches what is there
 * for good, and may be given what is another thread's by now. What takes longer than the limit, or
 * than the session's (stacks_ns), has rows in the table open_call. */
typedef bool rbwp_extend_wait_fn(const void *waiter, uint64_t thread_id,
                                 struct rbwp_extend_wait *wait_out);
void rbwp_extend_show_waits(rbwp_extend_wait_fn *wait_of, uint64_t limit_ns);
/* The calling thread's, which is attached. */
void rbwp_extend_show_wait(const void *waiter);

/* From now on what is open on any thread ends with the session: for who records what threads do
 * until they stop it, as running is. until: when that was over, at most now_ticks, and not before
 * the thread's last record; called with all recording held, so it takes no lock. NULL: now. */
typedef uint64_t rbwp_extend_until_fn(uint64_t thread_id, uint64_t now_ticks);
void rbwp_extend_end_items(rbwp_extend_until_fn *until);

/* Where a session's end has got to. */
enum rbwp_extend_moment {
    RBWP_EXTEND_STOPPING = 1, /* recording still works; a last chance, and it may block */
    RBWP_EXTEND_EXITING = 2,  /* instead of it, when the process exits with a session running:
                                 other libraries may have been taken down already */
    RBWP_EXTEND_STOPPED = 3,  /* recording has ended */
    RBWP_EXTEND_GOES_ON = 4,  /* instead of it: the session could not be ended (RBWP_E_BUSY) */
};

/* Calls hook at each end of a session, on the thread that ends it. At most
 * RBWP_EXTEND_HOOKS_MAX, RBWP_E_LIMIT after that; one that is there already is not added. */
#define RBWP_EXTEND_HOOKS_MAX 8
typedef void (*rbwp_extend_hook_fn)(enum rbwp_extend_moment moment);
RBWP_MUST_USE enum rbwp_status rbwp_extend_at_end(rbwp_extend_hook_fn hook);

/* ---- rows that rules are about --------------------------------------------------------------- */

/*
 * For who writes rows that rules of a flight recorder may be about.
 *
 * Rules cost nothing where there are none: a thread's inlined calls write rows into its place for
 * them (below). As long as a rule asks for them, that place has no room for them any more, so that
 * rows go the slow way, which asks here: after it has made room (row_hold_keep), for a rule may
 * come at any time.
 */

enum rule_watch { RULE_WATCH_QUEUES, RULE_WATCH_COUNTERS, RULE_WATCHES, RULE_WATCH_NONE };

/* A rule is about such rows. */
bool rule_watch_wants(enum rule_watch what);

/* Work of this slot began, so long after it was handed over. In a recording call. */
void rule_watch_queue(unsigned slot, uint64_t delay_ticks);
/* A counter, by the number of its name, had this value. In a recording call. */
void rule_watch_counter(uint64_t name, int64_t value);

/* ---- rows that are held ---------------------------------------------------------------------- */

/*
 * Rows that are written when something begins and completed when it ends.
 *
 * Such a row is in FILE.live like any other when row_hold_commit has returned. Until its chunk is
 * handed over (it is full, memory is scarce, the session ends) its thread may still store into it.
 *
 * The calls belong between rbwp_enter_ and rbwp_leave_ (rbwp_record.h), on an attached thread, but
 * for row_hold_stray.
 */

/* As rbwp_table_register, for a table whose times rows give as ticks (rbwp_now_ticks), 0 for none:
 * they become times of the session's line when the row goes to the file. For who is the only one to
 * write rows of this name, before the first. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_extend_row_register(const struct rbwp_schema *schema,
                                                                 unsigned *table_out);

struct held_row {
    uint64_t *cells;       /* all 0 as long as nothing is stored */
    uint64_t fill;         /* of the chunk, other than that of any chunk before or after; 0: none */
    uint64_t *rows, count; /* where FILE.live says how many rows there are, and with this one */
};

#define HELD_BY_NONE UINT64_MAX

/* What a thread-local place begins as. */
#define ROW_PLACE_NONE                                                                             \
    {                                                                                              \
        .fill = HELD_BY_NONE                                                                       \
    }

/* Puts the calling thread's place for a table that it has written a row of into own, where inlined
 * calls find it. watch: the rules that its rows may meet. leaves is called on the thread before it
 * sends held rows on their way; NULL: nobody asks. */
void row_hold_keep(unsigned table, struct rbwp_place_ *own, enum rule_watch watch,
                   void (*leaves)(void));
/* Takes it back: the thread's next row goes the slow way, too. */
void row_hold_slowly(unsigned table);

/* Room for a row: its cells, which are 0, are stored, then it is committed. As rbwp_row_add. False:
 * it is lost, and held by nobody. */
bool row_hold(unsigned table, struct held_row *row_out);
/* The same from another library: an exported name is called less directly. */
RBWP_API bool rbwp_extend_row_hold(unsigned table, struct held_row *row_out);
static inline void row_hold_commit(const struct held_row *row)
{
    __atomic_store_n(row->rows, row->count, __ATOMIC_RELEASE);
}
/* Stores a cell of a row of this thread. False: the row has gone on its way. */
bool row_hold_store(unsigned table, const struct held_row *row, unsigned column, uint64_t cell);

/* Calls it while no session can end, on a thread that is not attached and outside of recording
 * calls; not at all if none records. It takes no lock. */
void row_hold_stray(void (*call)(const void *context), const void *context);

#endif /* RECORD_EXTEND_H */
