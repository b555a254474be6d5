/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_table.h - what an analysis found, as tables that say what is in them.
 *
 * A table has columns: what each is called, in which unit it is, where it stands in a row or which
 * function makes it, and what becomes of it when two rows are merged. Rows are structs of the
 * analysis. Text, JSON, CSV (result_print.h), the bytes of a cache (result_bytes.h) and a JSON
 * schema follow from that.
 */
#ifndef RESULT_TABLE_H
#define RESULT_TABLE_H

#include "fields.h"
#include "out.h"
#include "trace_text.h"

enum result_unit {
    RESULT_END, /* behind the last column */
    RESULT_COUNT,
    RESULT_ID,
    RESULT_NUMBER,   /* of a file, as SPEC.md defines it */
    RESULT_SIGNED,   /* likewise, which may be below 0 */
    RESULT_NS,       /* a duration; people get four digits of it */
    RESULT_ROUGH_NS, /* likewise three, which is what is known of a quantile */
    RESULT_MICROS,   /* nanoseconds that are shown as microseconds with three decimals */
    RESULT_TIME,     /* on the trace's axis */
    RESULT_SHARE,    /* 0 to 1 */
    RESULT_RATIO,    /* people get a factor */
    RESULT_REAL,
    RESULT_DECIMAL, /* likewise, with as few digits as read back to the same */
    RESULT_TEXT,    /* of any bytes */
    RESULT_STRING,  /* likewise, terminated, behind a pointer, which may be NULL */
    RESULT_NAME,    /* likewise, behind a pointer; its length, `bytes` wide, is at count_at */
    RESULT_HEX,     /* bytes, in JSON and CSV as hexadecimal */
    RESULT_WORD,    /* plain text, terminated; by column->value_name that of a number */
    RESULT_CHOICE,  /* a number that stands for column->words[number], below column->what */
    RESULT_BOOL,
    RESULT_OWN,  /* what has a form of its own: column->put and show write it */
    RESULT_PART, /* a struct inside the row, of column->part: an object of that name; without a key
                    its columns are the row's own */
    RESULT_PART_AT, /* likewise, behind a pointer, which may be NULL */
    RESULT_LIST,    /* rows of column->list: an array behind a pointer, struct result_rows, or
                       column->rows */
    RESULT_HISTOGRAM,
    RESULT_INDEX /* kept alone: a number of a thing of kind column->what; optional: or TRACE_NONE */
};

enum result_merge { RESULT_STAYS, RESULT_SUM, RESULT_MIN, RESULT_MAX };

/* A row, and what it is a row of. */
struct result_at {
    const void *all;    /* the analysis */
    const void *row;    /* NULL: the number says which */
    const void *parent; /* the row whose list it is in */
    uint32_t number;    /* in its list */
};

enum result_kind { RESULT_NOTHING, RESULT_U64, RESULT_I64, RESULT_F64, RESULT_BYTES };

struct result_cell {
    uint8_t kind;   /* enum result_kind */
    bool hidden;    /* people get "-" */
    uint32_t bytes; /* of text */
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        const char *text;
    };
};

struct result_rows {
    const char *first;
    size_t stride;
    uint32_t count;
    uint32_t *order; /* numbers of the rows, in memory of its own; NULL: all as they stand */
    const void *(*row)(const void *first, uint32_t number); /* NULL: they are an array */
};

struct result_column {
    const char *key;   /* in JSON and CSV; NULL: not there */
    const char *title; /* in text; NULL: not there */
    int width; /* in text; below 0 to the left, with two blanks before it unless it begins the line;
                  0: what is left */
    enum result_unit unit;
    enum result_merge merge;
    size_t offset, bytes; /* in the row; bytes is 0 of what is made */
    struct result_cell (*get)(const struct result_at *at, int what);
    int what;
    bool (*there)(const void *all); /* whether rows have it at all; NULL: they do */
    bool optional; /* not there where the field is 0 or empty, or what is made is nothing */
    /* In JSON the whole member, with the comma before it. */
    void (*put)(struct out *out, const struct result_at *at);
    void (*show)(struct out *out, const struct result_at *at); /* in text */
    const char *after;                                         /* in text, words behind the cell */
    bool not_on_page; /* which has a form of its own of what `put` writes */
    const char *form; /* of what `put` writes, as JSON Schema; NULL: anything */
    bool nullable;    /* null where it is nothing, though not optional */
    const char *const *words;
    const char *(*value_name)(unsigned number);
    const struct result_column *part;
    const char *only; /* of a part, the keys that are shown, with commas; NULL: all; of a list, in
                         CSV those of its rows before the cells of a list inside them */
    const struct result_column *kept; /* a part that is kept but not shown */
    const struct result_table *list;
    bool new_line;   /* another key than a list's begins a line of JSON; with one_line a list's */
    bool same_line;  /* a list's key does not begin a line */
    bool closed;     /* a list's bracket closes on a line of its own */
    bool one_line;   /* a list's rows are on one line, with its key */
    bool indent;     /* a list's rows begin with two blanks */
    size_t count_at; /* of a list: where its count, 32 bits, is */
    size_t stride;   /* bytes of a list's row, or of what is behind a pointer */
    struct result_rows (*rows)(const struct result_at *at);
};

#define RESULT_FIELD(type, field)                                                                  \
    .offset = offsetof(type, field), .bytes = sizeof(((const type *)0)->field)
#define RESULT_POINTER(type, field)                                                                \
    RESULT_FIELD(type, field), .stride = sizeof *((const type *)0)->field
