/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.h - one RBWP file into several.
 *
 * A part is a window of time, a thread, or all that the filter takes; it is
 * a whole RBWP file with the names, threads, losses and session of the
 * original. Records keep their times and threads. A span that lies across a
 * boundary is cut: it ends at the boundary in the earlier part and begins
 * there in the later one, with all that is open around it, so no part has
 * half a span that the original had whole, and the parts' times add up.
 * GPU work goes where it was recorded, whole.
 *
 * A thread that goes back in time stays in the part that it has reached.
 * Of tables each part has all schemas and names, and the rows of its time or thread, as far as the
 * roles of columns say (table_bind.h). Other opaque blocks have no time or thread
 * and are dropped; so is the index of the original, as each part has its own.
 *
 * One encoder serves all: a block of the original gives at least one block in
 * each part it has records for, and none is held.
 */
#ifndef SPLIT_H
#define SPLIT_H

#include "filter.h"
#include "input.h"
#include "rbwp_table.h"

/* One part of an RBWP file, being written.
 *
 * Knows its name, its descriptor and how many records of each thread are in
 * it, which its trailer must say; leaves to split.h what goes into it. */

/* ---- the tables of a file in its parts ------------------------------------------------------- */

struct part_file;
struct kept_block;

/* Rows of one table in one part: what the numbers of the original have become. */
struct part_table {
    uint64_t rows;
    struct row_run *runs; /* ascending */
    uint32_t run_count, run_room;
};

/* Of one part. Zeros are a valid start. */
struct part_tables {
    uint32_t blocks_written;   /* schemas and names of the original */
    struct part_table *tables; /* by number of the table, see below */
    uint32_t table_room;
};

/* The part that a row belongs to: its number in *part_out. False: none, or nothing goes on. */
typedef bool table_place_fn(void *context, uint64_t thread_id, const int64_t *time_ns,
                            uint32_t *part_out);
/* That part. NULL, with the message given: nothing goes on. */
typedef struct part_file *table_part_fn(void *context, uint32_t part);

struct table_parts {
    struct input *input;
    struct rbwp_catalog *catalog;
    struct kept_block *kept; /* schemas and names, as they came */
    uint32_t kept_count, kept_room;
    uint16_t *numbers; /* by table: the how many-th it is that has rows; 0 none yet */
    uint16_t number_count;
    struct row_to *rows; /* of a block: which part each goes to */
    uint32_t row_room;
    struct rbwp_row_encoder *encoder; /* of `encoded` */
    const struct rbwp_schema *encoded;
    uint64_t broken; /* blocks dropped */
    table_place_fn *place;
    table_part_fn *part;
    void *context;
};

/* False without memory. */
bool table_parts_start(struct table_parts *parts, struct input *input, table_place_fn *place,
                       table_part_fn *part, void *context);
void table_parts_stop(struct table_parts *parts);

/* Takes a block without records. *taken_out: it is one of a table. False, with the
 * message given: nothing goes on. */
bool table_parts_take(struct table_parts *parts, const struct rbwp_block *block, bool *taken_out);
/* Before a part ends: schemas and names that it has not. False with the message given. */
bool table_parts_end(struct table_parts *parts, struct part_file *part);

/* ---- part file ------------------------------------------------------------------------------- */

struct part_file {
    char *path; /* NULL: not begun */
    int fd;
    struct rbwp_writer *writer;
    uint32_t sequence;
    uint64_t records, rows;
    int64_t first_ns, last_ns; /* of records */
    uint64_t *thread_records;  /* by number of the thread */
    uint32_t thread_room;
    struct part_tables tables;
};

/* Takes path, which is allocated. An existing file is refused unless forced, and the original
 * always. False with the message given. */
bool part_file_begin(struct part_file *part, char *path, bool force, struct rbwp_reader *original,
                     int original_fd);
/* thread: its number. False with the message given. */
bool part_file_add(struct part_file *part, uint32_t thread, const struct rbwp_sealed_block *block);

/* Which losses a part has: each one of the original's is in one part, also where no part
 * has records of that time or thread, unless filters exclude it. */
struct part_file_facts {
    bool is_first;          /* losses of unknown time or thread, empty calls */
    bool takes_rest;        /* losses before from_ns, and of threads without a part */
    int64_t from_ns, to_ns; /* losses that began in between; */
    bool by_thread;         /* instead: of thread_id */
    uint64_t thread_id;
    uint32_t part; /* of those that the original is cut into, from 1; 0: it is a window */
    int64_t complete_from_ns; /* 0: from the beginning on */
    const uint64_t *threads;  /* ids by number */
    uint32_t thread_count;
};
/* Tables and trailer. False with the message given. */
bool part_file_finish(struct part_file *part, const struct rbwp_reader *original,
                      const struct part_file_facts *facts);
/* Closes, and takes the file away if remove. Frees all but path. */
void part_file_close(struct part_file *part, bool remove);

#define SPLIT_PARTS_MAX 10000u
#define SPLIT_PASSED_MAX 1000u /* of those, for a span alone that was open all the time */

struct split_options {
    struct filter_options filter; /* min-duration and halves of pairs are refused before */
    int64_t every_ns;             /* 0: one window */
    bool by_thread;
    bool live;          /* with the records that only FILE.live has */
    const char *output; /* NULL: beside the input */
    bool force;
};

struct split_result {
    struct part_file *parts; /* by number; at the end those that were needed */
    uint32_t count;
    uint64_t opaque_blocks; /* dropped: no time, no thread */
    uint64_t broken_blocks; /* of tables, dropped; a message said so */
    uint64_t cuts;          /* spans that were cut, each time */
};

/* The parts are written, or, on EXIT_BAD_DATA with the message given, none is left. */
enum exit_code split_file(const struct split_options *options, struct input *input,
                          struct split_result *result_out);
void split_free(struct split_result *result);

#endif /* SPLIT_H */
