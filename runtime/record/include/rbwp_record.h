/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_record.h - record what a worker thread does.
 *
 *     rbwp_work_item_register("page cleaner", &slot);     once
 *     rbwp_thread_attach("cleaner 3");                     once per thread
 *     for (;;) {
 *         rbwp_begin(slot);                                per call of the work
 *         bool worked = clean_some_pages();
 *         rbwp_set_worked(worked);                         an empty call leaves no trace
 *         rbwp_end();
 *     }
 *     rbwp_thread_detach();                                optional: thread exit does it
 *
 * The calls below between begin and end return nothing and cannot fail as far
 * as the caller is concerned: what cannot be recorded is dropped and counted by
 * cause (enum rbwp_loss_cause), and the file has the counts. They take no
 * lock, make no system call and allocate nothing, except when a chunk of
 * records is full. With no session running they are one predicted branch;
 * with RBWP_DISABLE defined before the include they are no code at all.
 *
 * Threads: each thread records for itself. Calls from a signal handler that
 * interrupted a recording call on the same thread are refused and counted;
 * other calls from signal handlers are recorded like any other.
 *
 * A session that starts between a begin and its end records neither, and counts
 * the end for no misuse.
 *
 * longjmp out of the work leaves the item open: call rbwp_end where it lands. A
 * signal handler must not leave a recording call by longjmp: all further calls
 * of that thread are refused and counted, until it detaches (and attaches
 * again); events that the thread had not handed over may then be missing.
 */
#ifndef RBWP_RECORD_H
#define RBWP_RECORD_H

#include "rbwp_format.h"

RBWP_C_BEGIN_

/* ---- names: any time, any thread, with or without a session -------------- */

/*
 * Claims the lowest free slot for a work item and names it. The name is copied; at most
 * RBWP_NAME_BYTES_MAX bytes. RBWP_E_LIMIT: all 256 slots taken, or the name too long;
 * RBWP_E_MEMORY. Slots are numbered for the whole process.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_work_item_register(const char *name,
                                                                unsigned *slot_out);
/* Claims a slot of one's own choice. RBWP_E_BUSY if taken, RBWP_E_INVALID above 255. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_work_item_register_at(unsigned slot, const char *name);
/* Releases a slot for reuse; its name stays known for the time it was used. RBWP_E_STATE if free.
 */
RBWP_API enum rbwp_status rbwp_work_item_release(unsigned slot);

#define RBWP_KIND_NAME_BYTES_MAX 64u
/*
 * A kind of sub-items of one's own, by name ("compaction"): *type_out goes where
 * rbwp_sub_item_register takes a type. With RBWP_KIND_WAITS in flags (else 0) its sub-items are
 * waits: a thread in one is not busy, and stats and report count that time as waiting. The same
 * name and flags again are the same kind. RBWP_E_INVALID: no name, or unknown flags; RBWP_E_LIMIT:
 * more than 128, or the name too long; RBWP_E_MEMORY.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_sub_item_kind_register(const char *name, unsigned flags, enum rbwp_sub_item_type *type_out);
/*
 * The work item of a slot is of such a kind: calls of one that waits keep their thread no busier
 * than what sub-items in them do ("wait for connections"). Holds for the whole recording; the last
 * one that was said counts. RBWP_E_STATE: nobody has the slot; RBWP_E_INVALID: that is no kind of
 * rbwp_sub_item_kind_register.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_work_item_set_kind(unsigned slot,
                                                                enum rbwp_sub_item_type kind);
/* Names a sub-item; ids count up from 0 and are not reused. RBWP_E_LIMIT after 65536,
 * RBWP_E_MEMORY. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_sub_item_register(enum rbwp_sub_item_type type,
                                                               const char *name, unsigned *id_out);

/* ---- threads -------------------------------------------------------------- */

/*
 * Makes the calling thread one that records, under a name (NULL = "thread <os id>"; copied).
 * Attaching twice renames. Thread exit detaches. RBWP_E_MEMORY.
 */
RBWP_API enum rbwp_status rbwp_thread_attach(const char *name);
/* Hands over what the thread recorded. RBWP_E_STATE if it is not attached. An open item stays
 * unfinished. */
RBWP_API enum rbwp_status rbwp_thread_detach(void);

