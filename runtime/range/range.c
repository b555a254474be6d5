/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c - ranges that nest, thread by thread.
 *
 * The row is written when the range begins and held (row_hold.h): its end stores one cell. Where
 * the row has gone to the file by then, as that of a range around thousands of others has, another
 * row of the same range tells the stop.
 *
 * What nearly every push and pop needs stands in line, with one test for each thing that may be
 * otherwise; all the rest is a call, which begins anew.
 */
#include "range.h"

#include "record_extend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS_AT_ONCE 1024u

static const struct rbwp_column range_columns[] = {
    RBWP_COLUMN(TIME, START, "start", ""),      RBWP_COLUMN(TIME, STOP, "stop", ""),
    RBWP_COLUMN(U64, THREAD, "thread", ""),     RBWP_COLUMN(NAME, LABEL, "name", ""),
    RBWP_COLUMN(U64, ID, "range", ""),          RBWP_COLUMN(U64, NONE, "id", ""),
    RBWP_COLUMN(U64, PARENT, "parent", ""),     RBWP_COLUMN(U64, NONE, "kind", ""),
    RBWP_COLUMN(U64, NONE, "payload_type", ""), RBWP_COLUMN(U64, NONE, "payload", ""),
};
static const struct rbwp_schema range_schema = RBWP_SCHEMA("range", 1, range_columns);
enum {
    START_COLUMN,
    STOP_COLUMN,
    THREAD_COLUMN,
    NAME_COLUMN,
    RANGE_COLUMN,
    ID_COLUMN,
    PARENT_COLUMN,
    KIND_COLUMN,
    PAYLOAD_TYPE_COLUMN,
    PAYLOAD_COLUMN,
    COLUMNS
};
_Static_assert(sizeof range_columns / sizeof range_columns[0] == COLUMNS, "a cell a column");

struct range_stack {
    uint32_t session;                                   /* in which the ranges were pushed */
    uint32_t beyond;                                    /* that are open and had no room */
    struct open_range open[1 + RBWP_RANGES_NESTED_MAX]; /* from 1 on; the first one is none */
};

/* What every push and pop needs is at hand: a clock read waits for what it takes to find it. */
struct own_ranges {
    struct range_stack *stack;        /* NULL: none yet */
    struct open_range *top, *limit;   /* the innermost one, and the last there is room for */
    uint64_t next_number, end_number; /* of ranges: this thread's own, taken many at once */
    bool pushed;                      /* in this session */
};
static _Thread_local struct own_ranges own __attribute__((tls_model("initial-exec")));
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static unsigned table;                     /* 0: could not be made known */
static _Atomic uint32_t session_count = 1; /* counts their ends */
static _Atomic uint64_t numbers = 1;

/* ---- once ------------------------------------------------------------------- */

static void at_thread_exit(void *stack)
{
    own = (struct own_ranges){0};
    free(stack);
}

static void session_ended(enum rbwp_extend_moment moment)
{
    if (moment == RBWP_EXTEND_STOPPED)
        atomic_fetch_add(&session_count, 1);
}

static void forked(void)
{
    atomic_fetch_add(&session_count, 1);
    started_forget();
}

static void prepare(void)
{
    unsigned number;
    if (pthread_key_create(&exit_key, at_thread_exit) == 0 &&
        rbwp_extend_at_end(session_ended) == RBWP_OK && pthread_atfork(NULL, NULL, forked) == 0 &&
        row_hold_register(&range_schema, &number) == RBWP_OK)
        table = number;
}

uint32_t range_session(void)
{
    return atomic_load_explicit(&session_count, memory_order_relaxed);
}

/* ---- threads ---------------------------------------------------------------- */

/* Without memory the range is not recorded, nor its end. */
static __attribute__((noinline)) struct range_stack *make_stack(void)
{
    const struct rbwp_self_ *self = &rbwp_self_;
    pthread_once(&once, prepare);
    if (!table || (!self->thread && rbwp_thread_attach(NULL) != RBWP_OK))
        return NULL;
    if (!own.stack) {
        struct range_stack *made = malloc(sizeof *made);
        if (!made || pthread_setspecific(exit_key, made) != 0) {
            free(made);
            return NULL;
        }
        memset(made, 0, offsetof(struct range_stack, open) + sizeof made->open[0]);
        own.stack = made;
        own.top = made->open;
        own.limit = &made->open[RBWP_RANGES_NESTED_MAX];
    }
    return own.stack;
}

