/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_table.h - items found by a key of up to three words, in the order in which they came.
 *
 * An item begins with its key. Pointers to items are valid until the next add or keep.
 */
#ifndef KEY_TABLE_H
#define KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key {
    uint64_t word[3];
};

struct key_table {
    size_t item_bytes;
    uint32_t items_max;
    void *items;
    uint32_t count, room;
    uint32_t *cells; /* numbers of items + 1, by hash; twice as many as room */
};

void *key_table_at(const struct key_table *table, uint32_t number);
/* NULL: there is none. */
void *key_table_find(const struct key_table *table, const struct key *key);
/* The item, made of zeroes if there is none. NULL: no room or no memory for it. */
void *key_table_add(struct key_table *table, const struct key *key);
/* Leaves the items of which keep says so. */
void key_table_keep(struct key_table *table, bool (*keep)(void *context, const void *item),
                    void *context);
void key_table_clear(struct key_table *table);
void key_table_free(struct key_table *table);

#endif /* KEY_TABLE_H */
