/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_columns.h - spans as columns: gathered until there are many, then taken out one column after
 * the other.
 *
 * So memory is that of one group of rows. Which columns there are and what they
 * say is told here; how they are stored is the business of who writes them. What
 * only some spans have (span_facts.h, arguments) is null where it is not known.
 */
#ifndef SPAN_COLUMNS_H
#define SPAN_COLUMNS_H

#include "args_json.h"
#include "parquet_bytes.h"
#include "span_facts.h"
#include "trace_pass.h"

enum { SPAN_GROUP_ROWS = 128 << 10, SPAN_COLUMNS_MAX = 32 };

enum span_column_type {
    SPAN_COLUMN_TEXT,
    SPAN_COLUMN_TIME,   /* signed, nanoseconds since 1970 */
    SPAN_COLUMN_LENGTH, /* signed, anything that does not ascend */
    SPAN_COLUMN_ID,     /* 64 bits without sign; ascending, more or less */
    SPAN_COLUMN_NUMBER, /* 32 bits without sign */
    SPAN_COLUMN_YES_OR_NO
};

struct span_column {
    const char *name;
    enum span_column_type type;
    bool optional; /* some values may be null */
};

/* By number, from 0. */
const struct span_column *span_column(int number);
int span_column_count(void);
/* -1: there is none of that name, which is not terminated. */
int span_column_named(const char *name, size_t bytes);

/* What all spans of a track share. */
struct span_place {
    uint32_t track, node;
    int64_t process_id, thread_id; /* of the system */
    struct span_facts facts;
};

struct span_known;
struct span_run;

struct span_columns {
    const struct trace_pass *pass;
    uint32_t chosen; /* bit of a column: it is wanted */
    bool wants_args;
    void (*put)(
        void *context); /* a group is full, or the last one ends: all of it is to be taken */
    void *context;
    struct trace_span *rows; /* SPAN_GROUP_ROWS; detail is the number of its known, from 1 */
    size_t count;
    struct span_run *runs; /* of the group */
    uint32_t run_count, run_room;
    uint8_t some_flags, all_flags; /* what any and what all rows of the group have */
    struct span_known *known;
    uint32_t known_count, known_room;
    struct parquet_bytes arguments; /* of all known */
    struct args_json args;
    uint32_t facts;          /* bits of those that any of the group has */
    struct span_place place; /* that was asked for last */
    int64_t *values,
        *there;  /* of a column; who takes one out may put others of SPAN_GROUP_ROWS there */
    bool failed; /* without memory */
};

/* The columns that the options ask for. False without memory; free it in each case. */
bool span_columns_make(struct span_columns *columns, const struct trace_pass *pass,
                       void (*put)(void *context), void *context);
void span_columns_free(struct span_columns *columns);

/* A sink's spans; of one track. */
void span_columns_take(struct span_columns *columns, const struct trace_span *spans, size_t count,
                       const struct trace_details *details);
/* Puts what is left. */
void span_columns_finish(struct span_columns *columns);

/* One column of a group, which has columns->count rows. */
enum span_column_form { SPAN_COLUMN_NULLS, SPAN_COLUMN_CONSTANT, SPAN_COLUMN_VALUES };
struct span_column_part {
    enum span_column_form form;
    int64_t constant;
    int64_t *values;      /* of a text its number, which is never a constant; may be changed */
    const int64_t *there; /* of an optional column: 0 where it is null; may be values */
};
/* Valid until the next call. */
struct span_column_part span_columns_part(struct span_columns *columns, int number);

static inline bool span_columns_wants(const struct span_columns *columns, int number)
{
    return columns->chosen >> number & 1;
}
/* The text of a number of a column's. */
struct trace_text span_columns_text(const struct span_columns *columns, int column,
                                    uint32_t number);
/* True if numbers of the column mean the same texts in all groups. */
bool span_column_lasts(int column);

/* A loss as a fact about the trace. */
struct span_loss_text {
    char key[32], value[256];
};
void span_loss_text(struct span_loss_text *text, const struct trace_loss *loss, uint64_t number);

#endif /* SPAN_COLUMNS_H */