/* ---- the clock ------------------------------------------------------------ */

/* Ticks per second of rbwp_now_ticks, as known so far (better the longer the process runs). */
RBWP_API uint64_t rbwp_ticks_per_second(void);
/* A duration in ticks, and back. */
RBWP_API uint64_t rbwp_ticks_from_ns(uint64_t duration_ns);
RBWP_API uint64_t rbwp_ns_from_ticks(uint64_t duration_ticks);
/* Present time on the time line of the records: absolute nanoseconds. For rbwp_gpu_work. */
RBWP_API int64_t rbwp_now_ns(void);
/* Present time in ticks of the recorder's clock. */
static inline uint64_t rbwp_now_ticks(void);

/* ---- recording: inline, defined below ------------------------------------------- */

/* The calls that take ticks share one clock read between several calls; ticks are rbwp_now_ticks'.
 */

/* A call of a work item's do_work begins. Inside an open item it is ignored and counted. */
static inline void rbwp_begin(unsigned slot);
static inline void rbwp_begin_at(unsigned slot, uint64_t ticks);
/*
 * The call ends. If it said that it did no work, all it recorded is elided, unless it exceeded
 * the thread's time limit.
 */
static inline void rbwp_end(void);
static inline void rbwp_end_at(uint64_t ticks);
/*
 * Says whether the open item did work; true after begin, and again after each rbwp_fine_begin.
 * Without an open item it does nothing.
 */
static inline void rbwp_set_worked(bool worked);
/* Ends the open item as one that did no work: rbwp_set_worked(false) and rbwp_end. */
static inline void rbwp_discard(void);
#ifndef RBWP_DISABLE
/*
 * For this thread's items from now on: one that did no work but lasted at least so long is kept.
 * UINT64_MAX, the state at attach, keeps none.
 */
RBWP_API void rbwp_set_time_limit(uint64_t limit_ns);
#endif
/* A sub-item begins or ends, level 2 only. May nest, and may stand outside any item. */
static inline void rbwp_fine_begin(unsigned id);
static inline void rbwp_fine_begin_at(unsigned id, uint64_t ticks);
static inline void rbwp_fine_end(void);
static inline void rbwp_fine_end_at(uint64_t ticks);
/*
 * GPU work that slot launched on processor proc_id ran from start_ns to stop_ns (rbwp_now_ns's time
 * line; stored as given). Any attached thread, levels 1 and 2, inside or outside an item.
 */
static inline void rbwp_gpu_work(uint64_t proc_id, unsigned slot, int64_t start_ns,
                                 int64_t stop_ns);

/* ---- internals of the inline calls: not for use, change with the library's minor version --- */

/* Of a slot: an end looks whether its item lasted at least least_ticks and less than span_ticks
 * more; else its slow side does. */
struct rbwp_slot_limit_ {
    uint64_t least_ticks, span_ticks;
};

struct rbwp_self_ {
    uint64_t *next;      /* where the next event goes; NULL before the first of a session */
    uint64_t *limit;     /* end of the chunk; next == limit sends a call to its slow side */
    uint64_t *item;      /* event of the open coarse begin, NULL if none is open */
    uint64_t base_ticks; /* of the chunk: events hold ticks since it */
    const struct rbwp_slot_limit_ *limits; /* by slot; NULL: no slot has any */
    uint64_t keep_ticks; /* an empty call that lasted at least this long is kept */
    uint64_t discarded;  /* empty calls that left no trace, this session */
    void *thread;        /* the registry's entry, its number first; NULL when not attached */
    uint32_t in_call;    /* 1 while a recording call runs on this thread */
    uint32_t pending; /* open sub-items (low 15 bits), and RBWP_PENDING_* that want the slow side */
    /* The thread has been on its CPU since *seat was set to seated; a begin and an end look. */
    const uint64_t *seat;
    uint64_t seated;
    uint64_t long_ticks; /* an end that comes so late takes the slow side */
};
#define RBWP_PENDING_DEPTH_ 0x7fffu /* mask of the count */
#define RBWP_PENDING_EMPTY_ 0x8000u /* the open item said it did no work */
#define RBWP_PENDING_SLOW_ 0x10000u /* the registry's entry has more to say: take the slow side */
#define RBWP_PENDING_HELD_ 0x20000u /* the open item began in an earlier chunk: its end does */

