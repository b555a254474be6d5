/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of tables (section TIDX): what a writer notes of blocks as they come is what is in
 * them, however many there are, and a verifier sees each value that is not.
 */
#include "format_support.h"
#include "rbwp_table.h"
#include "rbwp_verify.h"
#include "index.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 80

static const struct rbwp_column columns[] = {
    {.type = RBWP_COLUMN_TIME, .role = RBWP_ROLE_START, .name = "at", .name_bytes = 2},
    {.type = RBWP_COLUMN_U64, .role = RBWP_ROLE_COUNTER, .name = "n", .name_bytes = 1},
};

static struct rbwp_schema schema_of(uint32_t table)
{
    return (struct rbwp_schema){
        .table = table, .column_count = 2, .name = "t", .name_bytes = 1, .columns = columns};
}

/* ---- a file in memory -------------------------------------------------------------------- */

static enum rbwp_status append(void *context, const void *bytes, size_t count)
{
    put(context, bytes, count);
    return RBWP_OK;
}

static enum rbwp_status patch(void *context, uint64_t offset, const void *bytes, size_t count)
{
    struct bytes *file = context;
    memcpy(file->data + offset, bytes, count);
    return RBWP_OK;
}

static struct rbwp_writer *begin_file(struct bytes *file)
{
    struct rbwp_sink sink = {file, append, patch};
    struct rbwp_writer *writer;
    assert_int_equal(rbwp_writer_new(&sink, 0, 1000, false, &writer), RBWP_OK);
    return writer;
}

static void end_file(struct rbwp_writer *writer)
{
    const struct rbwp_trailer none = {0};
    assert_int_equal(rbwp_writer_finish(writer, NULL, 0, NULL, 0, &none), RBWP_OK);
    rbwp_writer_free(writer);
}

static void add_schema(struct rbwp_writer *writer, uint32_t table)
{
    struct rbwp_schema schema = schema_of(table);
    assert_int_equal(rbwp_writer_add_schema(writer, &schema), RBWP_OK);
}

/* Rows of the table from that number on, a microsecond apart. */
static void add_rows(struct rbwp_writer *writer, uint32_t table, uint64_t first_row, uint32_t rows,
                     uint64_t thread_id)
{
    struct rbwp_schema schema = schema_of(table);
    struct rbwp_row_encoder *encoder;
    struct rbwp_row_room room;
    struct rbwp_sealed_block block;
    assert_int_equal(rbwp_row_encoder_new(&schema, rows, first_row % 2, &encoder), RBWP_OK);
    rbwp_row_encoder_reserve(encoder, rows, &room);
    assert_int_equal(room.rows, rows);
    for (uint32_t i = 0; i < rows; i++) {
        room.cells[0][i] = 1000 * (first_row + i);
        room.cells[1][i] = i;
    }
    rbwp_row_encoder_commit(encoder, rows);
    assert_int_equal(rbwp_row_encoder_seal(encoder, thread_id, first_row, &block), RBWP_OK);
    assert_int_equal(rbwp_writer_add_block(writer, &block), RBWP_OK);
    rbwp_row_encoder_free(encoder);
}

static void add_name(struct rbwp_writer *writer, uint32_t number)
{
    const struct rbwp_text name = {"copy", 4};
    assert_int_equal(rbwp_writer_add_names(writer, number, &name, 1), RBWP_OK);
}

/* Two tables, names, a private block and blocks of records, in turns. */
static struct bytes mixed_file(void)
{
    struct bytes file = {0};
    struct rbwp_writer *writer = begin_file(&file);
    add_schema(writer, 7);
    add_rows(writer, 7, 1, 100, 5);
    add_name(writer, 1);
    add_schema(writer, 2);
    assert_int_equal(rbwp_writer_add_opaque(writer, "xtst", "", 0), RBWP_OK);
    add_rows(writer, 7, 101, 300, 5);
    add_rows(writer, 2, 10, 1, 0);
    add_name(writer, 9);
    end_file(writer);
    return file;
}

struct problems_found {
    unsigned count, rule;
};

static bool note(void *context, const struct rbwp_problem *problem)
{
    struct problems_found *problems_found = context;
    if (problems_found->count++ == 0)
        problems_found->rule = problem->error.rule;
    return true;
}

static struct problems_found verify(const struct bytes *file)
{
    struct problems_found problems_found = {0};
    struct rbwp_verify_result result;
    assert_int_equal(
        rbwp_verify_memory(file->data, file->size, note, &problems_found, &result, NULL), RBWP_OK);
    return problems_found;
}