static inline struct range_stack *stack_of_thread(void)
{
    return own.stack && rbwp_self_.thread ? own.stack : make_stack();
}

/* What was pushed in an earlier session belongs to none any more. */
static inline void refresh(struct range_stack *stack)
{
    uint32_t session = range_session();
    if (stack->session == session)
        return;
    stack->session = session;
    stack->beyond = 0;
    own.top = stack->open;
    own.pushed = false;
}

static inline uint64_t new_number(void)
{
    if (own.next_number == own.end_number) {
        own.next_number =
            atomic_fetch_add_explicit(&numbers, NUMBERS_AT_ONCE, memory_order_relaxed);
        own.end_number = own.next_number + NUMBERS_AT_ONCE;
    }
    return own.next_number++;
}

/* In whose session a row is about to be written. */
static inline struct range_stack *stack_of_session(void)
{
    struct range_stack *stack = stack_of_thread();
    if (stack)
        refresh(stack);
    return stack;
}

/* ---- rows ------------------------------------------------------------------- */

static void store_cells(uint64_t *cells, const struct open_range *range, uint64_t stop_ticks,
                        struct rbwp_payload payload)
{
    cells[START_COLUMN] = range->start_ticks;
    cells[STOP_COLUMN] = stop_ticks;
    cells[THREAD_COLUMN] = rbwp_extend_thread();
    cells[NAME_COLUMN] = range->name;
    cells[RANGE_COLUMN] = range->number;
    cells[ID_COLUMN] = range->id;
    cells[PARENT_COLUMN] = range->parent;
    cells[KIND_COLUMN] = range->kind;
    cells[PAYLOAD_TYPE_COLUMN] = payload.type;
    cells[PAYLOAD_COLUMN] = payload.bits;
}

static void write_row(struct open_range *range, uint64_t stop_ticks, struct rbwp_payload payload)
{
    struct held_row row;
    bool held = row_hold(table, &row);
    range->cells = row.cells;
    range->fill = row.fill;
    if (!held)
        return;
    store_cells(row.cells, range, stop_ticks, payload);
    row_hold_commit(&row);
}

static __attribute__((noinline)) void write_stop(struct open_range *range, uint64_t stop_ticks)
{
    range->kind |= RBWP_RANGE_STOP_;
    (void)stack_of_session();
    write_row(range, stop_ticks, (struct rbwp_payload){RBWP_PAYLOAD_NONE, 0});
}

void range_complete(struct open_range *range, uint64_t stop_ticks)
{
    const struct held_row row = {.cells = range->cells, .fill = range->fill};
    if (!row_hold_store(table, &row, STOP_COLUMN, stop_ticks))
        write_stop(range, stop_ticks);
}

/* ---- ranges that nest --------------------------------------------------------- */

/* Room for a range that begins; NULL: there is none. */
static inline struct open_range *push(struct range_stack *stack)
{
    refresh(stack);
    own.pushed = true;
    if (__builtin_expect(own.top == own.limit, 0)) {
        stack->beyond++;
        return NULL;
    }
    return ++own.top;
}

static __attribute__((noinline)) void push_slowly(uint64_t name, uint64_t id,
                                                  struct rbwp_payload payload, uint64_t ticks)
{
    struct range_stack *stack = stack_of_thread();
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return;
    struct open_range *range = push(stack);
    if (range) {
        range->start_ticks = ticks;
        range->name = name;
        range->number = new_number();
        range->id = id;
        range->parent = range[-1].number;
        range->kind = RBWP_RANGE_PUSHED;
        write_row(range, 0, payload);
        row_hold_keep(table, HELD_RANGES);
    }
    rbwp_leave_(self);
    if (!range)
        rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
}

/* In such an order that few values are needed at the same time. */
static inline void push_at(struct own_ranges *mine, struct held_place *place, uint64_t name,
                           uint64_t id, struct rbwp_payload payload, uint64_t ticks)
{
    uint64_t *restrict cells = row_hold_take(place);
    struct open_range *restrict range = ++mine->top;
    cells[START_COLUMN] = range->start_ticks = ticks;
    cells[NAME_COLUMN] = range->name = name;
    cells[ID_COLUMN] = range->id = id;
    cells[PAYLOAD_TYPE_COLUMN] = payload.type;
    cells[PAYLOAD_COLUMN] = payload.bits;
    cells[STOP_COLUMN] = 0;
    cells[KIND_COLUMN] = range->kind = RBWP_RANGE_PUSHED;
    cells[THREAD_COLUMN] = row_hold_own.thread_id;
    cells[RANGE_COLUMN] = range->number = mine->next_number++;
    cells[PARENT_COLUMN] = range->parent = range[-1].number;
    range->cells = cells;
    range->fill = place->fill;
    mine->pushed = true;
    row_hold_count(place);
}

