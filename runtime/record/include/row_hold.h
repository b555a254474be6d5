/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_hold.h - rows that are written when something begins and completed when it ends, for parts
 * built upon the recorder. Not installed: it has not settled.
 *
 * Such a row is in FILE.live like any other when row_hold_commit has returned. Until its chunk is
 * handed over (it is full, memory is scarce, the session ends) its thread may still store into it.
 *
 * The calls belong between rbwp_enter_ and rbwp_leave_ (rbwp_record.h), on an attached thread, but
 * for row_hold_stray.
 */
#ifndef ROW_HOLD_H
#define ROW_HOLD_H

#include "rbwp_rows.h"
#include "rule_watch.h"

/* As rbwp_table_register, for a table whose times rows give as ticks (rbwp_now_ticks), 0 for none:
 * they become times of the session's line when the row goes to the file. For who is the only one to
 * write rows of this name, before the first. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_extend_row_register(const struct rbwp_schema *schema,
                                                                 unsigned *table_out);

struct held_row {
    uint64_t *cells;       /* all 0 as long as nothing is stored */
    uint64_t fill;         /* of the chunk, other than that of any chunk before or after; 0: none */
    uint64_t *rows, count; /* where FILE.live says how many rows there are, and with this one */
};

#define HELD_BY_NONE UINT64_MAX

/* What a thread-local place begins as. */
#define ROW_PLACE_NONE                                                                             \
    {                                                                                              \
        .fill = HELD_BY_NONE                                                                       \
    }

/* Puts the calling thread's place for a table that it has written a row of into own, where inlined
 * calls find it. watch: the rules that its rows may meet. leaves is called on the thread before it
 * sends held rows on their way; NULL: nobody asks. */
void row_hold_keep(unsigned table, struct rbwp_place_ *own, enum rule_watch watch,
                   void (*leaves)(void));
/* Takes it back: the thread's next row goes the slow way, too. */
void row_hold_slowly(unsigned table);

/* Room for a row: its cells, which are 0, are stored, then it is committed. As rbwp_row_add. False:
 * it is lost, and held by nobody. */
bool row_hold(unsigned table, struct held_row *row_out);
/* The same from another library: an exported name is called less directly. */
RBWP_API bool rbwp_extend_row_hold(unsigned table, struct held_row *row_out);
static inline void row_hold_commit(const struct held_row *row)
{
    __atomic_store_n(row->rows, row->count, __ATOMIC_RELEASE);
}
/* Stores a cell of a row of this thread. False: the row has gone on its way. */
bool row_hold_store(unsigned table, const struct held_row *row, unsigned column, uint64_t cell);

/* Calls it while no session can end, on a thread that is not attached and outside of recording
 * calls; not at all if none records. It takes no lock. */
void row_hold_stray(void (*call)(const void *context), const void *context);

#endif /* ROW_HOLD_H */