#define RESULT_LIST_OF(type, array, count)                                                         \
    .offset = offsetof(type, array), .count_at = offsetof(type, count),                            \
    .stride = sizeof *((const type *)0)->array
#define RESULT_NAME_OF(type, field)                                                                \
    .offset = offsetof(type, field), .count_at = offsetof(type, field##_bytes),                    \
    .bytes = sizeof(((const type *)0)->field##_bytes)
#define RESULT_ROWS(type, field) RESULT_FIELD(type, field) /* struct result_rows */
/* A function that makes a column's cell of a row of this type. */
#define RESULT_MAKES(name, type, cell)                                                             \
    static struct result_cell name(const struct result_at *at, int what)                           \
    {                                                                                              \
        const struct type *row = at->row;                                                          \
        (void)what, (void)row;                                                                     \
        return cell;                                                                               \
    }
#define RESULT_MADE(function, which) .get = function, .what = (which)
/* Whole columns of JSON and CSV alone, and the end of them. */
#define RESULT_PLAIN(key, unit, type, field)                                                       \
    {                                                                                              \
        key, NULL, 0, unit, RESULT_FIELD(type, field)                                              \
    }
#define RESULT_PLAIN_MADE(key, unit, function, which)                                              \
    {                                                                                              \
        key, NULL, 0, unit, RESULT_MADE(function, which)                                           \
    }
#define RESULT_LAST                                                                                \
    {                                                                                              \
        .unit = RESULT_END                                                                         \
    }

struct result_table {
    const char *key;   /* in JSON: of the list */
    const char *title; /* in text */
    const struct result_column *columns;
    /* Titles, keys, or "PART.KEY", with commas between them. */
    const char *text;         /* the columns in text, the name, which has what is left, last */
    const char *least_needed; /* those left out of lines that are too short, first to last; may be
                                 NULL */
    uint32_t shown;           /* rows in text, 0: all */
};

static inline struct result_cell result_u64(uint64_t value)
{
    return (struct result_cell){.kind = RESULT_U64, .u64 = value};
}
static inline struct result_cell result_i64(int64_t value)
{
    return (struct result_cell){.kind = RESULT_I64, .i64 = value};
}
static inline struct result_cell result_f64(double value)
{
    return (struct result_cell){.kind = RESULT_F64, .f64 = value};
}
/* Part of a whole; 0 of none. */
static inline struct result_cell result_share(uint64_t part, uint64_t whole)
{
    return result_f64(whole ? (double)part / (double)whole : 0);
}
static inline struct result_cell result_bytes(struct trace_text text)
{
    return (struct result_cell){
        .kind = RESULT_BYTES, .bytes = text.text ? text.bytes : 0, .text = text.text};
}
static inline struct result_cell result_word(const char *word)
{
    return result_bytes(trace_text(word));
}
static inline struct result_cell result_nothing(void)
{
    return (struct result_cell){.kind = RESULT_NOTHING};
}

/* How long a regular file is; nothing: there is none. */
struct result_cell result_file_bytes(const char *path);

/* Columns of the fields of a file that are shown (fields.h), of RESULT_FIELDS_MAX with the last. */
enum { RESULT_FIELDS_MAX = 16 };
void result_fields(const struct layout *layout, struct result_column *columns_out);

static inline bool result_is_there(const struct result_column *column, const void *all)
{
    return !column->there || column->there(all);
}

/* What stands in a field of 1, 2, 4 or 8 bytes. */
uint64_t result_number(const struct result_column *column, const void *field);
/* Whether such a key is among those that are shown of a part. */
bool result_is_among(const char *only, const char *key);
struct result_cell result_cell(const struct result_column *column, const struct result_at *at);
/* Of a part, its row, by column->rows if it has that; of one that is not there NULL. */
struct result_at result_part(const struct result_column *column, const struct result_at *at);
struct result_rows result_list(const struct result_column *column, const struct result_at *at);
static inline struct result_rows result_array(const void *first, size_t stride, uint32_t count)
{
    return (struct result_rows){.first = first, .stride = stride, .count = count};
}
/* Of a part's column->rows; NULL: it is not there. */
static inline struct result_rows result_part_row(const void *row)
{
    return (struct result_rows){.first = row, .count = 1};
}
/* As column->rows: a list of the row itself, as of a document that is one of several. */
static inline struct result_rows result_itself(const struct result_at *at)
{
    return result_part_row(at->row);
}
/* All of an array, with an order; its NULL: no memory. */
struct result_rows result_ordered(const void *first, size_t stride, uint32_t count);
struct result_at result_row(const struct result_rows *rows, const void *all, const void *parent,
                            uint32_t number);

/* A column by its title, its key, or "PART.KEY": itself, and the part that it is in (NULL: none).
 * False without one. */
struct result_place {
    const struct result_column *column, *part;
};
bool result_find(const struct result_column *columns, const char *name, size_t bytes,
                 struct result_place *place_out);
struct result_cell result_place_cell(const struct result_place *place, const struct result_at *at);

/* Adds a row to another: sums are at most UINT64_MAX. first: nothing was added to it before. False
 * without memory. */
bool result_merge(const struct result_column *columns, void *row, const void *from, bool first);

/* Numbers of the rows by a column, numbers from the greatest on, all else from the least; of equal
 * ones `compare` decides. False without memory. */
bool result_sort(struct result_rows *rows, const struct result_column *column, const void *all,
                 int (*compare)(const void *left, const void *right));

#endif /* RESULT_TABLE_H */