/*
 * An event is one word, 0 = none: kind (3 bits), id (16 bits), ticks since the chunk's base (45
 * bits: 3.7 hours at 2.6 GHz, then a new chunk is begun).
 */
#define RBWP_EVENT_KIND_BITS_ 3
#define RBWP_EVENT_TIME_SHIFT_ 19
#define RBWP_EVENT_TIME_BITS_ 45
enum rbwp_event_kind_ {
    RBWP_EVENT_BEGIN_ = 1,
    RBWP_EVENT_END_ = 2,
    RBWP_EVENT_FINE_BEGIN_ = 3,
    RBWP_EVENT_FINE_END_ = 4,
    RBWP_EVENT_GPU_ = 5 /* three words follow: processor id, start, stop */
};

#ifdef __cplusplus
#define RBWP_TLS_ __thread
#else
#define RBWP_TLS_ _Thread_local
#endif
/* Where libraries are loaded later (dlopen), glibc has kept room for this model, the fastest; musl
 * has not, and refuses to load them. In programs the linker makes one like it of any. */
#ifdef __GLIBC__
#define RBWP_TLS_MODEL_ __attribute__((tls_model("initial-exec")))
#else
#define RBWP_TLS_MODEL_
#endif
/* What seat leads to where nobody looks. */
extern RBWP_API const uint64_t rbwp_seat_none_ RBWP_ABI_NAME_("rbwp_seat_none_");
extern RBWP_API RBWP_TLS_ struct rbwp_self_ rbwp_self_ RBWP_ABI_NAME_("rbwp_self_") RBWP_TLS_MODEL_;
RBWP_API void rbwp_ask_cpu_(uint64_t ticks) RBWP_ABI_NAME_("rbwp_ask_cpu_");
/* Of the running session, 0 if none. */
extern RBWP_API int rbwp_level_ RBWP_ABI_NAME_("rbwp_level_");
/* 1 if ticks are the time-stamp counter's. */
extern RBWP_API int rbwp_clock_tsc_ RBWP_ABI_NAME_("rbwp_clock_tsc_");

/* The slow sides, called between enter and leave. */
RBWP_API void rbwp_begin_slow_(unsigned slot, uint64_t ticks);
RBWP_API void rbwp_end_slow_(uint64_t ticks);
RBWP_API void rbwp_fine_begin_slow_(unsigned id, uint64_t ticks);
RBWP_API void rbwp_fine_end_slow_(uint64_t ticks);
RBWP_API void rbwp_gpu_work_slow_(uint64_t proc_id, unsigned slot, int64_t start_ns,
                                  int64_t stop_ns);
/* Counts a call that interrupted another on the same thread. */
RBWP_API void rbwp_refuse_(void);
RBWP_API uint64_t rbwp_clock_read_(void);

#if defined(__x86_64__) || defined(__i386__)
#define RBWP_HAVE_TSC_ 1
#else
#define RBWP_HAVE_TSC_ 0
#endif

static inline uint64_t rbwp_now_ticks(void)
{
#if RBWP_HAVE_TSC_
    if (__builtin_expect(__atomic_load_n(&rbwp_clock_tsc_, __ATOMIC_RELAXED), 1))
        return __builtin_ia32_rdtsc();
#endif
    return rbwp_clock_read_();
}

/*
 * in_call and rbwp_level_ are the two halves of the handshake with rbwp_session_stop: a call sets
 * in_call, then looks at the level; stop clears the level, makes every CPU see that (membarrier),
 * then waits for in_call to be 0. So the hot side needs no fence, only the compiler's order.
 * ThreadSanitizer does not know membarrier and is given the full order.
 */
#if defined(__SANITIZE_THREAD__)
#define RBWP_TSAN_ 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RBWP_TSAN_ 1
#endif
#endif
#ifdef RBWP_TSAN_
#define RBWP_STORE_ORDER_ __ATOMIC_SEQ_CST
#define RBWP_LOAD_ORDER_ __ATOMIC_SEQ_CST
#else
#define RBWP_STORE_ORDER_ __ATOMIC_RELAXED
#define RBWP_LOAD_ORDER_ __ATOMIC_ACQUIRE
#endif

