/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_registry.h - the threads that record, and what is known of each.
 *
 * An entry is made by attach and lives until its thread has detached and all
 * its records are in the file of the session in progress; what the file will
 * say of it then is kept in less room (struct retired_threads). Entries are numbered for
 * the whole process, so no two threads ever share an id.
 *
 * Who may touch what: `self` and the recording part belong to the thread,
 * inside a recording call or with the registry locked. rbwp_session_stop
 * touches them too, after it has cleared the level and seen in_call 0.
 */
#ifndef THREAD_REGISTRY_H
#define THREAD_REGISTRY_H

#include "held.h"
#include "live_layout.h"
#include "rbwp_rows.h"
#include "record_extend.h"

#include <stdatomic.h>
#include <stddef.h>

/* What a thread has open between two of its chunks. */

struct chunk;
struct shared_timeline;

/* Zeros: nothing. The outermost first; those beyond the room are only counted. */
struct ring_open {
    uint32_t count, deeper;
    struct live_ring_open open[LIVE_RING_OPEN_MAX];
};

/* Moves on behind the events of a published chunk of the thread. True: there are sub-items among
 * them. */
bool ring_open_pass(struct ring_open *open, const struct chunk *chunk,
                    struct shared_timeline *timeline);

#define LOSS_CAUSES (RBWP_LOSS_CAUSE_MAX + 1) /* enum rbwp_loss_cause, index 0 unused */
#define ROW_PLACES_SHOWN_MAX 16u         /* of a thread: tables whose rows inlined calls write */
#define THREAD_ENDED (UINT32_C(1) << 31) /* in struct thread's chunks: it has detached */
#define NO_LOSS ((enum rbwp_loss_cause)0)

struct row_place;

struct loss_tally {
    uint64_t count;
    uint64_t first_ticks, last_ticks;
    uint32_t part;       /* of the recording, where it is cut: that of the last loss */
    uint64_t before;     /* counted in earlier parts */
    uint64_t part_ticks; /* the first of that part */
};

/*
 * What is open besides the item and the sub-items that the hot side knows of: begins that were
 * refused or lost, whose ends will come, and what lies outside of the open item.
 */
struct nest {
    uint32_t nested_items; /* begins ignored, whose ends will come */
    uint32_t outer_empty;  /* what the open item said before them: RBWP_PENDING_EMPTY_ or 0 */
    uint32_t lost_fine;    /* fine_begins not recorded, whose ends will come */
    enum rbwp_loss_cause lost_fine_cause; /* of the outermost of them */
    uint32_t outer_fine, outer_lost_fine; /* open sub-items that the open item began inside of */
    enum rbwp_loss_cause lost_item;       /* why the open item's begin was not recorded */
    /* Ends may belong to what began unseen, before the session or while the level was changed: no
     * item has begun since, as far as it has been looked (chunk_line_has_begun_none). Of items, one
     * can have been open. */
    bool may_end_earlier, ended_earlier_item;
    /* Sub-items may have begun before they were recorded: the level was raised. Set by who raises
     * it, while the thread records. */
    bool may_end_earlier_fine;
    uint64_t changed_ticks; /* when the level was changed last; 0: not in this session */
};

/* No word is ever this one: a begin asks whether there is one. */
#define SEATED_ASK UINT64_C(1)
/* Of a thread that is not attached, or has not begun a call in this session. */
#define SELF_NONE                                                                                  \
    {                                                                                              \
        .seat = &rbwp_seat_none_, .seated = SEATED_ASK, .long_ticks = UINT64_MAX                   \
    }

/* The kernel's counters of the thread at one moment (on_cpu.h). */
struct on_cpu_counts {
    uint64_t ticks;
    int64_t ran_ns, runnable_ns; /* -1: not known */
    int64_t away_ns;             /* switched out while it was asked */
    uint64_t voluntary, involuntary;
    int64_t minor, major;
    unsigned cpu;
};

