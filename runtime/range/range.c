/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c - ranges that nest, thread by thread.
 *
 * The row is written when the range begins and held (row_hold.h): its end stores one cell. Where
 * the row has gone to the file by then, as that of a range around thousands of others has, another
 * row of the same range tells the stop.
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
    const void *thread; /* of rbwp_self_, when the rest was looked at */
    uint64_t thread_id;
    uint64_t next_number, end_number; /* of ranges: this thread's own, taken many at once */
    uint32_t session;                 /* in which the ranges were pushed */
    uint32_t depth, beyond;           /* beyond: that are open and had no room */
    bool pushed;                      /* in this session */
    struct open_range open[RBWP_RANGES_NESTED_MAX];
};

static _Thread_local struct range_stack *own_stack __attribute__((tls_model("initial-exec")));
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static unsigned table;                     /* 0: could not be made known */
static _Atomic uint32_t session_count = 1; /* counts their ends */
static _Atomic uint64_t numbers = 1;

/* ---- once ------------------------------------------------------------------- */

static void at_thread_exit(void *stack)
{
    own_stack = NULL;
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
    if (!own_stack) {
        struct range_stack *made = malloc(sizeof *made);
        if (!made || pthread_setspecific(exit_key, made) != 0) {
            free(made);
            return NULL;
        }
        memset(made, 0, offsetof(struct range_stack, open));
        own_stack = made;
    }
    own_stack->thread = self->thread;
    own_stack->thread_id = rbwp_extend_thread();
    return own_stack;
}

static inline struct range_stack *stack_of_thread(void)
{
    struct range_stack *stack = own_stack;
    return stack && stack->thread && stack->thread == rbwp_self_.thread ? stack : make_stack();
}

/* What was pushed in an earlier session belongs to none any more. */
static inline void refresh(struct range_stack *stack)
{
    uint32_t session = range_session();
    if (stack->session == session)
        return;
    stack->session = session;
    stack->depth = stack->beyond = 0;
    stack->pushed = false;
}

static inline uint64_t new_number(struct range_stack *stack)
{
    if (stack->next_number == stack->end_number) {
        stack->next_number =
            atomic_fetch_add_explicit(&numbers, NUMBERS_AT_ONCE, memory_order_relaxed);
        stack->end_number = stack->next_number + NUMBERS_AT_ONCE;
    }
    return stack->next_number++;
}

/* ---- rows ------------------------------------------------------------------- */

static inline void write_row(struct open_range *range, uint64_t thread_id, uint64_t stop_ticks,
                             struct rbwp_payload payload)
{
    if (!row_hold(table, &range->row))
        return;
    uint64_t *cells = range->row.cells;
    cells[START_COLUMN] = range->start_ticks;
    cells[STOP_COLUMN] = stop_ticks;
    cells[THREAD_COLUMN] = thread_id;
    cells[NAME_COLUMN] = range->name;
    cells[RANGE_COLUMN] = range->number;
    cells[ID_COLUMN] = range->id;
    cells[PARENT_COLUMN] = range->parent;
    cells[KIND_COLUMN] = range->kind;
    cells[PAYLOAD_TYPE_COLUMN] = payload.type;
    cells[PAYLOAD_COLUMN] = payload.bits;
    row_hold_commit(&range->row);
}

static __attribute__((noinline)) void write_stop(struct open_range *range, uint64_t stop_ticks)
{
    range->kind |= RBWP_RANGE_STOP_;
    write_row(range, rbwp_extend_thread(), stop_ticks, (struct rbwp_payload){RBWP_PAYLOAD_NONE, 0});
}

void range_complete(struct open_range *range, uint64_t stop_ticks)
{
    if (!row_hold_store(table, &range->row, STOP_COLUMN, stop_ticks))
        write_stop(range, stop_ticks);
}

/* ---- ranges that nest --------------------------------------------------------- */

/* Room for a range that begins; NULL: there is none. */
static inline struct open_range *push(struct range_stack *stack)
{
    refresh(stack);
    stack->pushed = true;
    if (__builtin_expect(stack->depth == RBWP_RANGES_NESTED_MAX, 0)) {
        stack->beyond++;
        return NULL;
    }
    return &stack->open[stack->depth++];
}

void rbwp_range_push_(uint64_t name, uint64_t id, struct rbwp_payload payload, uint64_t ticks)
{
    struct range_stack *stack = stack_of_thread();
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return;
    struct open_range *range = push(stack);
    if (range) {
        range->start_ticks = ticks;
        range->name = name;
        range->number = new_number(stack);
        range->id = id;
        range->parent = stack->depth > 1 ? range[-1].number : 0;
        range->kind = RBWP_RANGE_PUSHED;
        write_row(range, stack->thread_id, 0, payload);
    }
    rbwp_leave_(self);
    if (!range)
        rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
}

/* One that is none has its place in the stack, too, so that its pop ends no other. */
static void enter(struct range_stack *stack, struct open_range *range,
                  const struct rbwp_range_carried *carried, uint64_t ticks)
{
    *range = (struct open_range){.start_ticks = ticks,
                                 .name = carried->name,
                                 .id = carried->id,
                                 .parent = carried->range,
                                 .kind = RBWP_RANGE_CARRIED};
    if (!carried->range)
        return;
    range->number = new_number(stack);
    write_row(range, stack->thread_id, 0, (struct rbwp_payload){RBWP_PAYLOAD_NONE, 0});
}

void rbwp_range_enter_(const struct rbwp_range_carried *carried, uint64_t ticks)
{
    struct range_stack *stack = stack_of_thread();
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return;
    struct open_range *range = push(stack);
    if (range)
        enter(stack, range, carried, ticks);
    rbwp_leave_(self);
    if (!range)
        rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
}

void rbwp_range_pop_(uint64_t ticks)
{
    struct range_stack *stack = own_stack ? stack_of_thread() : NULL;
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return;
    refresh(stack);
    const bool stray = stack->pushed && !stack->depth;
    if (stack->beyond)
        stack->beyond--;
    else if (stack->depth && stack->open[--stack->depth].number)
        range_complete(&stack->open[stack->depth], ticks);
    rbwp_leave_(self);
    if (stray)
        rbwp_extend_loss(RBWP_LOSS_STRAY_END, 1);
}

static const struct open_range *innermost(void)
{
    const struct range_stack *stack = own_stack;
    return stack && stack->depth && stack->session == range_session()
               ? &stack->open[stack->depth - 1]
               : NULL;
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
    range->number = new_number(stack);
    range->parent = stack->depth ? stack->open[stack->depth - 1].number : 0;
    write_row(range, stack->thread_id, stop_ticks, payload);
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
