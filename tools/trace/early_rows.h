/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early_rows.h - rows of tables that belong to calls (SPEC.md, appendix A), read before the calls.
 *
 * Rows and records come in blocks of their own, in no order between them, and a call goes on its
 * way as soon as it has ended. So these tables are read beforehand, which needs a file that can be
 * read twice; who takes the rows keeps them in memory.
 */
#ifndef EARLY_ROWS_H
#define EARLY_ROWS_H

#include "input.h"
#include "table_bind.h"

enum early_table {
    EARLY_ARGUMENT,
    EARLY_CALL_CPU,
    EARLY_THREAD_CPU,
    EARLY_STACK_WORD,
    EARLY_CODE_FILE,
    EARLY_PYTHON_FRAME,
    EARLY_OPEN_CALL, /* the last: its rows are points in time as well */
    EARLY_TABLES
};

struct early_rows {
    struct rbwp_catalog *catalog;  /* NULL: the file has none, or was not looked at */
    uint32_t tables[EARLY_TABLES]; /* their numbers in the file; 0: it has none */
    bool failed;                   /* out of memory; some are missing */
};

struct early_rows_user {
    void *context;
    /* cells: by number of the table's columns, all of them. False without memory. */
    bool (*rows)(void *context, enum early_table table, const uint64_t *const *cells,
                 uint32_t rows);
    void (*forget)(void *context); /* what came of this input: it comes again */
};

/* Reads them, then goes back to the input's first block. Of several files of a recording one after
 * the other. */
void early_rows_load(struct early_rows *early, struct input *input,
                     const struct early_rows_user *user);
/* Whether the file has one of these tables, by its index; it is at its first block then. */
bool early_rows_indexed(struct input *input, enum early_table table);
void early_rows_free(struct early_rows *early);

/* Rows of such a table belong to calls: they are shown as nothing else, but for the last one. */
static inline bool early_rows_has(const struct early_rows *early, const struct rbwp_schema *schema)
{
    for (unsigned i = 0; i < EARLY_OPEN_CALL && early->catalog; i++)
        if (early->tables[i] == schema->table)
            return true;
    return false;
}

#endif /* EARLY_ROWS_H */
