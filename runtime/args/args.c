/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.c - the rows of the table "argument". A row names its item by thread and begin: both are at
 * hand where the item is open, so that no clock is read and nothing is kept of the item.
 */
#include "rbwp_args.h"

#include "known_tables.h"
#include "record_extend.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

enum { PIECE_BYTES = 8, PIECES_MAX = RBWP_ARG_TEXT_BYTES_MAX / PIECE_BYTES };

static const struct rbwp_schema argument_schema = KNOWN_SCHEMA(argument);

/* One argument: its first row, and the pieces of a text behind that. */
struct argument {
    uint64_t key;
    unsigned type;
    unsigned rows;
    const uint64_t *values;
};

static _Thread_local struct rbwp_place_ args_place RBWP_TLS_MODEL_ = ROW_PLACE_NONE;
static pthread_once_t args_once = PTHREAD_ONCE_INIT;
static unsigned args_table; /* 0: could not be made known */

static void args_prepare(void)
{
    unsigned number;
    if (rbwp_extend_row_register(&argument_schema, &number) == RBWP_OK)
        args_table = number;
}

uint64_t rbwp_arg_key(const char *name)
{
    uint64_t number = 0;
    if (name)
        (void)!rbwp_name_intern(name, strlen(name), &number);
    return number;
}

static inline void args_fill(uint64_t *cells, uint64_t thread, const struct argument *argument,
                             unsigned row, uint64_t begun_ticks)
{
    cells[AT_argument_begun] = begun_ticks;
    cells[AT_argument_thread] = thread;
    cells[AT_argument_key] = argument->key;
    cells[AT_argument_type] = row ? RBWP_ARG_TEXT_MORE : argument->type;
    cells[AT_argument_value] = argument->values[row];
}

/* The thread's first row of a session, or of a chunk. */
static __attribute__((noinline)) void args_write_slowly(const struct argument *argument,
                                                        uint64_t begun_ticks)
{
    struct held_row row;
    for (unsigned i = 0; i < argument->rows; i++) {
        if (!args_table || !row_hold(args_table, &row))
            return;
        args_fill(row.cells, rbwp_extend_thread(), argument, i, begun_ticks);
        row_hold_commit(&row);
    }
    row_hold_keep(args_table, &args_place, RULE_WATCH_NONE, NULL);
}

/* An item whose chunk was full has gone on to another one; nearly none has. */
static inline uint64_t item_ticks(const struct rbwp_self_ *self)
{
    if (__builtin_expect(self->pending & RBWP_PENDING_HELD_, 0))
        return rbwp_extend_item_ticks();
    return self->base_ticks + (*self->item >> RBWP_EVENT_TIME_SHIFT_);
}

static inline void write_inside(const struct rbwp_self_ *self, const struct argument *argument)
{
    struct rbwp_place_ *place = &args_place;
    uint64_t begun_ticks = item_ticks(self);
    if (__builtin_expect(rbwp_place_room_(place) < argument->rows, 0)) {
        args_write_slowly(argument, begun_ticks);
        return;
    }
    for (unsigned i = 0; i < argument->rows; i++)
        args_fill(rbwp_place_take_(place, COLUMNS_argument), place->thread_number, argument, i,
                  begun_ticks);
    rbwp_place_count_(place, argument->rows);
}

static inline void write_rows(const struct argument *argument)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!args_place.live_rows)
        pthread_once(&args_once, args_prepare);
    if (!rbwp_enter_(self, 2))
        return;
    if (__builtin_expect(self->item != NULL, 1))
        write_inside(self, argument);
    rbwp_leave_(self);
}

void rbwp_arg_(uint64_t key, unsigned type, uint64_t bits)
{
    const struct argument argument = {key, type, 1, &bits};
    write_rows(&argument);
}

static inline uint64_t load_piece(const char *text)
{
    uint64_t piece;
    memcpy(&piece, text, sizeof piece);
    return le64toh(piece);
}

/* The last bytes of a text, at most 8 of them: with those before, where there are so many, as to
 * load them one by one takes longer. No byte outside of the text is looked at. */
static inline uint64_t last_piece(const char *text, size_t from, size_t bytes)
{
    uint64_t piece = 0;
    size_t left = bytes - from;
    if (bytes >= PIECE_BYTES)
        return load_piece(text + bytes - PIECE_BYTES) >> 8 * (PIECE_BYTES - left);
    for (size_t i = 0; i < left; i++)
        piece |= (uint64_t)(uint8_t)text[from + i] << 8 * i;
    return piece;
}

/* An empty one has a row, too. */
void rbwp_arg_text_(uint64_t key, const char *text)
{
    uint64_t pieces[PIECES_MAX];
    if (!text)
        return;
    const size_t bytes = strnlen(text, RBWP_ARG_TEXT_BYTES_MAX);
    size_t from = 0;
    unsigned rows = 0;
    for (; from + PIECE_BYTES < bytes; from += PIECE_BYTES)
        pieces[rows++] = load_piece(text + from);
    pieces[rows++] = last_piece(text, from, bytes);
    const struct argument argument = {key, RBWP_ARG_TEXT, rows, pieces};
    write_rows(&argument);
}