static inline void rbwp_leave_(struct rbwp_self_ *self)
{
    __atomic_store_n(&self->in_call, 0u, __ATOMIC_RELEASE);
}

/* True when the calling thread may touch its state until rbwp_leave_. */
static inline bool rbwp_enter_(struct rbwp_self_ *self, int level)
{
    if (__builtin_expect(__atomic_load_n(&self->in_call, __ATOMIC_RELAXED) != 0, 0)) {
        rbwp_refuse_();
        return false;
    }
    __atomic_store_n(&self->in_call, 1u, RBWP_STORE_ORDER_);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&rbwp_level_, RBWP_LOAD_ORDER_) >= level, 1))
        return true;
    rbwp_leave_(self);
    return false;
}

static inline bool rbwp_is_on_(int level)
{
    return __builtin_expect(__atomic_load_n(&rbwp_level_, __ATOMIC_RELAXED) >= level, 0);
}

/* What nearly every call is: in line, though compilers take calls behind rbwp_is_on_ for rare. */
#define RBWP_HOT_ __attribute__((always_inline))

static inline bool rbwp_has_room_(const struct rbwp_self_ *self, uint64_t ticks_in_chunk)
{
    return __builtin_expect(self->next < self->limit, 1) &
           __builtin_expect(ticks_in_chunk >> RBWP_EVENT_TIME_BITS_ == 0, 1);
}

/* Of the open item, which has begun in this chunk; NULL: no slot has any. Without an item it is
 * nobody's. */
static inline const struct rbwp_slot_limit_ *rbwp_limit_of_item_(const struct rbwp_self_ *self)
{
    const struct rbwp_slot_limit_ *limit = __atomic_load_n(&self->limits, __ATOMIC_RELAXED);
    if (__builtin_expect(limit != NULL, 0) && self->item)
        limit += *self->item >> RBWP_EVENT_KIND_BITS_ & (RBWP_SLOTS_MAX - 1);
    return limit;
}

/* Whether the open item is to be recorded and no more. */
static inline bool rbwp_is_within_(const struct rbwp_slot_limit_ *limit,
                                   const struct rbwp_self_ *self, uint64_t ticks_in_chunk)
{
    if (__builtin_expect(!limit, 1))
        return true;
    return ticks_in_chunk - (*self->item >> RBWP_EVENT_TIME_SHIFT_) -
               __atomic_load_n(&limit->least_ticks, __ATOMIC_RELAXED) <
           __atomic_load_n(&limit->span_ticks, __ATOMIC_RELAXED);
}

/* The thread was on its CPU since it was looked at last. Also outside of the handshake, while a
 * session's end sets both: then what is asked next is asked inside of it. */
static inline bool rbwp_has_stayed_(const struct rbwp_self_ *self)
{
    const uint64_t *seat = __atomic_load_n(&self->seat, __ATOMIC_RELAXED);
    const uint64_t seated = __atomic_load_n(&self->seated, __ATOMIC_RELAXED);
    return __builtin_expect(__atomic_load_n(seat, __ATOMIC_RELAXED) == seated, 1);
}

/* The writer thread may look which item is open. */
static inline void rbwp_set_item_(struct rbwp_self_ *self, uint64_t *item)
{
    __atomic_store_n(&self->item, item, __ATOMIC_RELAXED);
}

/* One store makes the event: a crash finds all of it or nothing. */
static inline void rbwp_put_(struct rbwp_self_ *self, unsigned kind, unsigned id,
                             uint64_t ticks_in_chunk)
{
    uint64_t *word = self->next;
    self->next = word + 1;
    __atomic_store_n(word,
                     ticks_in_chunk << RBWP_EVENT_TIME_SHIFT_ |
                         (uint64_t)id << RBWP_EVENT_KIND_BITS_ | kind,
                     __ATOMIC_RELEASE);
}

/* The calling thread, as block headers name it; 0 if it is not attached. */
static inline uint64_t rbwp_thread_number_(void)
{
    const uint64_t *thread = (const uint64_t *)rbwp_self_.thread;
    return thread ? *thread : 0;
}

