/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_range.h - give names to intervals of a thread's time.
 *
 *     uint64_t forward = rbwp_range_name("forward");        once
 *     rbwp_range_push(forward, step);                       may nest
 *     launch_kernels();
 *     rbwp_range_pop();
 *
 * Each range is a row of the table "range" (SPEC.md, 9.3): name, an id of the program's own, times,
 * thread, and the range around it. GPU work that is launched inside one through a bracket
 * (rbwp_gpu.h) says so in its row, and the tools show for each GPU and stream when the range's work
 * ran there. A range is no work: it makes no thread busy.
 *
 * A row is in FILE.live when push has returned, so a program that is killed leaves its open ranges,
 * too; they have no stop. (Its rows take part in the memory for rows, rbwp_rows.h.)
 *
 * Without a session a call is one predicted branch, with RBWP_DISABLE no code at all. What was
 * pushed before the session started is not in it. Pops without a push are counted
 * (RBWP_LOSS_STRAY_END), and so are starts stopped twice; what there is no room for (more than
 * RBWP_RANGES_NESTED_MAX of a thread, RBWP_RANGES_STARTED_MAX of the process) is counted as rows
 * (RBWP_LOSS_ROWS), and its pop is paired with it all the same.
 *
 * Threads: any. One that is not attached is attached by its first range, as by
 * rbwp_thread_attach(NULL). Not from signal handlers.
 */
#ifndef RBWP_RANGE_H
#define RBWP_RANGE_H

#include "rbwp_rows.h"

RBWP_C_BEGIN_

#define RBWP_RANGES_NESTED_MAX 256u
#define RBWP_RANGES_STARTED_MAX 65536u

/* The number of a name, as rbwp_name_intern; 0 where that fails: the range has no name then. */
RBWP_API uint64_t rbwp_range_name(const char *name);

/* One value that goes with a range or mark. */
enum rbwp_payload_type {
    RBWP_PAYLOAD_NONE = 0,
    RBWP_PAYLOAD_U64 = 1,
    RBWP_PAYLOAD_I64 = 2,
    RBWP_PAYLOAD_F64 = 3,
    RBWP_PAYLOAD_NAME = 4 /* number of a name */
};
struct rbwp_payload {
    unsigned type; /* enum rbwp_payload_type */
    uint64_t bits;
};
static inline struct rbwp_payload rbwp_payload_u64(uint64_t value)
{
    struct rbwp_payload payload = {RBWP_PAYLOAD_U64, value};
    return payload;
}
static inline struct rbwp_payload rbwp_payload_i64(int64_t value)
{
    struct rbwp_payload payload = {RBWP_PAYLOAD_I64, (uint64_t)value};
    return payload;
}
static inline struct rbwp_payload rbwp_payload_f64(double value)
{
    struct rbwp_payload payload = {RBWP_PAYLOAD_F64, rbwp_cell_f64(value)};
    return payload;
}

/* A range in whose name another thread goes on: see rbwp_range_enter. A value. */
struct rbwp_range_carried {
    uint64_t range, name, id; /* range 0: none */
};

/* Column kind of the table. */
enum rbwp_range_kind {
    RBWP_RANGE_PUSHED = 0,
    RBWP_RANGE_STARTED = 1,
    RBWP_RANGE_MARK = 2,    /* a point in time */
    RBWP_RANGE_CARRIED = 3, /* goes on on another thread; its parent is the range that it carries */
    RBWP_RANGE_STOP_ = 16   /* added: the stop of a range whose row had gone to the file */
};

/* ---- internals of the inline calls: not for use, change with the library's minor version --- */

enum rbwp_range_column_ {
    RBWP_RANGE_COLUMN_START_,
    RBWP_RANGE_COLUMN_STOP_,
    RBWP_RANGE_COLUMN_THREAD_,
    RBWP_RANGE_COLUMN_NAME_,
    RBWP_RANGE_COLUMN_RANGE_,
    RBWP_RANGE_COLUMN_ID_,
    RBWP_RANGE_COLUMN_PARENT_,
    RBWP_RANGE_COLUMN_KIND_,
    RBWP_RANGE_COLUMN_PAYLOAD_TYPE_,
    RBWP_RANGE_COLUMN_PAYLOAD_,
    RBWP_RANGE_COLUMNS_
};