static struct rbwp_reader *open_bytes(const struct bytes *file)
{
    struct rbwp_reader *reader;
    assert_int_equal(rbwp_reader_open_memory(file->data, file->size, NULL, &reader, NULL), RBWP_OK);
    return reader;
}

/* ---- tests ------------------------------------------------------------------------------- */

/* Guards: a range is what stands in the blocks of its table, compressed or not, and of no other. */
static void ranges_are_noted(void **state)
{
    (void)state;
    struct bytes file = mixed_file();
    assert_int_equal(verify(&file).count, 0);
    struct rbwp_reader *reader = open_bytes(&file);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    static const struct {
        uint32_t table;
        uint64_t rows, first_row, last_row, thread_id;
        int64_t first_ns, last_ns;
    } expected[] = {
        {7, 0, 0, 0, 0, 0, 0},
        {7, 100, 1, 100, 5, 1000, 100000},
        {0, 1, 1, 1, 0, 0, 0},
        {2, 0, 0, 0, 0, 0, 0},
        {7, 300, 101, 400, 5, 101000, 400000},
        {2, 1, 10, 10, 0, 10000, 10000},
        {0, 1, 9, 9, 0, 0, 0},
    };
    assert_int_equal(trailer->table_range_count, 7);
    for (unsigned i = 0; i < 7; i++) {
        const struct rbwp_table_range *range = &trailer->table_ranges[i];
        assert_int_equal(range->table, expected[i].table);
        assert_int_equal(range->blocks, 1);
        assert_int_equal(range->bytes, range->block_bytes);
        assert_int_equal(range->rows, expected[i].rows);
        assert_int_equal(range->first_row, expected[i].first_row);
        assert_int_equal(range->last_row, expected[i].last_row);
        assert_int_equal(range->thread_id, expected[i].thread_id);
        assert_int_equal(range->first_ns, expected[i].first_ns);
        assert_int_equal(range->last_ns, expected[i].last_ns);
    }
    /* Opaque blocks have no place in the times and threads of the index of records (R63). */
    for (uint32_t i = 0; i < trailer->index_count; i++)
        assert_true(trailer->index[i].thread_id == 0 && trailer->index[i].last_ns == 0);
    rbwp_reader_close(reader);
    bytes_free(&file);
}

/* Where the entries of TIDX, the last section, begin. */
static size_t entries_of(const struct bytes *file, uint32_t count)
{
    size_t at = file->size - 32 - count * ENTRY_BYTES;
    assert_memory_equal(file->data + at - 24, "TIDX", 4);
    return at;
}

/* Guards: R65 and R66: each field of a range, changed alone; a range that is missing or empty. */
static void ranges_are_compared(void **state)
{
    static const struct {
        unsigned offset, rule;
    } fields[] = {{0, 65},  {8, 65},  {16, 66}, {24, 65}, {28, 66}, {32, 66},
                  {40, 66}, {48, 66}, {56, 66}, {64, 66}, {72, 66}};
    (void)state;
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct bytes file = mixed_file();
        file.data[entries_of(&file, 7) + ENTRY_BYTES + fields[i].offset] ^= 1;
        seal_trailer(&file);
        assert_int_equal(verify(&file).rule, fields[i].rule);
        bytes_free(&file);
    }
    for (uint32_t kept = 0; kept < 7; kept++) {
        struct bytes file = mixed_file();
        size_t at = entries_of(&file, 7);
        memmove(file.data + at + kept * ENTRY_BYTES, file.data + file.size - 32, 32);
        file.size -= (7 - kept) * ENTRY_BYTES;
        set_le(&file, at - 16, 8 + kept * ENTRY_BYTES, 8);
        set_le(&file, at - 4, kept, 4);
        seal_trailer(&file);
        assert_int_equal(verify(&file).rule, 65);
        bytes_free(&file);
    }
}

static uint32_t range_count(const struct bytes *file, uint64_t *rows_out)
{
    struct rbwp_reader *reader = open_bytes(file);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    uint32_t count = trailer->table_range_count;
    *rows_out = 0;
    for (uint32_t i = 0; i < count; i++)
        *rows_out += trailer->table_ranges[i].rows;
    rbwp_reader_close(reader);
    return count;
}

/* Guards: the index is bounded, and true however often neighbours were joined: also of blocks of
 * several threads, of tables of very different size, and with blocks of others between them. */
static void ranges_are_bounded(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct rbwp_writer *writer = begin_file(&file);
    uint64_t rows;
    for (uint32_t table = 1; table <= 50; table++)
        add_schema(writer, table);
    for (uint32_t i = 0; i < 9000; i++)
        add_rows(writer, i % 3 ? 1 : 1 + i / 3 % 50, 1 + i, 1, i / 1000);
    end_file(writer);
    uint32_t count = range_count(&file, &rows);
    assert_true(count > TABLE_RANGES_MAX / 4 && count <= TABLE_RANGES_MAX);
    assert_int_equal(rows, 9000);
    assert_int_equal(verify(&file).count, 0);
    bytes_free(&file);
}

