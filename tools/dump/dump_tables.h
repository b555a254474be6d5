/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_tables.h - the file's own tables in the dump: schemas, names and rows as the blocks have
 * them, and which rule a block breaks.
 */
#ifndef DUMP_TABLES_H
#define DUMP_TABLES_H

#include "dump.h"
#include "file_tables.h"
#include "table_export.h"

/* Of one input; does not move while it is in use. */
struct table_dump {
    struct dump *dump;
    struct file_tables tables;
    struct row_filter filter;
    bool filtered;
    uint32_t *shown; /* rows by table; NULL: their number is not bounded */
};

/* False without memory, with the message given. End it in each case. */
bool table_dump_begin(struct table_dump *tables, struct dump *dump, struct input *input);
void table_dump_end(struct table_dump *tables);

/* What an opaque block is to the tables. Valid until the next block. */
struct table_block {
    enum rbwp_status status; /* as rbwp_catalog_take */
    struct rbwp_rows rows;   /* RBWP_OK */
    struct rbwp_error error; /* below 0 */
};
void table_dump_take(struct table_dump *tables, const struct rbwp_block *block,
                     struct table_block *seen_out);
/* Whether filters take one of its rows. */
bool table_dump_wants(struct table_dump *tables, const struct table_block *seen);

/* ,"schema":{...} or ,"names":{...} or ,"table":{...} with its rows; ,"broken":{...} if the block
 * was dropped. Nothing of other blocks. */
void table_dump_members(struct table_dump *tables, struct out *out, const struct rbwp_block *block,
                        const struct table_block *seen);

/* A block as lines, each with an object: one for a schema, one for each row. */
void table_dump_lines(struct table_dump *tables, struct out *out, const struct names *names,
                      const struct rbwp_block *block);

#endif /* DUMP_TABLES_H */
