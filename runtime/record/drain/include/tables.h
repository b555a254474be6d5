/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h - tables and names that the process knows (rbwp_rows.h), and their way into the files of
 * its sessions.
 *
 * Both are never forgotten, and their numbers in a file are those in the process. A file gets
 * them when they are needed first, on the writer thread; the live file when they become known.
 */
#ifndef TABLES_H
#define TABLES_H

#include "buffer.h"
#include "rbwp_rows.h"

struct row_table {
    struct rbwp_schema *schema; /* never changes; its number is its place */
    struct buffer encoded;      /* the same as bytes, likewise */
    uint64_t tick_columns;      /* bit c: cells of column c are ticks; set before the first row */
    /* Of the session in progress. */
    uint64_t rows; /* that were given numbers; guarded by the drain's lock */
    bool written;  /* the file has its schema; the writer thread's */
};

/* NULL if there is none. No lock. */
struct row_table *tables_find(unsigned table);
/* The highest number of a name. No lock. */
uint64_t tables_last_name(void);

/* As rbwp_name_intern, for who must not allocate: *text becomes NULL if it is a new name, and stays
 * where it is for good. RBWP_E_MEMORY: the room that tables_make_name_room made, for so many names,
 * is used up. */
enum rbwp_status tables_name_that_stays(char **text, size_t bytes, uint64_t *number_out);
bool tables_make_name_room(uint32_t count);

/* Clears what is known of a session, and logs all to the live file. */
void tables_begin_session(void);
void tables_end_session(void);
/* All of it into the live file, during a session. */
void tables_log(void);

/* What the file needs before rows of the table: names, and its schema. The writer thread's. As
 * rbwp_writer_add_opaque. */
enum rbwp_status tables_write(struct row_table *table, struct rbwp_writer *writer);

#endif /* TABLES_H */
