/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows_file.h - a profile that a tool makes of rows of tables, with nothing that a thread recorded.
 */
#ifndef ROWS_FILE_H
#define ROWS_FILE_H

#include "rbwp_table.h"

#define ROWS_FILE_TABLES 4

struct rows_table {
    struct rbwp_row_encoder *encoder;
    uint32_t columns;
    uint64_t next_row, rows; /* rows: in the encoder */
};

struct rows_file {
    const char *name; /* for messages */
    int fd;
    struct rbwp_writer *writer;
    struct rows_table tables[ROWS_FILE_TABLES];
    uint32_t table_count;
    char **names; /* numbered from 1 */
    uint32_t name_count, name_room, written_names;
    bool failed; /* a message was given */
};

/* fd is empty, stays the caller's. schemas: at most ROWS_FILE_TABLES; their numbers in the file are
 * 1, 2 ... compress: not worth it in a file that is read at once and thrown away. False with the
 * message given; rows_file_end in any case. */
bool rows_file_begin(struct rows_file *file, int fd, const char *name,
                     const struct rbwp_schema *const *schemas, uint32_t count, bool compress);
/* The number of a terminated name; the same for the same name. */
uint64_t rows_file_name(struct rows_file *file, const char *name);
/* A row of schemas[table]. False: it failed, with a message. */
bool rows_file_add(struct rows_file *file, uint32_t table, const uint64_t *cells);
/* A block of records, as an encoder sealed it. */
bool rows_file_add_block(struct rows_file *file, const struct rbwp_sealed_block *block);
/* The descriptor table (item: of slot 0, NULL none) and the trailer, whose writer is set here.
 * Frees all. */
bool rows_file_end(struct rows_file *file, const char *item, struct rbwp_trailer trailer);

#endif /* ROWS_FILE_H */
