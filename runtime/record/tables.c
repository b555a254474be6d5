/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

#include "live.h"
#include "live_relog.h"
#include "on_load.h"
#include "table_schema.h"
#include "test_point.h"
#include "text_hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA_BYTES_MAX (64u << 10) /* an entry of the live file's log */
#define NAMES_AT_ONCE 1024u          /* in a block of names */
#define NAME_BYTES_AT_ONCE (1u << 20)

/* Guards all below, but where it says otherwise. Only the live file's lock is taken inside it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct row_table *_Atomic tables[RBWP_TABLES_REGISTERED_MAX]; /* by number - 1 */
static uint32_t table_count;
static struct rbwp_text *names; /* by number - 1; the texts never move */
static uint32_t name_room;
static _Atomic uint32_t name_count; /* read without the lock */
static uint64_t name_bytes;
static uint32_t *places; /* numbers of names by their hash, 0 = free; a power of two of them */
static uint32_t place_count;
static bool in_session;

static uint32_t names_written; /* the file has them; the writer thread's */

/* A fork waits for who holds the lock, so that the child finds all whole. */
static void lock_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void unlock_in_child(void)
{
    in_session = false;
    pthread_mutex_unlock(&lock);
}

ON_LOAD static void prepare_for_forks(void)
{
    pthread_atfork(lock_before_fork, unlock_in_parent, unlock_in_child);
}

/* ---- the live file. Locked, and only during a session. -------------------------------------- */

static void log_schema(const struct rbwp_schema *schema)
{
    struct buffer bytes = {0};
    schema_encode(schema, &bytes);
    if (!bytes.failed)
        live_log(LIVE_SCHEMA, bytes.bytes, bytes.count, NULL, 0);
    else
        live_count_unlogged(LIVE_SCHEMA, 1);
    buffer_free(&bytes);
}

static void log_name(uint32_t number)
{
    const struct rbwp_text *name = &names[number - 1];
    live_log(LIVE_NAME, &number, sizeof number, name->text, name->bytes);
}

static void log_all(void)
{
    for (uint32_t i = 0; i < table_count; i++)
        log_schema(tables[i]->schema);
    for (uint32_t number = 1; number <= name_count; number++)
        log_name(number);
}

void tables_log(void)
{
    pthread_mutex_lock(&lock);
    if (in_session)
        log_all();
    pthread_mutex_unlock(&lock);
}

void tables_begin_session(void)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < table_count; i++) {
        tables[i]->rows = 0;
        tables[i]->written = false;
    }
    names_written = 0;
    in_session = true;
    log_all();
    pthread_mutex_unlock(&lock);
}

void tables_end_session(void)
{
    pthread_mutex_lock(&lock);
    in_session = false;
    pthread_mutex_unlock(&lock);
}

/* ---- tables --------------------------------------------------------------------------------- */

struct row_table *tables_find(unsigned table)
{
    /* acquire: pairs with the release in add_table */
    return table - 1 < RBWP_TABLES_REGISTERED_MAX
               ? atomic_load_explicit(&tables[table - 1], memory_order_acquire)
               : NULL;
}

static bool is_same(const struct rbwp_schema *a, const struct rbwp_schema *b)
{
    struct buffer a_bytes = {0}, b_bytes = {0};
    schema_encode(a, &a_bytes);
    schema_encode(b, &b_bytes);
    bool same = !a_bytes.failed && !b_bytes.failed && a_bytes.count == b_bytes.count &&
                memcmp(a_bytes.bytes, b_bytes.bytes, a_bytes.count) == 0;
    buffer_free(&a_bytes);
    buffer_free(&b_bytes);
    return same;
}

/* Takes the schema over, unless there is one of its name. Locked. */
static enum rbwp_status add_table(struct rbwp_schema **schema, unsigned *table_out)
{
    for (uint32_t i = 0; i < table_count; i++) {
        const struct rbwp_schema *known = tables[i]->schema;
        if (known->name_bytes != (*schema)->name_bytes ||
            memcmp(known->name, (*schema)->name, known->name_bytes) != 0)
            continue;
        (*schema)->table = i + 1;
        *table_out = i + 1;
        return is_same(known, *schema) ? RBWP_OK : RBWP_E_BUSY;
    }
    if (table_count == RBWP_TABLES_REGISTERED_MAX)
        return RBWP_E_LIMIT;
    struct row_table *table = calloc(1, sizeof *table);
    if (!table)
        return RBWP_E_MEMORY;
    (*schema)->table = table_count + 1;
    table->schema = *schema;
    *schema = NULL;
    if (in_session)
        log_schema(table->schema);
    atomic_store_explicit(&tables[table_count++], table, memory_order_release);
    *table_out = table_count;
    return RBWP_OK;
}

static bool has_only_cells(const struct rbwp_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (schema->columns[i].type == RBWP_COLUMN_BYTES ||
            schema->columns[i].type == RBWP_COLUMN_ROW)
            return false;
    return true;
}

static size_t bytes_of(const struct rbwp_schema *schema)
{
    size_t bytes = SCHEMA_HEAD_BYTES + schema->name_bytes;
    for (uint32_t i = 0; i < schema->column_count; i++)
        bytes += SCHEMA_COLUMN_BYTES + schema->columns[i].name_bytes +
                 (size_t)schema->columns[i].unit_bytes;
    return bytes;
}

