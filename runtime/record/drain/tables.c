/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

#include "bytes.h"
#include "hash.h"
#include "live.h"
#include "in_process.h"
#include "table_schema.h"
#include "test_point.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA_BYTES_MAX (64u << 10) /* an entry of the live file's log */
#define NAMES_AT_ONCE 1024u          /* in a block of names */
#define NAME_BYTES_AT_ONCE (1u << 20)

/* Guards all below, but where it says otherwise. Only the live file's lock is taken inside it, and
 * nothing is allocated or freed: a fork may wait for it while an allocator is locked, whose own
 * handler before forks has run then. */
static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
static struct row_table *_Atomic tables[RBWP_TABLES_REGISTERED_MAX]; /* by number - 1 */
static uint32_t table_count;
static struct rbwp_text *names; /* by number - 1; the texts never move */
static uint32_t name_room;
static _Atomic uint32_t name_count; /* read without the lock */
static uint64_t name_bytes;
/* Numbers of names by their hash, 0 = free; a power of two of them. No index_map.h, which allocates
 * when it adds. */
static uint32_t *places;
static uint32_t place_count;
static bool tables_in_session;

static uint32_t names_written; /* the file has them; the writer thread's */

/* A fork waits for who holds the lock, so that the child finds all whole. */
static void lock_before_fork(void)
{
    pthread_mutex_lock(&tables_lock);
}

static void unlock_in_parent(void)
{
    pthread_mutex_unlock(&tables_lock);
}

static void unlock_in_child(void)
{
    tables_in_session = false;
    pthread_mutex_unlock(&tables_lock);
}

ON_FORK(7, lock_before_fork, unlock_in_parent, unlock_in_child)

/* ---- the live file. Locked, and only during a session. -------------------------------------- */

static void log_schema(const struct row_table *table)
{
    live_log(LIVE_SCHEMA, table->encoded.bytes, table->encoded.count, NULL, 0);
}

static void log_name(uint32_t number)
{
    const struct rbwp_text *name = &names[number - 1];
    live_log(LIVE_NAME, &number, sizeof number, name->text, name->bytes);
}

static void log_all(void)
{
    for (uint32_t i = 0; i < table_count; i++)
        log_schema(tables[i]);
    for (uint32_t number = 1; number <= name_count; number++)
        log_name(number);
}

void tables_log(void)
{
    pthread_mutex_lock(&tables_lock);
    if (tables_in_session)
        log_all();
    pthread_mutex_unlock(&tables_lock);
}

void tables_begin_session(void)
{
    pthread_mutex_lock(&tables_lock);
    for (uint32_t i = 0; i < table_count; i++) {
        tables[i]->rows = 0;
        tables[i]->written = false;
    }
    names_written = 0;
    tables_in_session = true;
    log_all();
    pthread_mutex_unlock(&tables_lock);
}

void tables_end_session(void)
{
    pthread_mutex_lock(&tables_lock);
    tables_in_session = false;
    pthread_mutex_unlock(&tables_lock);
}

/* ---- tables --------------------------------------------------------------------------------- */

struct row_table *tables_find(unsigned table)
{
    /* acquire: pairs with the release in add_table */
    return table - 1 < RBWP_TABLES_REGISTERED_MAX
               ? atomic_load_explicit(&tables[table - 1], memory_order_acquire)
               : NULL;
}

static void free_table(struct row_table *table)
{
    if (!table)
        return;
    free(table->schema);
    buffer_free(&table->encoded);
    free(table);
}

static struct row_table *tables_make_table(const struct rbwp_schema *schema)
{
    struct row_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->schema = schema_copy(schema);
    if (table->schema)
        schema_encode(table->schema, &table->encoded);
    if (table->schema && !table->encoded.failed)
        return table;
    free_table(table);
    return NULL;
}

/* But for their numbers, which come first. */
static bool tables_is_same(const struct buffer *a, const struct buffer *b)
{
    return a->count == b->count && memcmp(a->bytes + 4, b->bytes + 4, a->count - 4) == 0;
}

