/* SPDX-License-Identifier: Apache-2.0 */
/* small_file.h - an RBWP file of a few records and rows, in memory, and what a trace makes of it.
 */
#ifndef SMALL_FILE_H
#define SMALL_FILE_H

#include "rbwp_table.h"
#include "trace_seen.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct small_file {
    int fd;
    struct rbwp_sink sink;
    struct rbwp_writer *writer;
    uint32_t tables, names;
};

static inline void file_begin(struct small_file *file)
{
    *file = (struct small_file){.fd = memfd_create("file", 0)};
    file->sink = rbwp_sink_fd(&file->fd);
    assert_int_equal(rbwp_writer_new(&file->sink, 0, 1, true, &file->writer), RBWP_OK);
}

/* A block. */
static inline void file_records(struct small_file *file, uint64_t thread_id, uint32_t sequence,
                                const struct rbwp_record *records, size_t count)
{
    struct rbwp_block_encoder *encoder;
    struct rbwp_sealed_block sealed;
    assert_int_equal(rbwp_block_encoder_new(0, 0, &encoder), RBWP_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rbwp_block_encoder_add(encoder, &records[i]), RBWP_OK);
    assert_int_equal(rbwp_block_encoder_seal(encoder, thread_id, sequence, &sealed), RBWP_OK);
    assert_int_equal(rbwp_writer_add_block(file->writer, &sealed), RBWP_OK);
    rbwp_block_encoder_free(encoder);
}
#define FILE_RECORDS(file, thread_id, sequence, ...)                                               \
    file_records(file, thread_id, sequence, (const struct rbwp_record[]){__VA_ARGS__},             \
                 sizeof(const struct rbwp_record[]){__VA_ARGS__} / sizeof(struct rbwp_record))

/* Its number. */
static inline uint64_t file_name(struct small_file *file, const char *name)
{
    const struct rbwp_text text = {name, (uint32_t)strlen(name)};
    assert_int_equal(rbwp_writer_add_names(file->writer, ++file->names, &text, 1), RBWP_OK);
    return file->names;
}

/* A new table with these rows, cells row by row. */
static inline void file_table(struct small_file *file, struct rbwp_schema schema,
                              const uint64_t *cells, size_t count)
{
    struct rbwp_row_encoder *encoder;
    struct rbwp_row_room room;
    struct rbwp_sealed_block sealed;
    const uint32_t rows = (uint32_t)(count / schema.column_count);
    schema.table = ++file->tables;
    assert_int_equal(rbwp_writer_add_schema(file->writer, &schema), RBWP_OK);
    assert_int_equal(rbwp_row_encoder_new(&schema, 0, false, &encoder), RBWP_OK);
    rbwp_row_encoder_reserve(encoder, rows, &room);
    assert_int_equal(room.rows, rows);
    for (size_t i = 0; i < count; i++) {
        uint64_t cell = cells[i];
        if (schema.columns[i % schema.column_count].type == RBWP_COLUMN_BYTES) {
            const char *text = (const char *)(uintptr_t)cell;
            assert_int_equal(rbwp_row_encoder_bytes(encoder, text, (uint32_t)strlen(text), &cell),
                             RBWP_OK);
        }
        room.cells[i % schema.column_count][i / schema.column_count] = cell;
    }
    rbwp_row_encoder_commit(encoder, rows);
    assert_int_equal(rbwp_row_encoder_seal(encoder, 0, 1, &sealed), RBWP_OK);
    assert_int_equal(rbwp_writer_add_block(file->writer, &sealed), RBWP_OK);
    rbwp_row_encoder_free(encoder);
}
#define FILE_TABLE(file, schema, ...)                                                              \
    file_table(file, (struct rbwp_schema)schema, (const uint64_t[]){__VA_ARGS__},                  \
               sizeof(const uint64_t[]){__VA_ARGS__} / sizeof(uint64_t))

/* Work item 3 is "work", and sub-item 7 the handler "ping". trailer may be NULL. */
static inline void file_end(struct small_file *file, const struct rbwp_trailer *trailer)
{
    const struct rbwp_work_item_name item = {3, 4, "work"};
    const struct rbwp_sub_item_name sub_item = {7, RBWP_AM_HANDLER, 4, "ping"};
    assert_int_equal(rbwp_writer_finish(file->writer, &item, 1, &sub_item, 1, trailer), RBWP_OK);
    rbwp_writer_free(file->writer);
}

/* It stays readable. */
static inline void file_check(const struct small_file *file,
                              const struct trace_read_options *options, enum exit_code code,
                              const char *expected)
{
    static struct seen seen;
    assert_int_equal(see_file(&seen, file->fd, true, options), code);
    assert_string_equal(seen.text, expected);
}

#endif /* SMALL_FILE_H */