/* A place with room in it has had a row in this session, and before that one the stack was made and
 * refreshed. */
void rbwp_range_push_(uint64_t name, uint64_t id, struct rbwp_payload payload, uint64_t ticks)
{
    struct own_ranges *mine = &own;
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_enter_(self, 1))
        return;
    struct held_place *place = row_hold_own.place[HELD_RANGES];
    bool plain =
        place && place->left && mine->top != mine->limit && mine->next_number != mine->end_number;
    if (__builtin_expect(plain, 1))
        push_at(mine, place, name, id, payload, ticks);
    rbwp_leave_(self);
    if (__builtin_expect(!plain, 0))
        push_slowly(name, id, payload, ticks);
}

/* One that is none has its place in the stack, too, so that its pop ends no other. */
static void enter(struct open_range *range, const struct rbwp_range_carried *carried,
                  uint64_t ticks)
{
    *range = (struct open_range){.start_ticks = ticks,
                                 .name = carried->name,
                                 .id = carried->id,
                                 .parent = carried->range,
                                 .kind = RBWP_RANGE_CARRIED};
    if (!carried->range)
        return;
    range->number = new_number();
    write_row(range, 0, (struct rbwp_payload){RBWP_PAYLOAD_NONE, 0});
}

void rbwp_range_enter_(const struct rbwp_range_carried *carried, uint64_t ticks)
{
    struct range_stack *stack = stack_of_thread();
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return;
    struct open_range *range = push(stack);
    if (range)
        enter(range, carried, ticks);
    rbwp_leave_(self);
    if (!range)
        rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
}

static __attribute__((noinline)) void pop_slowly(uint64_t ticks)
{
    struct range_stack *stack = own.stack ? stack_of_thread() : NULL;
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return;
    refresh(stack);
    const bool none = own.top == stack->open, stray = own.pushed && none;
    if (stack->beyond)
        stack->beyond--;
    else if (!none && (own.top--)->number)
        range_complete(own.top + 1, ticks);
    rbwp_leave_(self);
    if (stray)
        rbwp_extend_loss(RBWP_LOSS_STRAY_END, 1);
}

/* Its row is held: it was pushed in this session. The first of the stack has none, and where it is
 * full, others may have had no room. */
void rbwp_range_pop_(uint64_t ticks)
{
    struct own_ranges *mine = &own;
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_enter_(self, 1))
        return;
    const struct held_place *place = row_hold_own.place[HELD_RANGES];
    bool plain = place && mine->top != mine->limit && mine->top->fill == place->fill;
    if (__builtin_expect(plain, 1))
        __atomic_store_n((mine->top--)->cells + STOP_COLUMN, ticks, __ATOMIC_RELAXED);
    rbwp_leave_(self);
    if (__builtin_expect(!plain, 0))
        pop_slowly(ticks);
}

static const struct open_range *innermost(void)
{
    const struct range_stack *stack = own.stack;
    return stack && own.top != stack->open && stack->session == range_session() ? own.top : NULL;
}

uint64_t rbwp_range_current_(void)
{
    const struct open_range *range = innermost();
    return range ? range->number : 0;
}

void rbwp_range_carry_(struct rbwp_range_carried *carried_out)
{
    const struct open_range *range = innermost();
    if (range)
        *carried_out = (struct rbwp_range_carried){range->number, range->name, range->id};
}

/* ---- single rows ---------------------------------------------------------------- */

bool range_write(struct open_range *range, uint64_t stop_ticks, struct rbwp_payload payload)
{
    struct range_stack *stack = stack_of_thread();
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return false;
    refresh(stack);
    range->number = new_number();
    range->parent = own.top->number;
    write_row(range, stop_ticks, payload);
    rbwp_leave_(self);
    return true;
}

void rbwp_range_mark_(uint64_t name, uint64_t id, struct rbwp_payload payload, uint64_t ticks)
{
    struct open_range mark = {
        .start_ticks = ticks, .name = name, .id = id, .kind = RBWP_RANGE_MARK};
    (void)range_write(&mark, ticks, payload);
}

uint64_t rbwp_range_name(const char *name)
{
    uint64_t number;
    (void)!rbwp_name_intern(name, strlen(name), &number);
    return number;
}
