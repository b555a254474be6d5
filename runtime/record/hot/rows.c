/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - the calls that write rows.
 *
 * A row is copied into its chunk inside a recording call, so that a session
 * which ends waits for it as for any record; room for many rows is memory of
 * the thread's own, which no session takes away while it is being filled.
 */
#include "rows.h"

#include "chunk_pool.h"
#include "clock.h"
#include "drain.h"
#include "in_process.h"
#include "recording.h"
#include "record_extend.h"
#include "stray_rows.h"
#include "tables.h"
#include "test_point.h"
#include "thread_registry.h"
#include "thread_rows.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_ROWS 512u /* that can be reserved at once */
/* With more than so many chunks of rows in use, who fills them in bulk helps to encode. */
#define CHUNKS_AHEAD 8u

/* Guards the places of threads that are not attached; only the live file's log and the drain's lock
 * are taken inside it. */
static pthread_mutex_t strays_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic uint64_t fills; /* of chunks with rows, by any thread */

/* Of tables that threads share (rows_add_shared): more than one, for who has it may be off its CPU.
 */
#define SHARED_PARTS 8u
static struct shared_part {
    _Atomic bool taken; /* never waited for; may stay so until recording ends (longjmp) */
    struct row_place place;
} shared[SHARED_TABLES * SHARED_PARTS];

/* In a forked child whoever held the lock does not exist, and may have been in the middle. */
static void forget_strays(void)
{
    pthread_mutex_init(&strays_lock, NULL);
    memset(&thread_rows_strays, 0, sizeof thread_rows_strays);
    for (unsigned i = 0; i < SHARED_TABLES * SHARED_PARTS; i++)
        shared[i] = (struct shared_part){
            .place = {.columns = shared[i].place.columns, .table = shared[i].place.table}};
}

ON_FORK(4, NULL, NULL, forget_strays)

/* ---- handing over ------------------------------------------------------------------------- */

/* The chunk goes to the drain, or back if it is empty. */
static void rows_publish(struct thread *thread, struct row_place *place)
{
    struct chunk *chunk = place->chunk;
    if (chunk && place->leaves && rbwp_self_.thread == thread)
        place->leaves();
    thread_rows_let_go(place);
    if (!chunk)
        return;
    chunk->rows = (uint32_t)place->held->rows;
    /* With a row that was begun and never counted, as its call was left by longjmp. */
    chunk->used = (uint32_t)(place->held->next - chunk->words);
    TEST_POINT("rows: chunk not yet in the queue");
    if (chunk->rows) {
        chunk_rows_published(recording_now->pool);
        drain_publish(recording_now->drain, chunk);
        return;
    }
    chunk_put(recording_now->pool, chunk, chunk->used);
    thread_row_chunk_done(thread);
}

void rows_hand_over(struct thread *thread)
{
    for (uint32_t i = 0; i < thread->row_place_count; i++)
        if (thread->row_places[i])
            rows_publish(thread, thread->row_places[i]);
}

void rows_hand_over_strays(void)
{
    pthread_mutex_lock(&strays_lock);
    rows_hand_over(&thread_rows_strays);
    pthread_mutex_unlock(&strays_lock);
    for (unsigned i = 0; i < SHARED_TABLES * SHARED_PARTS; i++) {
        if (shared[i].place.chunk)
            rows_publish(&thread_rows_strays, &shared[i].place);
        shared[i].taken = false;
    }
}

void rows_leave_call(struct thread *thread)
{
    for (uint32_t i = 0; i < thread->row_place_count; i++) {
        const struct row_place *place = thread->row_places[i];
        if (place && place->chunk)
            place->held->next = place->chunk->words + place->held->rows * place->columns;
    }
}

/* ---- places ------------------------------------------------------------------------------- */

/* The thread's first row of a table. NULL, and it is counted, if there is no such table or memory.
 */
static struct row_place *make_place(struct thread *thread, unsigned table, uint32_t rows)
{
    struct row_table *known = tables_find(table);
    struct row_place *place =
        known ? thread_rows_place(thread, table, known, known->schema->column_count) : NULL;
    if (!place)
        thread_lose(thread, known ? RBWP_LOSS_ROWS : RBWP_LOSS_RANGE, known ? rows : 1,
                    rbwp_now_ticks());
    return place;
}

/* NULL: no row of the table was written yet. */
static inline struct row_place *known_place(const struct thread *thread, unsigned table)
{
    return table - 1 < thread->row_place_count ? thread->row_places[table - 1] : NULL;
}

static struct row_place *place_of(struct thread *thread, unsigned table, uint32_t rows)
{
    struct row_place *place = known_place(thread, table);
    return place ? place : make_place(thread, table, rows);
}

/* ---- chunks ------------------------------------------------------------------------------- */

