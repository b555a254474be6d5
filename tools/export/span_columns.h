/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_columns.h - spans as columns: gathered until there are many, then taken out one column after
 * the other.
 *
 * So memory is that of one group of rows. Which columns there are and what they
 * say is said here; how they are stored is the business of who writes them. What
 * only some spans have (facts, arguments) is null where it is not known.
 */
#ifndef SPAN_COLUMNS_H
#define SPAN_COLUMNS_H

#include "args_json.h"
#include "dropped_report.h"
#include "parquet_encode.h"

/* What tables of spans say of one beside its times and names.
 *
 * Of where it ran: thread, processor and stream, of the track or of those
 * around it. Of its detail: launch, bounds, correlation. */

enum span_fact {
    FACT_THREAD, /* id of the thread that it ran on */
    FACT_PROCESSOR,
    FACT_STREAM,
    FACT_CORRELATION,
    FACT_LAUNCH, /* time, signed */
    FACT_LAUNCH_THREAD,
    FACT_LAUNCH_SPAN,
    FACT_LAUNCH_INFERRED, /* 1 if it was */
    FACT_START_UNCERTAIN,
    FACT_STOP_UNCERTAIN,
    FACT_CERTAIN,
    FACT_RUNNING, /* whether its thread ran */
    FACT_RUNNABLE,
    FACT_WAITING,
    SPAN_FACTS
};

struct span_facts {
    uint32_t known; /* bits of enum span_fact */
    uint64_t value[SPAN_FACTS];
};
static inline bool span_facts_has(const struct span_facts *facts, enum span_fact fact)
{
    return facts->known >> fact & 1;
}

/* Those of a track, which all its spans share. */
void span_facts_of_track(const struct trace *trace, uint32_t track, struct span_facts *facts);
/* Adds those of a span; detail may be NULL. */
void span_facts_of_span(const struct trace *trace, const struct trace_span *span,
                        const struct trace_detail *detail, struct span_facts *facts);
/* Whether there are any beside its track's. */
bool span_facts_any(const struct trace_span *span, const struct trace_detail *detail);

enum { SPAN_GROUP_ROWS = 128 << 10, SPAN_COLUMNS_MAX = 40 };

enum span_column_type {
    SPAN_COLUMN_TEXT,   /* its value is a number of the text */
    SPAN_COLUMN_TIME,   /* signed, nanoseconds since 1970 */
    SPAN_COLUMN_LENGTH, /* nanoseconds; anything that does not ascend */
    SPAN_COLUMN_ID,     /* 64 bits without sign; ascending, more or less */
    SPAN_COLUMN_NUMBER, /* 32 bits without sign */
    SPAN_COLUMN_YES_OR_NO
};

/* Where a value comes from. Those behind SPAN_COLUMN_OF_PROCESS are a track's own where a span has
 * no detail. */
enum span_column_source {
    SPAN_COLUMN_OF_SPAN, /* a member of struct trace_span; where it may be null, 0 is */
    SPAN_COLUMN_DURATION,
    SPAN_COLUMN_FLAG,       /* the span has it, */
    SPAN_COLUMN_FLAG_LACKS, /* or has it not */
    SPAN_COLUMN_OF_TRACK,   /* members of struct trace_track and trace_process, the same */
    SPAN_COLUMN_OF_PROCESS,
    SPAN_COLUMN_TRACK_FACT, /* of a track alone */
    SPAN_COLUMN_FACT,
    SPAN_COLUMN_LABEL, /* the source's own word, from the detail */
    SPAN_COLUMN_ARGS
};

/* All that is known of a column: who adds one edits the list of them, and nothing else. */
struct span_column {
    const char *name;      /* in arrays: of NumPy and of Parquet */
    const char *line_name; /* in lines and in SQL; NULL: lines do not have it */
    enum span_column_type type;
    bool optional; /* some values may be null */
    enum span_column_source source;
    uint8_t at;    /* a member's offset, enum trace_flag, or enum span_fact */
    uint8_t bytes; /* of a member */
    struct trace_text (*text)(const struct trace *trace, uint32_t number); /* not of arguments */
    bool of_cpu; /* only where the sources say whether calls ran */
};

/* By number, from 0. */
const struct span_column *span_column(int number);
int span_column_count(void);
/* Whether the pass has it. */
bool span_column_is_there(int number, const struct trace_pass *pass);
/* Bits of those that it has. */
uint64_t span_columns_of(const struct trace_pass *pass);
/* -1: there is none of that name, which is not terminated. */
int span_column_named(const char *name, size_t bytes);

static inline uint64_t span_column_member(const struct span_column *column, const void *of)
{
    const char *at = (const char *)of + column->at;
    switch (column->bytes) {
    case sizeof(uint8_t):
        return *(const uint8_t *)at;
    case sizeof(uint16_t):
        return *(const uint16_t *)(const void *)at;
    case sizeof(uint32_t):
        return *(const uint32_t *)(const void *)at;
    default:
        return *(const uint64_t *)(const void *)at;
    }
}

struct span_known;
struct span_run;

/* Who stores the columns. */
struct span_columns_user {
    void *context;
    /* A group is full, or the last one ends: all of it is to be taken. */
    void (*put)(void *context);
    void (*fact)(void *context, const char *key, struct trace_text value);
    bool (*failed)(const void *context); /* there is no use in going on */
};

struct span_columns {
    const struct trace_pass *pass;
    struct span_columns_user user;
    struct dropped dropped;
    uint64_t losses; /* so far */
    uint64_t chosen; /* bit of a column: it is wanted */
    bool wants_args;
    struct trace_span *rows; /* SPAN_GROUP_ROWS; detail is the number of its known, from 1 */
    size_t count;
    struct span_run *runs; /* of the group */
    uint32_t run_count, run_room;
    uint8_t some_flags, all_flags; /* what any and what all rows of the group have */
    struct span_known *known;
    uint32_t known_count, known_room;
    struct buffer arguments; /* of all known */
    struct args_json args;
    uint32_t facts; /* bits of those that any of the group has */
    uint32_t track; /* whose facts were asked for last */
    struct span_facts of_track;
    int64_t *values,
        *there;  /* of a column; who takes one out may put others of SPAN_GROUP_ROWS there */
    bool failed; /* without memory */
};

/* The columns that the options ask for. False without memory; free it in each case. */
bool span_columns_make(struct span_columns *columns, const struct trace_pass *pass,
                       const struct span_columns_user *user);
void span_columns_free(struct span_columns *columns);

/* Takes spans, facts, and losses as facts, with the columns for its context; launches are columns
 * of what was launched, other links are counted as left out. */
struct trace_sink span_columns_sink(struct span_columns *columns);
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

#endif /* SPAN_COLUMNS_H */
