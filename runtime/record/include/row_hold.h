/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_hold.h - rows that are written when something begins and completed when it ends, for parts
 * built upon the recorder. Not installed: it has not settled.
 *
 * Such a row is in FILE.live like any other when row_hold_commit has returned. Until its chunk is
 * handed over (it is full, memory is scarce, the session ends) its thread may still store into it.
 *
 * The calls belong between rbwp_enter_ and rbwp_leave_ (rbwp_record.h), on an attached thread.
 */
#ifndef ROW_HOLD_H
#define ROW_HOLD_H

#include "rbwp_rows.h"

/* As rbwp_table_register, for a table whose times rows give as ticks (rbwp_now_ticks), 0 for none:
 * they become times of the session's line when the row goes to the file. For who is the only one to
 * write rows of this name, before the first. */
RBWP_MUST_USE enum rbwp_status row_hold_register(const struct rbwp_schema *schema,
                                                 unsigned *table_out);

struct held_row {
    uint64_t *cells;
    uint64_t fill;         /* of the chunk, other than that of any chunk before or after; 0: none */
    uint64_t *rows, count; /* where FILE.live says how many rows there are, and with this one */
};

/* Where a thread writes the rows of one table. Inside the library: the part of it that the inline
 * calls below need. */
struct held_place {
    uint64_t *next;      /* where the next row goes */
    uint64_t fill;       /* of the chunk, as above; HELD_BY_NONE without one */
    uint64_t *live_rows; /* where FILE.live says how many rows there are */
    uint64_t rows;       /* how many there are */
    uint32_t left;       /* rows that the chunk has room for; 0 without one */
    uint32_t columns;
};
#define HELD_BY_NONE UINT64_MAX

/* The calling thread's places for the tables that are written most, and the thread's id: at hand
 * without going through what the thread has. */
enum held_table { HELD_RANGES, HELD_QUEUED, HELD_ARGUMENTS, HELD_COUNTERS, HELD_TABLES };
struct held_own {
    struct held_place *place[HELD_TABLES]; /* NULL: not asked for since the thread was attached */
    uint64_t thread_id;
};
extern _Thread_local struct held_own row_hold_own __attribute__((tls_model("initial-exec")));
/* Puts it there, if the thread has written a row of the table. */
void row_hold_keep(unsigned table, enum held_table as);
/* The next row of a place that has some left: all its cells are to be stored before the commit. */
static inline uint64_t *row_hold_take(struct held_place *place)
{
    uint64_t *cells = place->next;
    place->next = cells + place->columns;
    place->left--;
    return cells;
}
static inline void row_hold_count_rows(struct held_place *place, uint32_t rows)
{
    place->rows += rows;
    __atomic_store_n(place->live_rows, place->rows, __ATOMIC_RELEASE);
}
static inline void row_hold_count(struct held_place *place)
{
    row_hold_count_rows(place, 1);
}

/* Room for a row: all its cells are to be stored, then it is committed. As rbwp_row_add. False: it
 * is lost, and held by nobody. */
bool row_hold(unsigned table, struct held_row *row_out);
static inline void row_hold_commit(const struct held_row *row)
{
    __atomic_store_n(row->rows, row->count, __ATOMIC_RELEASE);
}
/* Stores a cell of a row of this thread. False: the row has gone on its way. */
bool row_hold_store(unsigned table, const struct held_row *row, unsigned column, uint64_t cell);

#endif /* ROW_HOLD_H */
