/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c - ranges that nest, thread by thread, and such as any thread may stop.
 *
 * The row is written when the range begins and held (record_extend.h): its end stores one cell.
 * Where the row has gone to the file by then, as that of a range around thousands of others has,
 * another row of the same range has the stop.
 *
 * What nearly every push and pop needs stands in line, with one test for each thing that may be
 * otherwise; all the rest is a call, which begins anew.
 */
#include "known_tables.h"
#include "rbwp_range.h"
#include "record_extend.h"
#include "test_point.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS_AT_ONCE 1024u

static const struct rbwp_schema range_schema = KNOWN_SCHEMA(range);
_Static_assert((unsigned)COLUMNS_range == RBWP_RANGE_COLUMNS_, "a cell a column");
_Static_assert(RBWP_RANGE_PUSHED == 0 && RBWP_PAYLOAD_NONE == 0, "a push in line stores neither");

/* From 1 on; the first one is none, and the last stands for those that had no room. */
struct range_stack {
    uint32_t session; /* in which the ranges were pushed */
    uint32_t beyond;  /* that are open and had no room */
    struct rbwp_open_range_ open[1 + RBWP_RANGES_NESTED_MAX + 1];
};

/* What calls alone need of it. */
struct own_stack {
    struct range_stack *stack; /* NULL: none yet */
    uint64_t end_number;       /* behind the numbers of this thread's own, taken many at once */
};
/* Of a thread without a stack. Its row is held nowhere, not even where no row is. */
static struct rbwp_open_range_ no_range;
_Thread_local struct rbwp_own_ranges_ rbwp_own_ranges_ = {
    .top = &no_range, .limit = &no_range, .place = ROW_PLACE_NONE};
static _Thread_local struct own_stack own RBWP_TLS_MODEL_;
static pthread_once_t range_once = PTHREAD_ONCE_INIT;
static pthread_key_t range_exit_key;
static unsigned table;                     /* 0: could not be made known */
static _Atomic uint32_t session_count = 1; /* counts their ends */
static _Atomic uint64_t numbers = 1;

/* In a forked child: no started range is open. */
static void started_forget(void);

/* ---- once ------------------------------------------------------------------- */

