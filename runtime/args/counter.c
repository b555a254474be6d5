/* SPDX-License-Identifier: Apache-2.0 */
/* counter.c - counters by name, and the rows of the table "counter". */
#include "rbwp_counter.h"

#include "known_tables.h"
#include "record_extend.h"

#include <pthread.h>
#include <string.h>

static const struct rbwp_schema counter_schema = KNOWN_SCHEMA(counter);

struct counter {
    uint64_t name, unit;
};

static struct counter counters[RBWP_COUNTERS_MAX];
static unsigned count;                                   /* those before it do not change */
static unsigned counter_table;                           /* 0: not known yet */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards who adds one */

static _Thread_local struct rbwp_place_ counter_place RBWP_TLS_MODEL_ = ROW_PLACE_NONE;
static pthread_once_t counter_once = PTHREAD_ONCE_INIT;

/* In a forked child whoever held the lock does not exist. */
static void counter_forget_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
}

static void counter_prepare(void)
{
    pthread_atfork(NULL, NULL, counter_forget_in_child);
}

/* Locked. */
static enum rbwp_status find_or_add(struct counter wanted, unsigned *id_out)
{
    unsigned known = count;
    for (unsigned i = 0; i < known; i++)
        if (counters[i].name == wanted.name && counters[i].unit == wanted.unit) {
            *id_out = i + 1;
            return RBWP_OK;
        }
    if (known == RBWP_COUNTERS_MAX)
        return RBWP_E_LIMIT;
    counters[known] = wanted;
    __atomic_store_n(&count, known + 1, __ATOMIC_RELEASE);
    *id_out = known + 1;
    return RBWP_OK;
}

enum rbwp_status rbwp_counter_register(const char *name, const char *unit, unsigned *id_out)
{
    struct counter wanted = {0};
    *id_out = 0;
    if (!name || !name[0])
        return RBWP_E_INVALID;
    enum rbwp_status status = rbwp_name_intern(name, strlen(name), &wanted.name);
    if (status == RBWP_OK && unit && unit[0])
        status = rbwp_name_intern(unit, strlen(unit), &wanted.unit);
    if (status != RBWP_OK)
        return status;
    pthread_once(&counter_once, counter_prepare);
    pthread_mutex_lock(&lock);
    if (!counter_table)
        status = rbwp_extend_row_register(&counter_schema, &counter_table);
    if (status == RBWP_OK)
        status = find_or_add(wanted, id_out);
    pthread_mutex_unlock(&lock);
    return status;
}

static inline void counter_fill(uint64_t *cells, const struct counter *counter, int64_t value,
                                uint64_t ticks)
{
    cells[AT_counter_time] = ticks;
    cells[AT_counter_counter] = counter->name;
    cells[AT_counter_value] = (uint64_t)value;
    cells[AT_counter_unit] = counter->unit;
}

struct watched {
    uint64_t name;
    int64_t value;
};

static void watch(const void *context)
{
    const struct watched *watched = context;
    rule_watch_counter(watched->name, watched->value);
}

/* A thread that is not attached, or its first row of a session or chunk. */
static __attribute__((noinline)) void counter_write_slowly(const struct counter *counter,
                                                           int64_t value, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    uint64_t cells[COLUMNS_counter];
    counter_fill(cells, counter, value, ticks);
    rbwp_row_add_(counter_table, cells);
    if (!self->thread && rule_watch_wants(RULE_WATCH_COUNTERS))
        row_hold_stray(watch, &(struct watched){counter->name, value});
    if (!self->thread || !rbwp_enter_(self, 2))
        return;
    row_hold_keep(counter_table, &counter_place, RULE_WATCH_COUNTERS, NULL);
    if (rule_watch_wants(RULE_WATCH_COUNTERS)) {
        rule_watch_counter(counter->name, value);
        row_hold_slowly(counter_table);
    }
    rbwp_leave_(self);
}

void rbwp_counter_(unsigned id, int64_t value, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    /* acquire: pairs with the store that makes one known */
    if (id - 1 >= __atomic_load_n(&count, __ATOMIC_ACQUIRE)) {
        rbwp_extend_loss(RBWP_LOSS_RANGE, 1);
        return;
    }
    const struct counter *counter = &counters[id - 1];
    if (!rbwp_enter_(self, 2))
        return;
    struct rbwp_place_ *place = &counter_place;
    bool plain = rbwp_place_has_room_(place);
    if (__builtin_expect(plain, 1)) {
        counter_fill(rbwp_place_take_(place, COLUMNS_counter), counter, value, ticks);
        rbwp_place_count_(place, 1);
    }
    rbwp_leave_(self);
    if (__builtin_expect(!plain, 0))
        counter_write_slowly(counter, value, ticks);
}