/* As records wait at the cap. */
static enum rbwp_status rows_wait_for_chunk(struct thread *thread, struct chunk **chunk_out)
{
    struct drain *drain = recording_now->drain;
    enum rbwp_status status;
    int64_t waiting_since = 0;
    atomic_store_explicit(&thread->waits, true, memory_order_relaxed);
    do
        status = chunk_get_for_rows(recording_now->pool, false, chunk_out);
    while (status == RBWP_AGAIN && (drain_help(drain) || drain_wait(drain, &waiting_since)));
    atomic_store_explicit(&thread->waits, false, memory_order_relaxed);
    return status;
}

/* Where none is to be had, what the thread has begun is let go, and what waits to be written is
 * made ready here. */
static struct chunk *rows_obtain_chunk(struct thread *thread, bool may_wait)
{
    const struct recording *recording = recording_now;
    struct chunk *chunk = NULL;
    int host_errno = errno, host_cancel = cancel_hold();
    enum rbwp_status status = drain_prepare_rows(recording->drain)
                                  ? chunk_get_for_rows(recording->pool, false, &chunk)
                                  : RBWP_E_MEMORY;
    if (status == RBWP_AGAIN || status == RBWP_E_BUSY) {
        rows_hand_over(thread);
        if (may_wait && recording->at_cap == RBWP_AT_CAP_WAIT)
            (void)rows_wait_for_chunk(thread, &chunk);
        else if (drain_help(recording->drain))
            (void)chunk_get_for_rows(recording->pool, false, &chunk);
    }
    cancel_release(host_cancel);
    errno = host_errno;
    return chunk;
}

static bool begin_chunk(struct thread *thread, struct row_place *place, struct chunk *chunk)
{
    if (!chunk)
        return false;
    atomic_fetch_add_explicit(&thread->chunks, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&thread->row_chunks, 1, memory_order_relaxed);
    chunk->thread = thread;
    chunk->end_ticks = UINT64_MAX;
    chunk->epoch = (uint16_t)clock_epoch();
    chunk_begin_rows(chunk, thread->thread_id, rbwp_now_ticks(), place->table);
    place->chunk = chunk;
    struct rbwp_place_ *held = place->held;
    held->next = chunk->words;
    held->live_rows = &chunk->head->rows;
    held->rows = 0;
    held->fill = atomic_fetch_add_explicit(&fills, 1, memory_order_relaxed) + 1;
    thread_rows_set_max(held, chunk_words(recording_now->pool) / place->columns);
    return true;
}

/* The rows up to place->held->next are whole. A full chunk goes on its way at once, but for one
 * whose last row is held (record_extend.h). */
static inline void commit(struct thread *thread, struct row_place *place, uint32_t rows)
{
    TEST_POINT("rows: stored, not yet counted");
    rbwp_place_count_(place->held, rows);
    if (!rbwp_place_has_room_(place->held))
        rows_publish(thread, place);
}

/* True if there is room for a row; else rows are counted as lost, unless nobody wants them. */
static bool has_room(struct thread *thread, struct row_place *place, uint32_t rows, bool may_wait)
{
    if (rbwp_place_has_room_(place->held))
        return true;
    if (place->chunk) /* its last row was held */
        rows_publish(thread, place);
    if (!recording_is_there())
        return false;
    if (!recording_now->strict && begin_chunk(thread, place, rows_obtain_chunk(thread, may_wait)))
        return true;
    if (!recording_now->strict)
        thread_lose(thread, RBWP_LOSS_ROWS, rows, rbwp_now_ticks());
    return false;
}

/* ---- one row -------------------------------------------------------------------------------- */

/* Not by a loop over the columns that looks at the place each time, as cells may be anywhere. */
static inline void add_to(struct thread *thread, struct row_place *place, const uint64_t *cells)
{
    uint64_t *next = thread_rows_take(place);
    for (uint32_t i = 0, columns = place->columns; i < columns; i++)
        next[i] = cells[i];
    commit(thread, place, 1);
}

static __attribute__((noinline)) void rows_add(struct thread *thread, unsigned table,
                                               const uint64_t *cells)
{
    struct row_place *place = place_of(thread, table, 1);
    if (place && has_room(thread, place, 1, true))
        add_to(thread, place, cells);
}

/* Recording ends for strays with their lock, after the level was cleared. */
static void add_stray(unsigned table, const uint64_t *cells)
{
    int host_cancel = cancel_hold();
    (void)recording_is_there(); /* its start writes rows, too */
    pthread_mutex_lock(&strays_lock);
    /* acquire: pairs with the store that begins the session */
    if (__atomic_load_n(&rbwp_level_, __ATOMIC_ACQUIRE) >= 1)
        rows_add(&thread_rows_strays, table, cells);
    pthread_mutex_unlock(&strays_lock);
    cancel_release(host_cancel);
}