/* Guards: more tables than ranges: no index rather than a wrong one. */
static void too_many_tables_have_no_index(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct rbwp_writer *writer = begin_file(&file);
    uint64_t rows;
    for (uint32_t table = 1; table <= TABLE_RANGES_MAX + 1; table++)
        add_schema(writer, table);
    end_file(writer);
    assert_int_equal(range_count(&file, &rows), 0);
    assert_int_equal(verify(&file).count, 0);
    bytes_free(&file);
}

/* Guards: what cannot be a block of a table is none, and no byte behind the given ones is read. */
static void heads_are_checked(void **state)
{
    struct rbwp_block_header header = {.thread_id = 3};
    struct rbwp_table_range range;
    struct bytes good = {0};
    (void)state;
    put(&good, "rows", 4);
    put_le(&good, 65535, 4);
    put_le(&good, 2, 4);
    put_le(&good, 5, 8);
    put(&good, (char[16]){0}, 16);
    assert_true(table_range_of(&header, good.data, good.size, &range));
    assert_int_equal(range.last_row, 6);
    for (size_t count = 0; count < good.size; count++) {
        uint8_t *exact = malloc(count + !count);
        memcpy(exact, good.data, count);
        assert_false(table_range_of(&header, exact, count, &range));
        free(exact);
    }
    header.records = 1;
    assert_false(table_range_of(&header, good.data, good.size, &range));
    header.records = 0;
    static const struct {
        unsigned offset;
        uint64_t value;
        unsigned size;
    } bad[] = {{4, 0, 4}, {4, 65536, 4}, {8, 0, 4}, {12, 0, 8}, {12, UINT64_MAX, 8}};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct bytes copy = {0};
        put(&copy, good.data, good.size);
        set_le(&copy, bad[i].offset, bad[i].value, bad[i].size);
        assert_false(table_range_of(&header, copy.data, copy.size, &range));
        bytes_free(&copy);
    }
    assert_false(table_range_of(&header, (const uint8_t *)"name\0\0\0\0\1\0\0", 12, &range));
    assert_false(table_range_of(&header, (const uint8_t *)"name\1\0\0\0\0\0\0", 12, &range));
    assert_false(table_range_of(&header, (const uint8_t *)"tsch\0\0\0", 8, &range));
    bytes_free(&good);
}

/* Guards: a reader goes where a range begins, back and forth, also when it was at the end; what is
 * wrong behind the blocks is reported once however often the end is reached. */
static void reader_goes_where_a_range_is(void **state)
{
    (void)state;
    struct bytes file = mixed_file();
    file.data[file.size - 33] ^= 1; /* R51: the trailer is dropped */
    struct bytes good = mixed_file();
    struct rbwp_reader *reader = open_bytes(&file), *places = open_bytes(&good);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(places);
    struct rbwp_block block;
    assert_int_equal(rbwp_reader_seek(reader, 35), RBWP_E_INVALID);
    assert_int_equal(rbwp_reader_seek(reader, file.size + 1), RBWP_E_INVALID);
    for (unsigned round = 0; round < 3; round++) {
        for (uint32_t i = trailer->table_range_count; i-- > 0;) {
            uint64_t offset = trailer->table_ranges[i].offset;
            assert_int_equal(rbwp_reader_seek(reader, offset), RBWP_OK);
            assert_int_equal(rbwp_reader_next_block(reader, &block), RBWP_OK);
            assert_int_equal(block.offset, offset);
        }
        while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
            ;
        assert_int_equal(rbwp_reader_problem_count(reader), 1);
    }
    rbwp_reader_close(reader);
    rbwp_reader_close(places);
    struct opened opened = open_pipe_way(&good);
    assert_int_equal(rbwp_reader_open_fd(opened.fd, NULL, &reader, NULL), RBWP_OK);
    assert_int_equal(rbwp_reader_seek(reader, 36), RBWP_E_STATE);
    rbwp_reader_close(reader);
    close_way(&opened);
    bytes_free(&good);
    bytes_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_noted),   cmocka_unit_test(ranges_are_compared),
        cmocka_unit_test(ranges_are_bounded), cmocka_unit_test(too_many_tables_have_no_index),
        cmocka_unit_test(heads_are_checked),  cmocka_unit_test(reader_goes_where_a_range_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