struct on_cpu {
    int state;
    bool no_counters;
    const uint64_t *asked_at; /* now is of the call that begins there */
    struct held counters;
    uint64_t least_ticks; /* that asking took */
    uint64_t long_ticks;  /* a call of this length is asked in any case */
    /* Where the kernel is asked seldom: so long it is not asked again, and so late an end may be
     * recorded. */
    uint64_t good_ticks, late_ticks;
    /* When the word was set last: the thread may have waited between now.ticks and then, and has
     * run from then on as long as the word stays. */
    uint64_t armed_ticks;
    uint64_t ran_to_ticks; /* of an end: the call ran all the time */
    int64_t stretches;     /* the kernel's counter of how often it got a CPU, as read last */
    uint64_t unsaid_ticks; /* from then on nothing is known, and no row says so; 0: none is due */
    /* When the thread's clock was read from which the next row of its sum counts; 0: not in this
     * session. */
    uint64_t summed_ticks;
    int64_t summed_ns;
    struct on_cpu_counts before, now;
};

/* The call or wait that the thread was found in when it was looked at last (stall.h). */
struct open_seen {
    uint64_t since_ticks, next_age_ticks; /* it is due again when it is so old */
    bool is_late;                         /* it was due, and others came first */
};

struct thread {
    uint64_t thread_id;          /* never changes; first, where inlined calls read it */
    struct thread *next, **link; /* in a list; guarded by the registry's lock */
    uint64_t os_id;              /* never changes */
    char *name;                  /* guarded by the registry's lock */
    int64_t attached_monotonic_ns;
    int64_t detached_monotonic_ns; /* 0 while attached; guarded by the registry's lock */

    struct rbwp_self_ *self; /* NULL once detached; guarded by the registry's lock */
    /* Where its inlined calls write rows. Added to by the thread alone; they go under the lock. */
    struct {
        struct rbwp_place_ *_Atomic own; /* NULL: free, and so are those behind it */
        enum rule_watch watch;
    } shown[ROW_PLACES_SHOWN_MAX];

    /* Recording: see above. Reset when a session ends. */
    struct chunk *chunk;                  /* being filled; NULL before the first event */
    struct chunk *held_first, *held_last; /* full, older first, waiting for the open item's fate */
    uint64_t kept_begin_ticks; /* when the open item began, if it can no longer be elided */
    uint64_t kept_word;        /* where self->item points then */
    bool kept;                 /* the open item can no longer be elided */
    struct nest nest;
    struct on_cpu on_cpu;
    struct open_seen seen;         /* guarded by the registry's lock */
    const void *_Atomic waiter;    /* for who knows its waits (rbwp_extend_show_wait); or NULL */
    struct row_place **row_places; /* by number of the table - 1; NULL: none written yet */
    uint32_t row_place_count;
    struct loss_tally loss[LOSS_CAUSES];
    _Atomic uint64_t *_Atomic left_out; /* items, by slot; made and counted by slot_limits.h */
    _Atomic uint32_t refused; /* calls from signal handlers; written by the thread's handlers */
    _Atomic bool waits;       /* for memory, at the cap; reader: recording_end */

    /* Of this thread, wherever they are; falls when one was drained. And THREAD_ENDED. */
    _Atomic uint32_t chunks;
    _Atomic uint32_t row_chunks; /* of them, those with rows */

    /* Of what is in the file, and what could not be put there. Guarded by the drain's lock. */
    uint64_t records;
    int64_t floor_ns; /* no later chunk has a time before this */
    uint64_t unwritten;
    int64_t unwritten_first_ns, unwritten_last_ns;
    uint64_t unwritten_rows;
    uint64_t overwritten;  /* words of chunks that were no events any more */
    struct ring_open open; /* behind what is in the ring; the writer thread's */
};
_Static_assert(offsetof(struct thread, thread_id) == 0, "rbwp_thread_number_ reads it there");

