/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_table.h - tables in RBWP files: rows of typed columns (SPEC.md, section 9.2).
 *
 * A table is a schema and rows. A cell is 64 bits, whatever its type (of a
 * column of bytes: where they are). Writing: a row encoder takes rows in bulk,
 * column by column, and gives finished blocks for rbwp_writer_add_block, as
 * a block encoder does. Reading: a catalog is shown each block of a
 * reader, learns schemas and names from them, and gives the rows of the others.
 *
 * Threads: an encoder or catalog is used by one thread at a time. No call
 * prints, exits or keeps a global.
 */
#ifndef RBWP_TABLE_H
#define RBWP_TABLE_H

#include "rbwp_reader.h"
#include "rbwp_writer.h"

RBWP_C_BEGIN_

#define RBWP_SCHEMA_TAG "tsch"
#define RBWP_NAMES_TAG "name"
#define RBWP_ROWS_TAG "rows"

#define RBWP_TABLES_MAX 65535u    /* tables are 1 to this */
#define RBWP_COLUMNS_MAX 256u     /* of a table */
#define RBWP_ROWS_MAX (1u << 20)  /* in one block */
#define RBWP_CELLS_MAX (4u << 20) /* in one block: rows times columns */

enum rbwp_column_type {
    RBWP_COLUMN_U64 = 1,
    RBWP_COLUMN_I64 = 2,
    RBWP_COLUMN_F64 = 3,
    RBWP_COLUMN_TIME = 4,     /* i64, ns on the axis of the records */
    RBWP_COLUMN_DURATION = 5, /* u64, ns */
    RBWP_COLUMN_NAME = 6,     /* number of a name, 0 none */
    RBWP_COLUMN_ROW = 7,      /* number of a row of a table, from 1 in file order; 0 none */
    RBWP_COLUMN_BYTES = 8
};
/* "u64", "time" ...; "unknown" for other values. Static text. */
RBWP_API const char *rbwp_column_type_name(unsigned type);

/* What a reader that does not know the table may do with a column. */
enum rbwp_column_role {
    RBWP_ROLE_NONE = 0,
    RBWP_ROLE_START = 1, /* of a span */
    RBWP_ROLE_STOP = 2,  /* a time, or a duration after the start */
    RBWP_ROLE_TRACK = 3,
    RBWP_ROLE_LABEL = 4, /* the span's name */
    RBWP_ROLE_LINK_FROM = 5,
    RBWP_ROLE_LINK_TO = 6,
    RBWP_ROLE_COUNTER = 7,
    RBWP_ROLE_START_BOUND = 8, /* the start may be wrong by so much */
    RBWP_ROLE_STOP_BOUND = 9,
    RBWP_ROLE_THREAD = 10, /* as in block headers */
    RBWP_ROLE_ID = 11,     /* of the row; others may name it */
    RBWP_ROLE_PARENT = 12, /* the row that encloses this one */
    /* Of type NAME; where a cell is 0 the column's unit is the word (SPEC.md, 9.2). */
    RBWP_ROLE_CATEGORY = 13,  /* what the row is: "copy", "task", "wait" ... */
    RBWP_ROLE_LINK_KIND = 14, /* what its keys link: "launch", "wake" ... */
    RBWP_ROLE_ITEM = 15,      /* slot of the work item that it is about */
    RBWP_ROLE_ARGUMENT = 16   /* what it was about: shown with it, before columns of no role */
};
/* "start", "counter" ...; "" for none and other values. Static text. */
RBWP_API const char *rbwp_column_role_name(unsigned role);

/* Texts are any bytes, not terminated. */
struct rbwp_column {
    uint8_t type;   /* enum rbwp_column_type */
    uint8_t role;   /* enum rbwp_column_role, or a later one */
    uint16_t table; /* RBWP_COLUMN_ROW: whose row; else 0 */
    uint16_t name_bytes;
    uint8_t unit_bytes;
    const char *name, *unit;
};

struct rbwp_schema {
    uint32_t table; /* 1 to RBWP_TABLES_MAX */
    uint16_t version, column_count, name_bytes;
    const char *name;
    const struct rbwp_column *columns;
};

/* A column without a length to count: type and role as in enum rbwp_column_type and
 * rbwp_column_role, name and unit string literals. */
#define RBWP_COLUMN(type_, role_, name_, unit_)                                                    \
    {                                                                                              \
        .type = RBWP_COLUMN_##type_, .role = RBWP_ROLE_##role_, .name_bytes = sizeof name_ - 1,    \
        .unit_bytes = sizeof unit_ - 1, .name = name_, .unit = unit_                               \
    }
/* Of an array of them; who registers it (rbwp_rows.h) gets its number, who writes a file gives
 * it one. */
#define RBWP_SCHEMA_NUMBERED(table_, name_, version_, columns_)                                    \
    {                                                                                              \
        .table = table_, .version = version_, .name_bytes = sizeof name_ - 1,                      \
        .column_count = sizeof columns_ / sizeof columns_[0], .name = name_, .columns = columns_   \
    }
#define RBWP_SCHEMA(name_, version_, columns_) RBWP_SCHEMA_NUMBERED(0, name_, version_, columns_)

/* ---- writing ------------------------------------------------------------ */