static void range_at_thread_exit(void *stack)
{
    rbwp_own_ranges_.top = rbwp_own_ranges_.limit = &no_range; /* the place goes with detach */
    rbwp_own_ranges_.next_number = 0;
    own = (struct own_stack){0};
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

static void range_prepare(void)
{
    unsigned number;
    if (pthread_key_create(&range_exit_key, range_at_thread_exit) == 0 &&
        rbwp_extend_at_end(session_ended) == RBWP_OK && pthread_atfork(NULL, NULL, forked) == 0 &&
        rbwp_extend_row_register(&range_schema, &number) == RBWP_OK)
        table = number;
}

/* Counts sessions. */
static uint32_t range_session(void)
{
    return atomic_load_explicit(&session_count, memory_order_relaxed);
}

/* ---- threads ---------------------------------------------------------------- */

/* Without memory the range is not recorded, nor its end. */
static __attribute__((noinline)) struct range_stack *make_stack(void)
{
    const struct rbwp_self_ *self = &rbwp_self_;
    pthread_once(&range_once, range_prepare);
    if (!table || (!self->thread && rbwp_thread_attach(NULL) != RBWP_OK))
        return NULL;
    if (!own.stack) {
        struct range_stack *made = malloc(sizeof *made);
        if (!made || pthread_setspecific(range_exit_key, made) != 0) {
            free(made);
            return NULL;
        }
        memset(made, 0, offsetof(struct range_stack, open) + sizeof made->open[0]);
        own.stack = made;
        rbwp_own_ranges_.top = rbwp_own_ranges_.limit = made->open;
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
    rbwp_own_ranges_.top = rbwp_own_ranges_.limit = stack->open;
}

static void have_numbers(uint64_t count)
{
    if (own.end_number - rbwp_own_ranges_.next_number >= count)
        return;
    count += NUMBERS_AT_ONCE;
    uint64_t first = atomic_fetch_add_explicit(&numbers, count, memory_order_relaxed);
    rbwp_own_ranges_.next_number = first;
    own.end_number = first + count;
}

static uint64_t new_number(void)
{
    have_numbers(1);
    return rbwp_own_ranges_.next_number++;
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

static void store_cells(uint64_t *cells, const struct rbwp_open_range_ *range, uint64_t stop_ticks,
                        struct rbwp_payload payload)
{
    cells[RBWP_RANGE_COLUMN_START_] = range->start_ticks;
    cells[RBWP_RANGE_COLUMN_STOP_] = stop_ticks;
    cells[RBWP_RANGE_COLUMN_THREAD_] = rbwp_extend_thread();
    cells[RBWP_RANGE_COLUMN_NAME_] = range->name;
    cells[RBWP_RANGE_COLUMN_RANGE_] = range->number;
    cells[RBWP_RANGE_COLUMN_ID_] = range->id;
    cells[RBWP_RANGE_COLUMN_PARENT_] = range->parent;
    cells[RBWP_RANGE_COLUMN_KIND_] = range->kind;
    cells[RBWP_RANGE_COLUMN_PAYLOAD_TYPE_] = payload.type;
    cells[RBWP_RANGE_COLUMN_PAYLOAD_] = payload.bits;
}

static void copy_cells(struct rbwp_open_range_ *range)
{
    const uint64_t *cells = range->cells;
    range->start_ticks = cells[RBWP_RANGE_COLUMN_START_];
    range->name = cells[RBWP_RANGE_COLUMN_NAME_];
    range->id = cells[RBWP_RANGE_COLUMN_ID_];
    range->parent = cells[RBWP_RANGE_COLUMN_PARENT_];
    range->kind = (uint32_t)cells[RBWP_RANGE_COLUMN_KIND_];
}

static bool is_held(const struct rbwp_open_range_ *range)
{
    return range->fill == rbwp_own_ranges_.place.fill;
}

/* The rows of the thread's open ranges are about to go: what they say is wanted when they end. */
static void keep_open(void)
{
    for (struct rbwp_open_range_ *range = rbwp_own_ranges_.top;
         own.stack && range > own.stack->open; range--)
        if (is_held(range))
            copy_cells(range);
}

/* After it a push may do without a call, as long as the place has room. */
static void write_row(struct rbwp_open_range_ *range, uint64_t stop_ticks,
                      struct rbwp_payload payload)
{
    struct held_row row;
    bool held = row_hold(table, &row);
    range->cells = row.cells;
    range->fill = row.fill;
    if (!held)
        return;
    store_cells(row.cells, range, stop_ticks, payload);
    row_hold_commit(&row);
    row_hold_keep(table, &rbwp_own_ranges_.place, RULE_WATCH_NONE, keep_open);
    have_numbers(rbwp_place_room_(&rbwp_own_ranges_.place));
}

static __attribute__((noinline)) void write_stop(struct rbwp_open_range_ *range,
                                                 uint64_t stop_ticks)
{
    range->kind |= RBWP_RANGE_STOP_;
    (void)stack_of_session();
    write_row(range, stop_ticks, (struct rbwp_payload){RBWP_PAYLOAD_NONE, 0});
}

/* Its stop. Between rbwp_enter_ and rbwp_leave_, any attached thread. */
static void range_complete(struct rbwp_open_range_ *range, uint64_t stop_ticks)
{
    const struct held_row row = {.cells = range->cells, .fill = range->fill};
    if (!row_hold_store(table, &row, RBWP_RANGE_COLUMN_STOP_, stop_ticks))
        write_stop(range, stop_ticks);
}

/* ---- ranges that nest --------------------------------------------------------- */

/* Room for a range that begins; NULL: there is none. */
static struct rbwp_open_range_ *range_push(struct range_stack *stack)
{
    struct rbwp_open_range_ *last = &stack->open[RBWP_RANGES_NESTED_MAX];
    refresh(stack);
    rbwp_own_ranges_.limit = last;
    if (rbwp_own_ranges_.top < last) {
        (++rbwp_own_ranges_.top)->fill = 0; /* what it holds is of another range */
        return rbwp_own_ranges_.top;
    }
    if (stack->beyond++ == 0) {
        last[1] = (struct rbwp_open_range_){.number = last->number};
        rbwp_own_ranges_.top = last + 1;
    }
    return NULL;
}

/* A row that is open, or would be had it found room. */
static const struct rbwp_open_range_ *innermost(void)
{
    const struct range_stack *stack = own.stack;
    if (!stack || rbwp_own_ranges_.top == stack->open || stack->session != range_session())
        return NULL;
    return stack->beyond ? rbwp_own_ranges_.top - 1 : rbwp_own_ranges_.top;
}

void rbwp_range_push_(uint64_t name, uint64_t id, struct rbwp_payload payload, uint64_t ticks)
{
    struct range_stack *stack = stack_of_thread();
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return;
    struct rbwp_open_range_ *range = range_push(stack);
    if (range) {
        range->start_ticks = ticks;
        range->name = name;
        range->number = new_number();
        range->id = id;
        range->parent = range[-1].number;
        range->kind = RBWP_RANGE_PUSHED;
        write_row(range, 0, payload);
    }
    rbwp_leave_(self);
    if (!range)
        rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
}

/* One that is none has its place in the stack, too, so that its pop ends no other. */
static void range_enter(struct rbwp_open_range_ *range, const struct rbwp_range_carried *carried,
                        uint64_t ticks)
{
    *range = (struct rbwp_open_range_){.start_ticks = ticks,
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
    struct rbwp_open_range_ *range = range_push(stack);
    if (range)
        range_enter(range, carried, ticks);
    rbwp_leave_(self);
    if (!range)
        rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
}

void rbwp_range_pop_(uint64_t ticks)
{
    struct range_stack *stack = own.stack ? stack_of_thread() : NULL;
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return;
    refresh(stack);
    const bool none = rbwp_own_ranges_.top == stack->open,
               stray = rbwp_own_ranges_.limit != stack->open && none;
    if (stack->beyond)
        rbwp_own_ranges_.top -= --stack->beyond == 0;
    else if (!none && (rbwp_own_ranges_.top--)->number)
        range_complete(rbwp_own_ranges_.top + 1, ticks);
    rbwp_leave_(self);
    if (stray)
        rbwp_extend_loss(RBWP_LOSS_STRAY_END, 1);
}

uint64_t rbwp_range_current_(void)
{
    const struct rbwp_open_range_ *range = innermost();
    return range ? range->number : 0;
}

void rbwp_range_carry_(struct rbwp_range_carried *carried_out)
{
    const struct rbwp_open_range_ *range = innermost();
    if (!range)
        return;
    struct rbwp_open_range_ copy = *range;
    if (is_held(range))
        copy_cells(&copy);
    *carried_out = (struct rbwp_range_carried){copy.number, copy.name, copy.id};
}

/* ---- single rows ---------------------------------------------------------------- */

/* Writes the row of a range that begins, with a number of its own, inside the thread's innermost
 * one. False: nothing is recorded. */
static bool range_write(struct rbwp_open_range_ *range, uint64_t stop_ticks,
                        struct rbwp_payload payload)
{
    struct range_stack *stack = stack_of_thread();
    struct rbwp_self_ *self = &rbwp_self_;
    if (!stack || !rbwp_enter_(self, 1))
        return false;
    refresh(stack);
    range->number = new_number();
    range->parent = rbwp_own_ranges_.top->number;
    write_row(range, stop_ticks, payload);
    rbwp_leave_(self);
    return true;
}

void rbwp_range_mark_(uint64_t name, uint64_t id, struct rbwp_payload payload, uint64_t ticks)
{
    struct rbwp_open_range_ mark = {
        .start_ticks = ticks, .name = name, .id = id, .kind = RBWP_RANGE_MARK};
    (void)range_write(&mark, ticks, payload);
}

uint64_t rbwp_range_name(const char *name)
{
    uint64_t number;
    (void)!rbwp_name_intern(name, strlen(name), &number);
    return number;
}

/* ---- ranges that any thread may stop: found by their number, under a lock -------------------- */

enum { LISTS = RBWP_RANGES_STARTED_MAX / 4 }; /* so that none gets long */

struct started {
    struct started *next;
    struct rbwp_open_range_ range;
    uint32_t session;
};

/* Guards what follows; nothing is taken inside it. */
static pthread_mutex_t range_lock = PTHREAD_MUTEX_INITIALIZER;
static struct started *lists[LISTS];
static uint32_t count;
static uint32_t cleared_for; /* session: the lists hold no ranges of earlier ones */

/* Who held the lock is not here, and may have been in the middle: what it knew is left alone. */
static void started_forget(void)
{
    pthread_mutex_init(&range_lock, NULL);
    for (int i = 0; i < LISTS; i++)
        lists[i] = NULL;
    count = 0;
}

static void free_list(struct started *list)
{
    while (list) {
        struct started *next = list->next;
        free(list);
        list = next;
    }
}

/* What is left of earlier sessions was never stopped. Locked. */
static struct started *take_stale(uint32_t session)
{
    struct started *stale = NULL;
    TEST_POINT("range: looks through all that were started");
    cleared_for = session;
    for (int i = 0; i < LISTS; i++)
        for (struct started **at = &lists[i]; *at;) {
            struct started *one = *at;
            if (one->session == session) {
                at = &one->next;
                continue;
            }
            *at = one->next;
            one->next = stale;
            stale = one;
            count--;
        }
    return stale;
}

static bool range_keep(struct started *one)
{
    struct started *stale = NULL;
    pthread_mutex_lock(&range_lock);
    if (count == RBWP_RANGES_STARTED_MAX && cleared_for != one->session)
        stale = take_stale(one->session);
    bool room = count < RBWP_RANGES_STARTED_MAX;
    if (room) {
        struct started **list = &lists[one->range.number % LISTS];
        one->next = *list;
        *list = one;
        count++;
    }
    pthread_mutex_unlock(&range_lock);
    free_list(stale);
    return room;
}

static struct started *range_take(uint64_t number)
{
    pthread_mutex_lock(&range_lock);
    struct started **at = &lists[number % LISTS];
    while (*at && (*at)->range.number != number)
        at = &(*at)->next;
    struct started *one = *at;
    if (one) {
        *at = one->next;
        count--;
    }
    pthread_mutex_unlock(&range_lock);
    return one;
}

uint64_t rbwp_range_start_(uint64_t name, uint64_t id, struct rbwp_payload payload, uint64_t ticks)
{
    struct started *one = malloc(sizeof *one);
    if (!one) {
        rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
        return 0;
    }
    one->session = range_session();
    one->range = (struct rbwp_open_range_){
        .start_ticks = ticks, .name = name, .id = id, .kind = RBWP_RANGE_STARTED};
    if (!range_write(&one->range, 0, payload)) {
        free(one);
        return 0;
    }
    const uint64_t number = one->range.number;
    if (range_keep(one))
        return number;
    free(one);
    rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
    return 0;
}

void rbwp_range_stop_(uint64_t range, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct started *one = range ? range_take(range) : NULL;
    if (!one) {
        rbwp_extend_loss(RBWP_LOSS_STRAY_END, range != 0);
        return;
    }
    if (one->session == range_session() && (self->thread || rbwp_thread_attach(NULL) == RBWP_OK) &&
        rbwp_enter_(self, 1)) {
        range_complete(&one->range, ticks);
        rbwp_leave_(self);
    }
    free(one);
}
