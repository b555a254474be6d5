/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_rows.h - write tables of one's own into the profile (SPEC.md, section 9.2).
 *
 *     static const struct rbwp_column columns[] = {
 *         RBWP_COLUMN(TIME, START, "time", ""),
 *         RBWP_COLUMN(NAME, LABEL, "queue", ""),
 *         RBWP_COLUMN(U64, COUNTER, "depth", "jobs"),
 *     };
 *     static const struct rbwp_schema schema = RBWP_SCHEMA("queue_depth", 1, columns);
 *
 *     rbwp_table_register(&schema, &table);                  once
 *     rbwp_name_intern("compaction", 10, &queue);            once per name
 *     uint64_t cells[] = {(uint64_t)rbwp_now_ns(), queue, depth};
 *     rbwp_row_add(table, cells);                            per row
 *
 * Tables and names are known to the whole process and valid in every session; a file gets the
 * schema of each table that it has rows of, and the names, before their first use. Readers show
 * tables that they never heard of by the roles of their columns.
 *
 * What survives: a row is in FILE.live when rbwp_row_add or rbwp_rows_commit has returned, so that
 * a program that is killed loses none of those; rbwp repair puts them into the file. Lost with the
 * process are rows that were reserved and not committed, and rows in memory that FILE.live had
 * no room for on its disk (rbwp repair says how many there can have been). A crash of the machine
 * may lose what the system had not written.
 *
 * Rows may have half of the memory that the session has for records (rbwp_session.h, cap_bytes).
 * Where there is none left, rbwp_row_add does what the session does for records, at_cap: it
 * waits for the writer, or drops the row. What is committed in bulk never waits. What finds no room
 * is lost and counted (RBWP_LOSS_ROWS). Each table that a thread writes to costs it one chunk of
 * that memory: 128 KiB, less where the cap is small.
 *
 * Without a session the calls are one predicted branch; with RBWP_DISABLE defined before the
 * include, those that write rows are no code at all. A session that writes nothing beyond version 1
 * (strict) takes no rows.
 *
 * Threads: any thread. Each attached thread (rbwp_record.h) has its own place to write to, without
 * a lock. Rows of threads that are not attached go to one place that they share, under a lock,
 * and do not say which thread made them. Rows of a thread keep their order. Not from signal
 * handlers.
 */
#ifndef RBWP_ROWS_H
#define RBWP_ROWS_H

#include "rbwp_record.h"
#include "rbwp_table.h"

RBWP_C_BEGIN_

/* ---- tables and names: any time, with or without a session ------------------ */

#define RBWP_TABLES_REGISTERED_MAX 1024u

/*
 * Makes a table known; copied. schema->table does not count: *table_out is the number to write rows
 * with, which the file has too. The same schema again has the same number. RBWP_E_INVALID: it
 * breaks R44; RBWP_E_UNSUPPORTED: it has columns of bytes, which the row encoder of rbwp_table.h
 * alone writes (intern texts that recur), or of rows (their numbers are known to the file alone:
 * give rows ids of their own, with the role for that); RBWP_E_BUSY: there is a table of that name
 * with other columns; RBWP_E_LIMIT, RBWP_E_MEMORY.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_table_register(const struct rbwp_schema *schema,
                                                            unsigned *table_out);

#define RBWP_NAMES_INTERNED_MAX (1u << 20)
#define RBWP_NAMES_BYTES_MAX (16u << 20) /* of all of them together */

/*
 * The number of a name, for cells of type RBWP_COLUMN_NAME; the same bytes have the same number as
 * long as the process lives. Takes a lock and looks the name up: keep the number. RBWP_E_LIMIT (too
 * long: RBWP_NAME_BYTES_MAX; or too many), RBWP_E_MEMORY: *number_out is 0, which is no name.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_name_intern(const char *name, size_t bytes,
                                                         uint64_t *number_out);

/* The cell of a column of type RBWP_COLUMN_F64. */
static inline uint64_t rbwp_cell_f64(double value)
{
    union {
        double value;
        uint64_t bits;
    } cell = {value};
    return cell.bits;
}

/* ---- rows -------------------------------------------------------------------- */