/* Appends the schema's block. RBWP_E_INVALID if it breaks R44; else as rbwp_writer_add_opaque. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_writer_add_schema(struct rbwp_writer *writer,
                                                               const struct rbwp_schema *schema);

struct rbwp_text {
    const char *text;
    uint32_t bytes;
};
/* Appends count names, numbered from first on, compressed where that makes them smaller: many at
 * once are better than one by one. RBWP_E_INVALID: first or count is 0. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_writer_add_names(struct rbwp_writer *writer,
                                                              uint32_t first,
                                                              const struct rbwp_text *names,
                                                              uint32_t count);

struct rbwp_row_encoder; /* opaque */

/*
 * For rows of one table; the schema is copied. rows_max: rows of a block, at most RBWP_ROWS_MAX,
 * 0 = as many as a block of usual size holds. compress: as zlib streams. RBWP_E_INVALID (R44, or
 * rows too many for a block), RBWP_E_MEMORY.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_row_encoder_new(const struct rbwp_schema *schema,
                                                             uint32_t rows_max, bool compress,
                                                             struct rbwp_row_encoder **encoder_out);
RBWP_API void rbwp_row_encoder_free(struct rbwp_row_encoder *encoder);

/*
 * Room for rows, filled by the caller column by column: cells[c][0..rows-1] for column c. rows
 * may be fewer than were asked for, and are 0 when the block is full (seal it). A cell of a column
 * of bytes is given by rbwp_row_encoder_bytes. Commit says how many of them were filled.
 */
struct rbwp_row_room {
    uint64_t **cells;
    uint32_t rows;
};
RBWP_API void rbwp_row_encoder_reserve(struct rbwp_row_encoder *encoder, uint32_t rows_wanted,
                                       struct rbwp_row_room *room_out);
RBWP_API void rbwp_row_encoder_commit(struct rbwp_row_encoder *encoder, uint32_t rows);

/* Keeps bytes and gives what their cell holds. RBWP_AGAIN: the block is full. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_row_encoder_bytes(struct rbwp_row_encoder *encoder,
                                                               const void *bytes, uint32_t count,
                                                               uint64_t *cell_out);

/*
 * Finishes the block and starts an empty one; thread_id 0 = several threads made the rows.
 * first_row: its rows are numbered from there on, above all rows of the table in the file.
 * RBWP_END when there was no row in it. The block goes to rbwp_writer_add_block.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_row_encoder_seal(struct rbwp_row_encoder *encoder,
                                                              uint64_t thread_id,
                                                              uint64_t first_row,
                                                              struct rbwp_sealed_block *block_out);

/* ---- reading ------------------------------------------------------------ */

/* Rows of one block. Pointers are valid until the next call on the catalog. */
struct rbwp_rows {
    const struct rbwp_schema *schema;
    uint64_t first_row; /* number of the first; the others follow */
    uint32_t rows;
    uint64_t thread_id;           /* that made them; 0 = several, or not known */
    int64_t first_ns, last_ns;    /* as the block says; 0,0 without times */
    const uint64_t *const *cells; /* by column, then by row; of bytes: for rbwp_rows_bytes */
    const uint8_t *bytes;         /* what those cells refer to */
};
/* The bytes that a cell of a column of bytes stands for. */
static inline struct rbwp_text rbwp_rows_bytes(const struct rbwp_rows *rows, uint64_t cell)
{
    struct rbwp_text text = {(const char *)rows->bytes + (cell >> 32), (uint32_t)cell};
    return text;
}

struct rbwp_catalog; /* opaque */

/* NULL without memory. Free takes NULL. */
RBWP_API struct rbwp_catalog *rbwp_catalog_new(void);
RBWP_API void rbwp_catalog_free(struct rbwp_catalog *catalog);

/*
 * Shows the catalog a block of the file; blocks are to be shown in file order, all of them (but
 * for rbwp_catalog_pass).
 * RBWP_OK: it holds rows, *rows_out is filled. RBWP_END: it does not (a schema or names were
 * learnt, or it is another block). RBWP_E_CORRUPT: it breaks a rule, error says which, and is left
 * out. RBWP_E_MEMORY, RBWP_E_LIMIT (names or schemas too many to keep: 64 MiB each).
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_catalog_take(struct rbwp_catalog *catalog,
                                                          const struct rbwp_block *block,
                                                          struct rbwp_rows *rows_out,
                                                          struct rbwp_error *error);

/*
 * For who shows the catalog only a part of the blocks, by the index of tables: rows of that table
 * up to last_row are in those that are dropped, so that rows of other tables may name them (R49).
 */
RBWP_API void rbwp_catalog_pass(struct rbwp_catalog *catalog, uint32_t table, uint64_t last_row);

/* What is known so far: schemas in the order of the file. Valid until the catalog is freed. */
RBWP_API uint32_t rbwp_catalog_schema_count(const struct rbwp_catalog *catalog);
RBWP_API const struct rbwp_schema *rbwp_catalog_schema(const struct rbwp_catalog *catalog,
                                                       uint32_t index);
/* By its number. NULL: none is known. */
RBWP_API const struct rbwp_schema *rbwp_catalog_find(const struct rbwp_catalog *catalog,
                                                     uint32_t table);
/* Rows of it so far. */
RBWP_API uint64_t rbwp_catalog_row_count(const struct rbwp_catalog *catalog, uint32_t index);
/* A name by number; no bytes for 0 and unknown ones. Valid until the catalog is freed. */
RBWP_API struct rbwp_text rbwp_catalog_name(const struct rbwp_catalog *catalog, uint64_t number);

RBWP_C_END_
#endif /* RBWP_TABLE_H */
