/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_table.h - threads by id, in order of first appearance.
 *
 * Ids are arbitrary 64-bit values, and a hostile file can invent one in every
 * few bytes, so the table takes at most THREAD_TABLE_MAX of them.
 */
#ifndef THREAD_TABLE_H
#define THREAD_TABLE_H

#include "rbwp_format.h"
#include "thread_map.h"

#define THREAD_TABLE_MAX (1u << 18)

struct thread_entry {
    struct rbwp_thread_info info;
    int64_t first_ns, last_ns; /* of its records, if it has any */
};

/* Zeros are an empty table. */
struct thread_table {
    struct thread_map map;
    struct thread_entry *entries; /* by its numbers */
    uint32_t room;
};

/* NULL if the table does not have it. Entries move when one is added. */
struct thread_entry *thread_table_find(const struct thread_table *table, uint64_t thread_id);
/* The same, and adds it; NULL when there is no room or no memory. */
struct thread_entry *thread_table_add(struct thread_table *table, uint64_t thread_id);
void thread_table_free(struct thread_table *table);

#endif /* THREAD_TABLE_H */
