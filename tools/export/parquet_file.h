/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_file.h - writes a Parquet file of flat columns, row group by row group.
 *
 * Knows pages, statistics and the footer; which columns there are and where
 * their values come from is its user's business. A column is one page (two,
 * with a dictionary) in each row group, encoded and deflated by several threads
 * where there are some. Only the footer grows with the file: some 2 KiB a row group.
 */
#ifndef PARQUET_FILE_H
#define PARQUET_FILE_H

#include "out.h"
#include "parquet_encode.h"
#include "trace_text.h"

enum parquet_type {
    PARQUET_TEXT,     /* UTF-8, by a dictionary */
    PARQUET_TIME,     /* INT64, nanoseconds since 1970 */
    PARQUET_LENGTH,   /* INT64, anything that does not ascend */
    PARQUET_ID,       /* INT64 without sign; ascending, more or less */
    PARQUET_NUMBER,   /* INT32 without sign */
    PARQUET_REAL,     /* DOUBLE; values are its bits */
    PARQUET_BLOB,     /* any bytes, by a dictionary */
    PARQUET_YES_OR_NO /* BOOLEAN */
};

struct parquet_column {
    const char *name;
    enum parquet_type type;
    bool optional; /* some values may be null */
};

struct parquet {
    struct out *out;
    const struct parquet_column *columns;
    int column_count;
    int column;                /* the next one of the row group */
    struct ordered_jobs *jobs; /* columns that are packed; NULL: there is just one, */
    struct column_job *single; /* this */
    struct column_job *job;    /* of the column that is made */
    struct buffer *plain;      /* its page */
    uint64_t offset, rows, group_rows, group_bytes, group_packed_bytes, group_offset, groups, facts;
    struct buffer chunks, group_list, fact_list; /* pieces of the footer */
    bool failed;                                 /* without memory */
};

/* The texts that a PARQUET_TEXT column of a row group consists of. They are UTF-8. */
struct parquet_dictionary {
    const struct trace_text *texts;
    uint32_t count;
};

/* Writes the magic. threads: that pack columns beside each other; NULL: the caller's alone, with
 * the memory of one column. False without memory. */
bool parquet_start(struct parquet *parquet, struct out *out, const struct parquet_column *columns,
                   int count, struct job_threads *threads);
/* The next row group; its columns follow, all of them. Those of the one before may still be packed.
 */
void parquet_group_begin(struct parquet *parquet, size_t rows);
/* The values of the next column, which is not a PARQUET_TEXT. They may be changed. there: which of
 * an optional column are not null; may be values itself. */
void parquet_integers(struct parquet *parquet, int64_t *values, const int64_t *there);
/* The same, encoded on any thread: values and there are or are NULL as above, but arrays of room
 * numbers that were allocated. They are the file's from here on, and others of that size, with
 * anything in them, stand in arrays. */
struct parquet_arrays {
    int64_t *values, *there;
    size_t room;
};
void parquet_take_integers(struct parquet *parquet, struct parquet_arrays *arrays,
                           const int64_t *there);
/* The next column, which is neither a PARQUET_TEXT nor a PARQUET_REAL, has this value in all rows.
 */
void parquet_constant(struct parquet *parquet, int64_t value);
/* Places in the dictionary, not empty, all of whose texts are used; of an optional column of those
 * values that are there, one behind the other. */
void parquet_texts(struct parquet *parquet, const uint32_t *places,
                   struct parquet_dictionary dictionary, const int64_t *there);
/* The next column, which is optional, has no values. */
void parquet_nulls(struct parquet *parquet);
/* Metadata for the footer, in UTF-8. */
void parquet_fact(struct parquet *parquet, const char *key, struct trace_text value);
void parquet_finish(struct parquet *parquet);
bool parquet_failed(const struct parquet *parquet);
void parquet_free(struct parquet *parquet);

#endif /* PARQUET_FILE_H */
