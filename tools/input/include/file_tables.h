/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_tables.h - what a file's blocks say of its tables while they are read one after another:
 * schemas, names, GPUs, and what is broken.
 */
#ifndef FILE_TABLES_H
#define FILE_TABLES_H

#include "gpu_activity.h"
#include "input.h"

#define FILE_TABLES_PROBLEMS_KEPT 64u

struct file_tables {
    struct input *input;
    struct rbwp_catalog *catalog;
    struct gpu_devices gpus; /* of the table gpu_device; their names are the catalog's */
    uint64_t broken;         /* blocks dropped */
    struct rbwp_problem
        *problems; /* the first FILE_TABLES_PROBLEMS_KEPT of them, less without memory */
    uint32_t problem_count, problem_room;
    bool failed; /* out of memory: GPUs are missing, a message was given */
};

/* False without memory, with the message given. End it in each case. */
bool file_tables_begin(struct file_tables *tables, struct input *input);
void file_tables_end(struct file_tables *tables);

/* The next block, as rbwp_catalog_take; what breaks a rule is reported, in a few lines. */
enum rbwp_status file_tables_take(struct file_tables *tables, const struct rbwp_block *block,
                                  struct rbwp_rows *rows_out, struct rbwp_error *error);

/* Takes the blocks of the input up to the next one with rows. False after the last. */
bool file_tables_next(struct file_tables *tables, struct rbwp_rows *rows_out);

/* A copy of the index of tables in the order of the file, to be freed. NULL without memory. */
struct rbwp_table_range *table_ranges_in_order(const struct rbwp_trailer *trailer);

#endif /* FILE_TABLES_H */