/* The rest of rbwp_begin_at and of rbwp_end_at, for who has entered. */
static inline RBWP_HOT_ void rbwp_put_begin_(struct rbwp_self_ *self, unsigned slot, uint64_t ticks)
{
    uint64_t since = ticks - self->base_ticks;
    if (__builtin_expect(rbwp_has_room_(self, since) && !self->item && !self->pending &&
                             slot < RBWP_SLOTS_MAX,
                         1)) {
        rbwp_set_item_(self, self->next);
        rbwp_put_(self, RBWP_EVENT_BEGIN_, slot, since);
    } else {
        rbwp_begin_slow_(slot, ticks);
    }
}

static inline RBWP_HOT_ void rbwp_put_end_(struct rbwp_self_ *self,
                                           const struct rbwp_slot_limit_ *limit, uint64_t ticks)
{
    uint64_t since = ticks - self->base_ticks;
    if (__builtin_expect(rbwp_has_room_(self, since) && self->item && !self->pending &&
                             rbwp_is_within_(limit, self, since) && rbwp_has_stayed_(self) &&
                             since - (*self->item >> RBWP_EVENT_TIME_SHIFT_) < self->long_ticks,
                         1)) {
        rbwp_set_item_(self, NULL);
        rbwp_put_(self, RBWP_EVENT_END_, 0, since);
    } else if (self->pending == RBWP_PENDING_EMPTY_ && self->item && self->next == self->item + 1 &&
               since - (*self->item >> RBWP_EVENT_TIME_SHIFT_) < self->keep_ticks) {
        __atomic_store_n(self->item, (uint64_t)0, __ATOMIC_RELEASE);
        self->next = self->item;
        rbwp_set_item_(self, NULL);
        self->pending = 0;
        self->discarded++;
    } else {
        rbwp_end_slow_(ticks);
    }
}

/* Likewise. */
static inline RBWP_HOT_ void rbwp_put_fine_begin_(struct rbwp_self_ *self, unsigned id,
                                                  uint64_t ticks)
{
    uint64_t since = ticks - self->base_ticks;
    /* Below the mask: no other flag is set, and the count does not run into one. */
    if (__builtin_expect(rbwp_has_room_(self, since) &&
                             (self->pending & ~RBWP_PENDING_HELD_) < RBWP_PENDING_DEPTH_ &&
                             id < RBWP_SUB_ITEMS_MAX,
                         1)) {
        self->pending++;
        rbwp_put_(self, RBWP_EVENT_FINE_BEGIN_, id, since);
    } else {
        rbwp_fine_begin_slow_(id, ticks);
    }
}

static inline RBWP_HOT_ void rbwp_put_fine_end_(struct rbwp_self_ *self, uint64_t ticks)
{
    uint64_t since = ticks - self->base_ticks;
    /* Likewise, and not 0, which wraps around. */
    if (__builtin_expect(rbwp_has_room_(self, since) &&
                             (self->pending & ~RBWP_PENDING_HELD_) - 1 < RBWP_PENDING_DEPTH_,
                         1)) {
        self->pending--;
        rbwp_put_(self, RBWP_EVENT_FINE_END_, 0, since);
    } else {
        rbwp_fine_end_slow_(ticks);
    }
}

#ifndef RBWP_DISABLE

/* Before a call begins, at ticks, or when the clock is read after this (RBWP_NOT_READ_): what the
 * thread did until then is not the call's. */
#define RBWP_NOT_READ_ UINT64_MAX
static inline RBWP_HOT_ void rbwp_look_at_cpu_(uint64_t ticks)
{
    if (!rbwp_has_stayed_(&rbwp_self_))
        rbwp_ask_cpu_(ticks);
}

/* The rest of the two below, behind the test for a session. */
static inline RBWP_HOT_ void rbwp_begin_on_(unsigned slot, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_enter_(self, 1))
        return;
    rbwp_put_begin_(self, slot, ticks);
    rbwp_leave_(self);
}

static inline RBWP_HOT_ void rbwp_begin_at(unsigned slot, uint64_t ticks)
{
    if (rbwp_is_on_(1)) {
        rbwp_look_at_cpu_(ticks);
        rbwp_begin_on_(slot, ticks);
    }
}

static inline RBWP_HOT_ void rbwp_begin(unsigned slot)
{
    if (rbwp_is_on_(1)) {
        rbwp_look_at_cpu_(RBWP_NOT_READ_);
        rbwp_begin_on_(slot, rbwp_now_ticks());
    }
}