enum rbwp_status rbwp_table_register(const struct rbwp_schema *schema, unsigned *table_out)
{
    struct rbwp_schema numbered = *schema;
    numbered.table = 1; /* any: R44 wants one */
    *table_out = 0;
    if (!schema_is_valid(&numbered))
        return RBWP_E_INVALID;
    if (!has_only_cells(schema))
        return RBWP_E_UNSUPPORTED;
    if (bytes_of(schema) > SCHEMA_BYTES_MAX)
        return RBWP_E_LIMIT;
    struct rbwp_schema *own = schema_copy(&numbered);
    if (!own)
        return RBWP_E_MEMORY;
    pthread_mutex_lock(&lock);
    enum rbwp_status status = add_table(&own, table_out);
    pthread_mutex_unlock(&lock);
    free(own);
    if (status != RBWP_OK)
        *table_out = 0;
    live_relog_if_due();
    return status;
}

/* ---- names ---------------------------------------------------------------------------------- */

uint64_t tables_last_name(void)
{
    return atomic_load_explicit(&name_count, memory_order_acquire);
}

static uint64_t hash_of(const char *text, size_t bytes)
{
    uint64_t hash = text_hash(TEXT_HASH_FIRST, text, bytes);
    return hash ^ hash >> 32;
}

/* Where the number of this name is, or is to be put. There is a free place. Locked. */
static uint32_t *place_of(const char *text, size_t bytes)
{
    for (uint64_t at = hash_of(text, bytes);; at++) {
        uint32_t *place = &places[at & (place_count - 1)];
        if (*place == 0)
            return place;
        const struct rbwp_text *name = &names[*place - 1];
        if (name->bytes == bytes && (bytes == 0 || memcmp(name->text, text, bytes) == 0))
            return place;
    }
}

/* Room for one more name; at least half of the places stay free. Locked. */
static bool grow(void)
{
    if (name_count < name_room)
        return true;
    uint32_t room = name_room ? 2 * name_room : 64;
    uint32_t *more_places = calloc(2 * (size_t)room, sizeof *more_places);
    struct rbwp_text *more = more_places ? realloc(names, room * sizeof *more) : NULL;
    if (!more) {
        free(more_places);
        return false;
    }
    names = more;
    name_room = room;
    free(places);
    places = more_places;
    place_count = 2 * room;
    for (uint32_t i = 0; i < name_count; i++)
        *place_of(names[i].text, names[i].bytes) = i + 1;
    return true;
}

/* Locked. */
static enum rbwp_status find_or_add(const char *text, size_t bytes, uint64_t *number_out)
{
    if (!grow())
        return RBWP_E_MEMORY;
    uint32_t *place = place_of(text, bytes);
    *number_out = *place;
    if (*place)
        return RBWP_OK;
    if (name_count == RBWP_NAMES_INTERNED_MAX || name_bytes + bytes > RBWP_NAMES_BYTES_MAX)
        return RBWP_E_LIMIT;
    char *copy = malloc(bytes + 1);
    if (!copy)
        return RBWP_E_MEMORY;
    if (bytes)
        memcpy(copy, text, bytes);
    uint32_t number = name_count + 1;
    names[number - 1] = (struct rbwp_text){copy, (uint32_t)bytes};
    TEST_POINT("tables: a name half added");
    name_bytes += bytes;
    if (in_session)
        log_name(number);
    *place = number;
    atomic_store_explicit(&name_count, number, memory_order_release);
    *number_out = number;
    return RBWP_OK;
}

enum rbwp_status rbwp_name_intern(const char *name, size_t bytes, uint64_t *number_out)
{
    *number_out = 0;
    if (bytes > RBWP_NAME_BYTES_MAX)
        return RBWP_E_LIMIT;
    pthread_mutex_lock(&lock);
    enum rbwp_status status = find_or_add(name, bytes, number_out);
    pthread_mutex_unlock(&lock);
    live_relog_if_due();
    return status;
}

/* ---- into the file. The writer thread's. ------------------------------------------------------
 */

/* The next names that the file does not have; how many. */
static uint32_t next_names(struct rbwp_text *next)
{
    uint32_t count = 0;
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock); /* the array may move */
    while (count < NAMES_AT_ONCE && names_written + count < name_count &&
           bytes < NAME_BYTES_AT_ONCE) {
        next[count] = names[names_written + count];
        bytes += next[count++].bytes;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

static enum rbwp_status write_names(struct rbwp_writer *writer)
{
    struct rbwp_text next[NAMES_AT_ONCE];
    uint32_t count;
    enum rbwp_status status = RBWP_OK;
    while (status == RBWP_OK && names_written < tables_last_name() &&
           (count = next_names(next)) > 0) {
        status = rbwp_writer_add_names(writer, names_written + 1, next, count);
        if (status == RBWP_OK)
            names_written += count;
    }
    return status;
}

enum rbwp_status tables_write(struct row_table *table, struct rbwp_writer *writer)
{
    enum rbwp_status status = write_names(writer);
    if (status == RBWP_OK && !table->written) {
        status = rbwp_writer_add_schema(writer, table->schema);
        table->written = status == RBWP_OK;
    }
    return status;
}