/* Inside the library; behind the test for a session. */
RBWP_API void rbwp_row_add_(unsigned table, const uint64_t *cells);
RBWP_API void rbwp_rows_reserve_(unsigned table, uint32_t rows_wanted,
                                 struct rbwp_row_room *room_out);
RBWP_API void rbwp_rows_commit_(unsigned table, uint32_t rows);

/*
 * Where a thread writes the rows of a table whose rows inlined calls write: one for each such
 * table, thread-local, which the table's own part of the library has. Rows that have room are cells
 * behind each other, all 0 before they are stored; a row is there when it is counted in FILE.live.
 */
struct rbwp_place_ {
    uint64_t *next;      /* where the next row goes */
    uint64_t *live_rows; /* where FILE.live says how many rows there are */
    uint64_t rows;       /* how many there are */
    uint64_t
        rows_max;  /* that the chunk has room for; 0 without one, or to send rows the slow way */
    uint64_t fill; /* of the chunk, other than that of any before or after; UINT64_MAX: none */
    uint64_t thread_number; /* whose it is, if it has room */
};

/* Between rbwp_enter_ and rbwp_leave_, all of them. */
static inline bool rbwp_place_has_room_(const struct rbwp_place_ *place)
{
    return __builtin_expect(place->rows < __atomic_load_n(&place->rows_max, __ATOMIC_RELAXED), 1);
}
static inline uint64_t rbwp_place_room_(const struct rbwp_place_ *place)
{
    uint64_t rows_max = __atomic_load_n(&place->rows_max, __ATOMIC_RELAXED);
    return rows_max > place->rows ? rows_max - place->rows : 0;
}
static inline uint64_t *rbwp_place_take_(struct rbwp_place_ *place, unsigned columns)
{
    uint64_t *cells = place->next;
    place->next = cells + columns;
    return cells;
}
static inline void rbwp_place_count_(struct rbwp_place_ *place, unsigned more)
{
    uint64_t rows = place->rows + more, *live_rows = place->live_rows;
    place->rows = rows;
    __atomic_store_n(live_rows, rows, __ATOMIC_RELEASE);
}

#ifndef RBWP_DISABLE

/*
 * Writes one row: cells has as many as the table has columns. Times are on rbwp_now_ns's line. A
 * number that no name has is written as 0. A table that was not registered: counted as misuse
 * (RBWP_LOSS_RANGE).
 */
static inline void rbwp_row_add(unsigned table, const uint64_t *cells)
{
    if (rbwp_is_on_(1))
        rbwp_row_add_(table, cells);
}

/*
 * In bulk: room for rows, to be filled column by column, room.cells[c][0..room.rows-1] for column
 * c. room.rows may be less than was asked for, and is 0 without a session, and on a thread that is
 * not attached (counted, RBWP_LOSS_NOT_ATTACHED). The room belongs to the thread and stays valid
 * until it detaches or reserves rows of the same table again, whatever becomes of the session.
 * Commit says how many of its rows were filled.
 */
static inline void rbwp_rows_reserve(unsigned table, uint32_t rows_wanted,
                                     struct rbwp_row_room *room_out)
{
    room_out->cells = 0;
    room_out->rows = 0;
    if (rbwp_is_on_(1))
        rbwp_rows_reserve_(table, rows_wanted, room_out);
}

static inline void rbwp_rows_commit(unsigned table, uint32_t rows)
{
    if (rows && rbwp_is_on_(1))
        rbwp_rows_commit_(table, rows);
}

#else /* RBWP_DISABLE: the same calls, no code */

static inline void rbwp_row_add(unsigned table, const uint64_t *cells)
{
    (void)table, (void)cells;
}
static inline void rbwp_rows_reserve(unsigned table, uint32_t rows_wanted,
                                     struct rbwp_row_room *room_out)
{
    (void)table, (void)rows_wanted;
    room_out->cells = 0;
    room_out->rows = 0;
}
static inline void rbwp_rows_commit(unsigned table, uint32_t rows)
{
    (void)table, (void)rows;
}

#endif /* RBWP_DISABLE */

RBWP_C_END_
#endif /* RBWP_ROWS_H */