static inline RBWP_HOT_ void rbwp_end_at(uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_is_on_(1) || !rbwp_enter_(self, 1))
        return;
    rbwp_put_end_(self, rbwp_limit_of_item_(self), ticks);
    rbwp_leave_(self);
}

/* The limit is looked for before the clock is read: what stands between one reading and the next
 * and waits for memory three times in a row would make the next one wait (docs/design/recorder.md).
 */
static inline RBWP_HOT_ void rbwp_end(void)
{
    struct rbwp_self_ *self = &rbwp_self_;
    const struct rbwp_slot_limit_ *limit;
    if (!rbwp_is_on_(1) || !rbwp_enter_(self, 1))
        return;
    limit = rbwp_limit_of_item_(self);
    rbwp_put_end_(self, limit, rbwp_now_ticks());
    rbwp_leave_(self);
}

static inline void rbwp_set_worked(bool worked)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_is_on_(1) || !rbwp_enter_(self, 1))
        return;
    if (self->item)
        self->pending = (self->pending & ~RBWP_PENDING_EMPTY_) | (worked ? 0 : RBWP_PENDING_EMPTY_);
    rbwp_leave_(self);
}

static inline void rbwp_discard(void)
{
    rbwp_set_worked(false);
    rbwp_end();
}

/* As rbwp_begin_on_. */
static inline RBWP_HOT_ void rbwp_fine_begin_on_(unsigned id, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_enter_(self, 2))
        return;
    rbwp_put_fine_begin_(self, id, ticks);
    rbwp_leave_(self);
}

static inline RBWP_HOT_ void rbwp_fine_begin_at(unsigned id, uint64_t ticks)
{
    if (rbwp_is_on_(2))
        rbwp_fine_begin_on_(id, ticks);
}

static inline RBWP_HOT_ void rbwp_fine_begin(unsigned id)
{
    if (rbwp_is_on_(2))
        rbwp_fine_begin_on_(id, rbwp_now_ticks());
}

/* As rbwp_begin_on_. */
static inline RBWP_HOT_ void rbwp_fine_end_on_(uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_enter_(self, 2))
        return;
    rbwp_put_fine_end_(self, ticks);
    rbwp_leave_(self);
}

static inline RBWP_HOT_ void rbwp_fine_end_at(uint64_t ticks)
{
    if (rbwp_is_on_(2))
        rbwp_fine_end_on_(ticks);
}

static inline RBWP_HOT_ void rbwp_fine_end(void)
{
    if (rbwp_is_on_(2))
        rbwp_fine_end_on_(rbwp_now_ticks());
}

static inline void rbwp_gpu_work(uint64_t proc_id, unsigned slot, int64_t start_ns, int64_t stop_ns)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_is_on_(1) || !rbwp_enter_(self, 1))
        return;
    rbwp_gpu_work_slow_(proc_id, slot, start_ns, stop_ns);
    rbwp_leave_(self);
}

#else /* RBWP_DISABLE: the same calls, no code */

static inline void rbwp_begin_at(unsigned slot, uint64_t ticks)
{
    (void)slot, (void)ticks;
}
static inline void rbwp_begin(unsigned slot)
{
    (void)slot;
}
static inline void rbwp_end_at(uint64_t ticks)
{
    (void)ticks;
}
static inline void rbwp_end(void) {}
static inline void rbwp_set_worked(bool worked)
{
    (void)worked;
}
static inline void rbwp_discard(void) {}
static inline void rbwp_set_time_limit(uint64_t limit_ns)
{
    (void)limit_ns;
}
static inline void rbwp_fine_begin_at(unsigned id, uint64_t ticks)
{
    (void)id, (void)ticks;
}
static inline void rbwp_fine_begin(unsigned id)
{
    (void)id;
}
static inline void rbwp_fine_end_at(uint64_t ticks)
{
    (void)ticks;
}
static inline void rbwp_fine_end(void) {}
static inline void rbwp_gpu_work(uint64_t proc_id, unsigned slot, int64_t start_ns, int64_t stop_ns)
{
    (void)proc_id, (void)slot, (void)start_ns, (void)stop_ns;
}

#endif /* RBWP_DISABLE */

RBWP_C_END_
#endif /* RBWP_RECORD_H */