struct rbwp_open_range_ {
    uint64_t *cells; /* of its row, as long as that may be written to */
    uint64_t fill;   /* of whose chunk; 0: none */
    uint64_t number;
    /* What its row says, for when that has gone. Of one that was pushed in line it is there from
     * then on. */
    uint64_t start_ticks, name, id, parent;
    uint32_t kind; /* enum rbwp_range_kind */
};
struct rbwp_own_ranges_ {
    struct rbwp_open_range_ *top;   /* the innermost one; one that is none */
    struct rbwp_open_range_ *limit; /* below it one may be pushed in line, if there is room for a
                                       row: the stack is of this session, and there are numbers */
    uint64_t next_number;           /* of ranges */
    struct rbwp_place_ place;       /* of their rows */
};
extern RBWP_API RBWP_TLS_ struct rbwp_own_ranges_
    rbwp_own_ranges_ RBWP_ABI_NAME_("rbwp_own_ranges_") RBWP_TLS_MODEL_;

/* Behind the test for a session; push and pop where they cannot be done in line. */
RBWP_API void rbwp_range_push_(uint64_t name, uint64_t id, struct rbwp_payload payload,
                               uint64_t ticks);
RBWP_API void rbwp_range_pop_(uint64_t ticks);
RBWP_API uint64_t rbwp_range_start_(uint64_t name, uint64_t id, struct rbwp_payload payload,
                                    uint64_t ticks);
RBWP_API void rbwp_range_stop_(uint64_t range, uint64_t ticks);
RBWP_API void rbwp_range_mark_(uint64_t name, uint64_t id, struct rbwp_payload payload,
                               uint64_t ticks);
RBWP_API void rbwp_range_carry_(struct rbwp_range_carried *carried_out);
RBWP_API void rbwp_range_enter_(const struct rbwp_range_carried *carried, uint64_t ticks);
RBWP_API uint64_t rbwp_range_current_(void);

#ifndef RBWP_DISABLE
#define RBWP_RANGE_CALL_(call)                                                                     \
    do {                                                                                           \
        if (rbwp_is_on_(1))                                                                        \
            call;                                                                                  \
    } while (0)
#define RBWP_RANGE_ASK_(call) (rbwp_is_on_(1) ? (call) : 0)
#else
#define RBWP_RANGE_CALL_(call) ((void)0)
#define RBWP_RANGE_ASK_(call) (0)
#endif

#ifndef RBWP_DISABLE
/* The row's memory was last written on another CPU: it is asked for a few rows before. */
static inline void rbwp_want_row_(const uint64_t *cells)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(cells[4 * RBWP_RANGE_COLUMNS_]));
#else
    __builtin_prefetch(cells + 4 * RBWP_RANGE_COLUMNS_, 1);
#endif
}

/* Between rbwp_enter_ and rbwp_leave_. Cells that are not stored are 0. */
static inline RBWP_HOT_ void rbwp_put_range_(struct rbwp_own_ranges_ *own,
                                             struct rbwp_place_ *place, uint64_t name, uint64_t id,
                                             struct rbwp_payload payload, uint64_t ticks)
{
    struct rbwp_open_range_ *range = own->top + 1;
    uint64_t *cells = rbwp_place_take_(place, RBWP_RANGE_COLUMNS_), number = own->next_number;
    /* A pop that comes at once looks for these first, and waits for what was just stored. */
    range->cells = cells;
    range->fill = place->fill;
    cells[RBWP_RANGE_COLUMN_START_] = ticks;
    cells[RBWP_RANGE_COLUMN_THREAD_] = place->thread_number;
    cells[RBWP_RANGE_COLUMN_NAME_] = name;
    cells[RBWP_RANGE_COLUMN_RANGE_] = number;
    cells[RBWP_RANGE_COLUMN_ID_] = id;
    cells[RBWP_RANGE_COLUMN_PARENT_] = range[-1].number;
    if (payload.type != RBWP_PAYLOAD_NONE) {
        cells[RBWP_RANGE_COLUMN_PAYLOAD_TYPE_] = payload.type;
        cells[RBWP_RANGE_COLUMN_PAYLOAD_] = payload.bits;
    }
    rbwp_want_row_(cells);
    own->top = range;
    own->next_number = number + 1;
    range->number = number;
    rbwp_place_count_(place, 1);
}