void row_hold_stray(void (*call)(const void *context), const void *context)
{
    int host_cancel = cancel_hold();
    pthread_mutex_lock(&strays_lock);
    /* As above; and none has begun yet in a child that waits for its first record. */
    if (__atomic_load_n(&rbwp_level_, __ATOMIC_ACQUIRE) >= 1 &&
        __atomic_load_n(&recording_now, __ATOMIC_ACQUIRE))
        call(context);
    pthread_mutex_unlock(&strays_lock);
    cancel_release(host_cancel);
}

struct stray_loss {
    enum rbwp_loss_cause cause;
    uint64_t count;
};

static void lose(const void *context)
{
    const struct stray_loss *loss = context;
    thread_lose(&thread_rows_strays, loss->cause, loss->count, rbwp_now_ticks());
}

void rows_lose_stray(enum rbwp_loss_cause cause, uint64_t count)
{
    const struct stray_loss loss = {cause, count};
    row_hold_stray(lose, &loss);
}

bool stray_rows_prepare(const unsigned *tables, unsigned count)
{
    bool all = true;
    pthread_mutex_lock(&strays_lock);
    for (unsigned i = 0; i < count; i++)
        all &= place_of(&thread_rows_strays, tables[i], 1) != NULL;
    pthread_mutex_unlock(&strays_lock);
    return all;
}

bool stray_rows_begin(void)
{
    if (pthread_mutex_trylock(&strays_lock) != 0)
        return false;
    if (__atomic_load_n(&rbwp_level_, __ATOMIC_ACQUIRE) >= 1 &&
        __atomic_load_n(&recording_now, __ATOMIC_ACQUIRE))
        return true;
    pthread_mutex_unlock(&strays_lock);
    return false;
}

void stray_rows_end(void)
{
    pthread_mutex_unlock(&strays_lock);
}

void stray_rows_add(unsigned table, const uint64_t *cells)
{
    struct row_place *place = place_of(&thread_rows_strays, table, 1);
    if (place && has_room(&thread_rows_strays, place, 1, false))
        add_to(&thread_rows_strays, place, cells);
}

void stray_rows_lose(uint64_t count)
{
    thread_lose(&thread_rows_strays, RBWP_LOSS_ROWS, count, rbwp_now_ticks());
}

void rbwp_row_add_(unsigned table, const uint64_t *cells)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!self->thread) {
        add_stray(table, cells);
        return;
    }
    if (!rbwp_enter_(self, 1))
        return;
    struct row_place *place = known_place(self->thread, table);
    if (__builtin_expect(place && rbwp_place_has_room_(place->held), 1))
        add_to(self->thread, place, cells);
    else
        rows_add(self->thread, table, cells);
    rbwp_leave_(self);
}

/* ---- shared ---------------------------------------------------------------------------------- */

/* So many of the process are had whatever the cap is: a thread that begins has its own, too. */
#define SHARED_CHUNKS (SHARED_TABLES * SHARED_PARTS)

void rows_share(enum shared_table at, unsigned table)
{
    struct row_table *known = tables_find(table);
    for (unsigned i = 0; i < SHARED_PARTS; i++) {
        shared[at * SHARED_PARTS + i].place.table = known;
        shared[at * SHARED_PARTS + i].place.columns = known->schema->column_count;
    }
}

static bool begin_shared(struct row_place *place)
{
    struct chunk *chunk = NULL;
    int host_errno = errno, host_cancel = cancel_hold();
    const bool beyond_cap = thread_rows_strays.row_chunks < SHARED_CHUNKS;
    (void)chunk_get_for_rows(recording_now->pool, beyond_cap, &chunk);
    cancel_release(host_cancel);
    errno = host_errno;
    place->held = &place->here;
    return begin_chunk(&thread_rows_strays, place, chunk);
}

bool rows_add_shared(enum shared_table at, const uint64_t *cells)
{
    struct shared_part *part = &shared[at * SHARED_PARTS], *end = part + SHARED_PARTS;
    while (part < end && atomic_exchange_explicit(&part->taken, true, memory_order_acquire))
        part++;
    if (part == end)
        return false;
    const bool room = rbwp_place_has_room_(&part->place.here) || begin_shared(&part->place);
    if (room)
        add_to(&thread_rows_strays, &part->place, cells);
    atomic_store_explicit(&part->taken, false, memory_order_release);
    return room;
}

/* ---- held ------------------------------------------------------------------------------------ */

enum rbwp_status rbwp_extend_row_register(const struct rbwp_schema *schema, unsigned *table_out)
{
    enum rbwp_status status = rbwp_table_register(schema, table_out);
    for (unsigned c = 0; status == RBWP_OK && c < schema->column_count && c < 64; c++)
        if (schema->columns[c].type == RBWP_COLUMN_TIME)
            tables_find(*table_out)->tick_columns |= UINT64_C(1) << c;
    return status;
}