/* Takes the table over, unless there is one of its name. Locked. */
static enum rbwp_status add_table(struct row_table **own, unsigned *table_out)
{
    struct row_table *table = *own;
    for (uint32_t i = 0; i < table_count; i++) {
        const struct rbwp_schema *known = tables[i]->schema;
        if (known->name_bytes != table->schema->name_bytes ||
            memcmp(known->name, table->schema->name, known->name_bytes) != 0)
            continue;
        *table_out = i + 1;
        return tables_is_same(&tables[i]->encoded, &table->encoded) ? RBWP_OK : RBWP_E_BUSY;
    }
    if (table_count == RBWP_TABLES_REGISTERED_MAX)
        return RBWP_E_LIMIT;
    table->schema->table = table_count + 1;
    store_le32(table->encoded.bytes, table_count + 1);
    *own = NULL;
    if (tables_in_session)
        log_schema(table);
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

static size_t tables_bytes_of(const struct rbwp_schema *schema)
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
    if (tables_bytes_of(schema) > SCHEMA_BYTES_MAX)
        return RBWP_E_LIMIT;
    struct row_table *own = tables_make_table(&numbered);
    if (!own)
        return RBWP_E_MEMORY;
    pthread_mutex_lock(&tables_lock);
    enum rbwp_status status = add_table(&own, table_out);
    pthread_mutex_unlock(&tables_lock);
    free_table(own);
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

static uint64_t tables_hash_of(const char *text, size_t bytes)
{
    uint64_t hash = text_hash(TEXT_HASH_FIRST, text, bytes);
    return hash ^ hash >> 32;
}

/* Where the number of this name is, or is to be put. There is a free place. Locked. */
static uint32_t *tables_place_of(const char *text, size_t bytes)
{
    for (uint64_t at = tables_hash_of(text, bytes);; at++) {
        uint32_t *place = &places[at & (place_count - 1)];
        if (*place == 0)
            return place;
        const struct rbwp_text *name = &names[*place - 1];
        if (name->bytes == bytes && (bytes == 0 || memcmp(name->text, text, bytes) == 0))
            return place;
    }
}

/* What a new name needs, allocated ahead. */
struct spare {
    char *text;
    struct rbwp_text *names;
    uint32_t *places;
    uint32_t room;   /* of the names; there are twice as many places */
    uint32_t wanted; /* room to have, 0: none */
};

static void free_arrays(struct spare *spare)
{
    free(spare->names);
    free(spare->places);
    spare->names = NULL;
    spare->places = NULL;
    spare->room = 0;
}

static bool get_memory(struct spare *spare, const char *text, size_t bytes)
{
    if (!spare->text && (spare->text = malloc(bytes + 1)) && bytes)
        memcpy(spare->text, text, bytes);
    if (spare->room < spare->wanted) {
        free_arrays(spare);
        spare->names = calloc(spare->wanted, sizeof *spare->names);
        spare->places = calloc(2 * (size_t)spare->wanted, sizeof *spare->places);
        spare->room = spare->names && spare->places ? spare->wanted : 0;
    }
    return spare->text && spare->room >= spare->wanted;
}

/* At least half of the places stay free. The arrays before are the caller's to free. Locked. */
static void tables_grow(struct spare *spare)
{
    struct spare before = {.names = names, .places = places};
    if (name_count)
        memcpy(spare->names, names, name_count * sizeof *names);
    names = spare->names;
    places = spare->places;
    name_room = spare->room;
    place_count = 2 * name_room;
    spare->names = before.names;
    spare->places = before.places;
    spare->room = 0;
    for (uint32_t i = 0; i < name_count; i++)
        *tables_place_of(names[i].text, names[i].bytes) = i + 1;
}

/* RBWP_E_MEMORY: more of it is to be had ahead. Locked. */
static enum rbwp_status find_or_add(const char *text, size_t bytes, struct spare *spare,
                                    uint64_t *number_out)
{
    *number_out = place_count ? *tables_place_of(text, bytes) : 0;
    if (*number_out)
        return RBWP_OK;
    if (name_count == RBWP_NAMES_INTERNED_MAX || name_bytes + bytes > RBWP_NAMES_BYTES_MAX)
        return RBWP_E_LIMIT;
    spare->wanted = name_count < name_room ? 0 : name_room ? 2 * name_room : 64;
    if (!spare->text || spare->room < spare->wanted)
        return RBWP_E_MEMORY;
    if (spare->wanted)
        tables_grow(spare);
    uint32_t number = name_count + 1;
    names[number - 1] = (struct rbwp_text){spare->text, (uint32_t)bytes};
    spare->text = NULL;
    TEST_POINT("tables: a name half added");
    name_bytes += bytes;
    if (tables_in_session)
        log_name(number);
    *tables_place_of(text, bytes) = number;
    atomic_store_explicit(&name_count, number, memory_order_release);
    *number_out = number;
    return RBWP_OK;
}

enum rbwp_status rbwp_name_intern(const char *name, size_t bytes, uint64_t *number_out)
{
    struct spare spare = {0};
    enum rbwp_status status;
    *number_out = 0;
    if (bytes > RBWP_NAME_BYTES_MAX)
        return RBWP_E_LIMIT;
    do {
        pthread_mutex_lock(&tables_lock);
        status = find_or_add(name, bytes, &spare, number_out);
        pthread_mutex_unlock(&tables_lock);
    } while (status == RBWP_E_MEMORY && get_memory(&spare, name, bytes));
    free(spare.text);
    free_arrays(&spare);
    live_relog_if_due();
    return status;
}

enum rbwp_status tables_name_that_stays(char **text, size_t bytes, uint64_t *number_out)
{
    struct spare spare = {.text = *text};
    pthread_mutex_lock(&tables_lock);
    enum rbwp_status status = find_or_add(*text, bytes, &spare, number_out);
    pthread_mutex_unlock(&tables_lock);
    *text = spare.text;
    return status;
}

bool tables_make_name_room(uint32_t count)
{
    struct spare spare = {0};
    bool has_room;
    do {
        pthread_mutex_lock(&tables_lock);
        for (spare.wanted = name_room ? name_room : 64; spare.wanted - name_count < count;)
            spare.wanted *= 2;
        if (spare.wanted > name_room && spare.room >= spare.wanted)
            tables_grow(&spare);
        has_room = name_room - name_count >= count;
        pthread_mutex_unlock(&tables_lock);
    } while (!has_room && get_memory(&spare, "", 0));
    free(spare.text);
    free_arrays(&spare);
    return has_room;
}

/* ---- into the file. The writer thread's. ------------------------------------------------------
 */

/* The next names that the file does not have; how many. */
static uint32_t next_names(struct rbwp_text *next)
{
    uint32_t count = 0;
    uint64_t bytes = 0;
    pthread_mutex_lock(&tables_lock); /* the array may move */
    while (count < NAMES_AT_ONCE && names_written + count < name_count &&
           bytes < NAME_BYTES_AT_ONCE) {
        next[count] = names[names_written + count];
        bytes += next[count++].bytes;
    }
    pthread_mutex_unlock(&tables_lock);
    return count;
}

static enum rbwp_status tables_write_names(struct rbwp_writer *writer)
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
    enum rbwp_status status = tables_write_names(writer);
    if (status == RBWP_OK && !table->written) {
        status = rbwp_writer_add_schema(writer, table->schema);
        table->written = status == RBWP_OK;
    }
    return status;
}