void thread_registry_lock(void);
/* False: another thread has it. */
bool thread_registry_try_lock(void);
void thread_registry_unlock(void);
/* The first entry of an attached thread, or of those that are detached and not retired; follow
 * next. Registry locked. */
struct thread *thread_registry_first(void);
struct thread *thread_registry_first_ended(void);
/* An entry, with its os_id and self, joins under a number of its own; has another name, which it
 * takes over; leaves, and may be gone. Registry locked. */
void thread_registry_add(struct thread *entry);
void thread_registry_name(struct thread *entry, char *name);
void thread_registry_remove(struct thread *entry);
/* When the last record is written: settles all that can be, and no more until the session has
 * ended, so that what retired_threads gives stays as it is. Registry locked. */
void thread_registry_settle_last(void);
/*
 * From begin to end, what is known of detached threads is kept for the file. End frees it and
 * clears what the others hold of the session. Registry locked.
 */
void thread_registry_begin_session(void);
void thread_registry_end_session(void);

/* A chunk of the thread was written, or is not needed. The last use of the thread by who calls it:
 * an entry whose thread has detached may go at once. Any thread. */
void thread_chunk_done(struct thread *thread);
void thread_row_chunk_done(struct thread *thread);
/* How many threads have detached and have chunks that are not written. May be off by a few. */
int thread_registry_orphans(void);

/* All threads of the session into the live file. Registry locked. */
void thread_registry_log(void);

/* Clears what a thread holds of the calls it made: no chunk, nothing open. */
void thread_forget_calls(struct thread *thread);

/* ---- losses ---------------------------------------------------------------------------------- */

/*
 * What was not recorded, counted by cause: of each thread, and of those that are
 * not attached all together. News go to the live file, roughly.
 */

/* Own thread, in a recording call. */
void thread_lose(struct thread *thread, enum rbwp_loss_cause cause, uint64_t count, uint64_t ticks);

/* Calls made by threads that are not attached, all of them together. */
struct stray_calls {
    _Atomic uint64_t count, first_ticks, last_ticks;
};
extern struct stray_calls stray_calls;
/* Any thread, also in a signal handler. A refused item counts once: what is called until its end is
 * part of it. RBWP_PENDING_SLOW_ says that one is open, for attaching clears it. */
void stray_calls_add(uint64_t ticks);
void stray_calls_begin(struct rbwp_self_ *self, uint64_t ticks);
void stray_calls_end(struct rbwp_self_ *self, uint64_t ticks);

/* ---- threads that have ended ----------------------------------------------------------------- */

/*
 * What the file will say of threads that have ended and whose records are all
 * in it.
 *
 * A session may last for months and see millions of threads, so this is bounded: when it is full,
 * the half with the fewest records goes, of equals the older ones, and is only counted (SPEC.md,
 * "LEFT"). Losses beyond a bound are added up by cause. All calls with the registry locked.
 */

struct retired_thread {
    uint64_t thread_id, os_id;
    int64_t attached_monotonic_ns, detached_monotonic_ns;
    uint64_t records;
    char *name;
};

/* Of one thread and cause. Times as struct thread has them: in ns for RBWP_LOSS_IO, else ticks. */
struct retired_loss {
    uint64_t thread_id; /* 0: several */
    uint64_t count;
    uint64_t first, last;
    uint32_t cause;
};

struct retired_threads {
    struct retired_thread *threads;
    struct retired_loss *losses;
    uint32_t thread_count, thread_room, loss_count, loss_room;
    size_t bytes;                                /* of the threads in a file */
    struct retired_loss all_losses[LOSS_CAUSES]; /* that have no entry of their own, by cause */
    uint64_t left_threads, left_records, left_losses;
};

const struct retired_threads *retired_threads(void);

/* What a thread lost, cause by cause, to a visitor. */
void thread_each_loss(const struct thread *thread,
                      void (*visit)(void *context, const struct retired_loss *loss), void *context);

#endif /* THREAD_REGISTRY_H */