void row_hold_keep(unsigned table, struct rbwp_place_ *own, enum rule_watch watch,
                   void (*leaves)(void))
{
    struct thread *thread = rbwp_self_.thread;
    struct row_place *place = thread ? known_place(thread, table) : NULL;
    if (!place)
        return;
    place->leaves = leaves;
    thread_rows_show(thread, place, own, watch);
}

void row_hold_slowly(unsigned table)
{
    const struct thread *thread = rbwp_self_.thread;
    struct row_place *place = thread ? known_place(thread, table) : NULL;
    if (place)
        thread_rows_hide_one(place);
}

bool row_hold(unsigned table, struct held_row *row_out)
{
    struct thread *thread = rbwp_self_.thread;
    struct row_place *place = known_place(thread, table);
    if (__builtin_expect(!place || !rbwp_place_has_room_(place->held), 0)) {
        *row_out = (struct held_row){0};
        place = place_of(thread, table, 1);
        if (!place || !has_room(thread, place, 1, true))
            return false;
    }
    struct rbwp_place_ *held = place->held;
    row_out->cells = thread_rows_take(place);
    row_out->fill = held->fill;
    row_out->rows = held->live_rows;
    row_out->count = ++held->rows;
    return true;
}

bool rbwp_extend_row_hold(unsigned table, struct held_row *row_out)
{
    return row_hold(table, row_out);
}

bool row_hold_store(unsigned table, const struct held_row *row, unsigned column, uint64_t cell)
{
    const struct row_place *place = known_place(rbwp_self_.thread, table);
    if (!place || place->held->fill != row->fill)
        return false;
    __atomic_store_n(row->cells + column, cell, __ATOMIC_RELAXED);
    return true;
}

/* ---- many ------------------------------------------------------------------------------------ */

/* The pointers of all columns, and the cells behind them. */
static uint64_t **rows_make_room(uint32_t columns)
{
    size_t heads = columns * sizeof(uint64_t *), cells = (size_t)columns * ROOM_ROWS;
    uint64_t **room = malloc(heads + cells * sizeof(uint64_t));
    for (uint32_t i = 0; room && i < columns; i++)
        room[i] = (uint64_t *)(room + columns) + (size_t)i * ROOM_ROWS;
    return room;
}

static void rows_reserve(struct thread *thread, unsigned table, uint32_t rows_wanted,
                         struct rbwp_row_room *room_out)
{
    struct row_place *place = place_of(thread, table, rows_wanted);
    if (!place)
        return;
    if (!place->room && !(place->room = rows_make_room(place->columns))) {
        thread_lose(thread, RBWP_LOSS_ROWS, rows_wanted, rbwp_now_ticks());
        return;
    }
    room_out->cells = place->room;
    room_out->rows = rows_wanted < ROOM_ROWS ? rows_wanted : ROOM_ROWS;
}

void rbwp_rows_reserve_(unsigned table, uint32_t rows_wanted, struct rbwp_row_room *room_out)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!self->thread) {
        stray_calls_add(rbwp_now_ticks());
        return;
    }
    if (rows_wanted == 0 || !rbwp_enter_(self, 1))
        return;
    rows_reserve(self->thread, table, rows_wanted, room_out);
    rbwp_leave_(self);
}

/* Rows of the room, from `from` on, as many as the chunk has room for; how many. */
static uint32_t copy_rows(struct row_place *place, uint32_t from, uint32_t rows)
{
    uint64_t left = rbwp_place_room_(place->held);
    uint32_t count = rows < left ? rows : (uint32_t)left, columns = place->columns;
    for (uint32_t c = 0; c < columns; c++) {
        const uint64_t *cells = place->room[c] + from;
        uint64_t *to = place->held->next + c;
        for (uint32_t i = 0; i < count; i++, to += columns)
            *to = cells[i];
    }
    place->held->next += (size_t)count * columns;
    return count;
}

static void commit_room(struct thread *thread, struct row_place *place, uint32_t rows)
{
    for (uint32_t done = 0; done < rows;) {
        if (!has_room(thread, place, rows - done, false))
            return;
        uint32_t count = copy_rows(place, done, rows - done);
        commit(thread, place, count);
        done += count;
        if (!place->chunk && chunk_pool_rows_in_use(recording_now->pool) > CHUNKS_AHEAD)
            (void)drain_help(recording_now->drain);
    }
}

void rbwp_rows_commit_(unsigned table, uint32_t rows)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    if (!thread || !rbwp_enter_(self, 1))
        return;
    struct row_place *place = known_place(thread, table);
    if (place && place->room)
        commit_room(thread, place, rows < ROOM_ROWS ? rows : ROOM_ROWS);
    rbwp_leave_(self);
}