/* A range begins on this thread, inside those that are open. */
static inline RBWP_HOT_ void rbwp_range_push_with(uint64_t name, uint64_t id,
                                                  struct rbwp_payload payload)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct rbwp_own_ranges_ *own = &rbwp_own_ranges_;
    struct rbwp_place_ *place = &own->place;
    uint64_t ticks;
    if (!rbwp_is_on_(1))
        return;
    ticks = rbwp_now_ticks();
    if (!rbwp_enter_(self, 1))
        return;
    if (__builtin_expect(rbwp_place_has_room_(place) && own->top < own->limit, 1)) {
        rbwp_put_range_(own, place, name, id, payload, ticks);
        rbwp_leave_(self);
    } else {
        rbwp_leave_(self);
        rbwp_range_push_(name, id, payload, ticks);
    }
}
/* The one that was pushed (or entered) last on this thread ends. */
static inline RBWP_HOT_ void rbwp_range_pop(void)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct rbwp_own_ranges_ *own = &rbwp_own_ranges_;
    struct rbwp_open_range_ *range;
    uint64_t fill, ticks;
    if (!rbwp_is_on_(1))
        return;
    /* Nobody but this thread changes what it has pushed: that need not wait for the clock. */
    range = own->top;
    fill = range->fill;
    ticks = rbwp_now_ticks();
    if (!rbwp_enter_(self, 1))
        return;
    /* Where its row is held it was pushed in this session. */
    if (__builtin_expect(fill == own->place.fill, 1)) {
        own->top = range - 1;
        __atomic_store_n(range->cells + RBWP_RANGE_COLUMN_STOP_, ticks, __ATOMIC_RELAXED);
        rbwp_leave_(self);
    } else {
        rbwp_leave_(self);
        rbwp_range_pop_(ticks);
    }
}
#else /* RBWP_DISABLE: the same calls, no code */
static inline void rbwp_range_push_with(uint64_t name, uint64_t id, struct rbwp_payload payload)
{
    (void)name, (void)id, (void)payload;
}
static inline void rbwp_range_pop(void) {}
#endif
static inline void rbwp_range_push(uint64_t name, uint64_t id)
{
    struct rbwp_payload none = {RBWP_PAYLOAD_NONE, 0};
    rbwp_range_push_with(name, id, none);
}

/*
 * A range that does not nest: it belongs to the thread that starts it, and any thread may stop it.
 * Takes a lock. The number of the range, which distinguishes it from all others of the process; 0:
 * it is not recorded, and stopping that does nothing.
 */
static inline uint64_t rbwp_range_start_with(uint64_t name, uint64_t id,
                                             struct rbwp_payload payload)
{
    (void)name, (void)id, (void)payload;
    return RBWP_RANGE_ASK_(rbwp_range_start_(name, id, payload, rbwp_now_ticks()));
}
static inline uint64_t rbwp_range_start(uint64_t name, uint64_t id)
{
    struct rbwp_payload none = {RBWP_PAYLOAD_NONE, 0};
    return rbwp_range_start_with(name, id, none);
}
static inline void rbwp_range_stop(uint64_t range)
{
    (void)range;
    RBWP_RANGE_CALL_(rbwp_range_stop_(range, rbwp_now_ticks()));
}

/* A point in time. */
static inline void rbwp_range_mark(uint64_t name, uint64_t id, struct rbwp_payload payload)
{
    (void)name, (void)id, (void)payload;
    RBWP_RANGE_CALL_(rbwp_range_mark_(name, id, payload, rbwp_now_ticks()));
}

/*
 * Work that one thread began goes on on another (the backward pass of a model runs on threads of
 * the framework's own): carry on the first gives a value for the second to enter with. What is
 * recorded between enter and pop there is a range of the same name and id, whose parent is the one
 * that was carried. No range open: range is 0, and entering it pushes nothing but still wants its
 * pop.
 */
static inline struct rbwp_range_carried rbwp_range_carry(void)
{
    struct rbwp_range_carried carried = {0, 0, 0};
    RBWP_RANGE_CALL_(rbwp_range_carry_(&carried));
    return carried;
}
static inline void rbwp_range_enter(const struct rbwp_range_carried *carried)
{
    (void)carried;
    RBWP_RANGE_CALL_(rbwp_range_enter_(carried, rbwp_now_ticks()));
}

/* The number of the innermost range that this thread has pushed or entered, 0 none: the column
 * "range" of the table. */
static inline uint64_t rbwp_range_current(void)
{
    return RBWP_RANGE_ASK_(rbwp_range_current_());
}

RBWP_C_END_
#endif /* RBWP_RANGE_H */
