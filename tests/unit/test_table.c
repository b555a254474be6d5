/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: what is written is read back, cell for cell; what breaks R44 to R49 is named by its rule
 * and the rest is read; a hostile block costs no more memory than the limits say.
 */
#include "format_support.h"
#include "column_code.h"
#include "rbwp_table.h"
#include "rbwp_verify.h"
#include "table_rows.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static const struct rbwp_column span_columns[] = {
    RBWP_COLUMN(TIME, START, "start", ""),
    RBWP_COLUMN(DURATION, STOP, "duration", ""),
    RBWP_COLUMN(NAME, LABEL, "what", ""),
    RBWP_COLUMN(U64, ID, "id", ""),
    RBWP_COLUMN(BYTES, NONE, "note", ""),
    {.type = RBWP_COLUMN_ROW, .role = RBWP_ROLE_PARENT, .table = 5, .name = "in", .name_bytes = 2},
};
static const struct rbwp_schema span_schema = {
    .table = 5,
    .version = 1,
    .column_count = 6,
    .name = "span",
    .name_bytes = 4,
    .columns = span_columns,
};

/* ---- a file in memory -------------------------------------------------------------------- */

static enum rbwp_status append(void *context, const void *bytes, size_t count)
{
    put(context, bytes, count);
    return RBWP_OK;
}

static enum rbwp_status patch(void *context, uint64_t offset, const void *bytes, size_t count)
{
    struct bytes *file = context;
    assert_true(offset + count <= file->size);
    memcpy(file->data + offset, bytes, count);
    return RBWP_OK;
}

static struct rbwp_writer *new_writer(struct bytes *file)
{
    struct rbwp_sink sink = {file, append, patch};
    struct rbwp_writer *writer;
    assert_int_equal(rbwp_writer_new(&sink, 0, 1000, false, &writer), RBWP_OK);
    return writer;
}

static void finish(struct rbwp_writer *writer)
{
    struct rbwp_trailer trailer = {.writer = "test", .writer_bytes = 4};
    assert_int_equal(rbwp_writer_finish(writer, NULL, 0, NULL, 0, &trailer), RBWP_OK);
    rbwp_writer_free(writer);
}

/* What a catalog says of all blocks: rows read, and the rule of the first error. */
struct problems_found {
    uint64_t rows;
    unsigned rule, errors;
};

static struct problems_found take_all(const struct bytes *file)
{
    struct problems_found problems_found = {0};
    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct rbwp_catalog *catalog = rbwp_catalog_new();
    assert_int_equal(rbwp_reader_open_memory(file->data, file->size, NULL, &reader, NULL), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        struct rbwp_rows rows;
        struct rbwp_error error;
        enum rbwp_status status = rbwp_catalog_take(catalog, &block, &rows, &error);
        if (status == RBWP_OK)
            problems_found.rows += rows.rows;
        else if (status < 0 && problems_found.errors++ == 0)
            problems_found.rule = error.rule;
    }
    rbwp_catalog_free(catalog);
    rbwp_reader_close(reader);
    return problems_found;
}

static bool note_rule(void *context, const struct rbwp_problem *problem)
{
    struct problems_found *problems_found = context;
    if (problems_found->errors++ == 0)
        problems_found->rule = problem->error.rule;
    return true;
}

/* The verifier finds the same. */
static struct problems_found check_all(const struct bytes *file)
{
    struct problems_found problems_found = {0};
    struct rbwp_verify_result result;
    assert_int_equal(
        rbwp_verify_memory(file->data, file->size, note_rule, &problems_found, &result, NULL),
        RBWP_OK);
    problems_found.rows = result.table_rows;
    return problems_found;
}

static void expect(const struct bytes *file, uint64_t rows, unsigned rule)
{
    struct problems_found taken = take_all(file), checked = check_all(file);
    assert_int_equal(taken.rows, rows);
    assert_int_equal(taken.rule, rule);
    assert_int_equal(checked.rows, rows);
    assert_int_equal(checked.rule, rule);
}

/* ---- columns ------------------------------------------------------------------------------ */

#define CELLS 3000

static void round_trip(const uint64_t *cells, uint32_t rows, enum column_code expected)
{
    enum column_code code;
    uint8_t *bytes = malloc(column_bytes_max(rows));
    uint64_t *again = malloc(rows * sizeof *again);
    assert_non_null(bytes);
    assert_non_null(again);
    size_t used = column_encode(cells, rows, bytes, &code);
    assert_true(used <= column_bytes_max(rows));
    assert_int_equal(code, expected);
    uint8_t *exact = malloc(used + 1); /* so that a read beyond is found */
    memcpy(exact, bytes, used);
    assert_true(column_decode(code, exact, used, rows, again));
    assert_memory_equal(again, cells, rows * sizeof *again);
    assert_false(column_decode(code, exact, used - 1, rows, again));
    exact[used] = 0;
    assert_false(column_decode(code, exact, used + 1, rows, again));
    free(exact);
    free(again);
    free(bytes);
}

/* Each code is chosen for the cells that it is for, and gives them back. */
static void test_columns(void **state)
{
    uint64_t cells[CELLS], seed = 1;
    (void)state;
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = 7;
    round_trip(cells, CELLS, COLUMN_CONSTANT);
    round_trip(cells, 1, COLUMN_CONSTANT);
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = UINT64_C(1700000000000000000) + i * 1000 + next_random(&seed) % 900;
    round_trip(cells, CELLS, COLUMN_DELTA);
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = next_random(&seed) % 30000;
    round_trip(cells, CELLS, COLUMN_VARINT);
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = next_random(&seed) << 40 ^ next_random(&seed) << 20 ^ next_random(&seed);
    round_trip(cells, CELLS, COLUMN_PLAIN);
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = UINT64_C(0x7f0000001000) << next_random(&seed) % 8;
    round_trip(cells, CELLS, COLUMN_DICTIONARY);
    cells[CELLS - 1] = UINT64_MAX;
    round_trip(cells, CELLS, COLUMN_DICTIONARY);
}

/* A dictionary that the sample promises and the rest breaks is given up, and nothing is lost. */
static void test_dictionary_given_up(void **state)
{
    static uint64_t cells[1 << 16];
    (void)state;
    for (uint32_t i = 0; i < 1 << 16; i++)
        cells[i] = UINT64_C(0x123456789abcdef) << (i / 16 % 5);
    for (uint32_t i = 8192 - 600; i < 8192; i++) /* between two runs of the sample */
        cells[i] = UINT64_C(0x1000000000) * i;
    round_trip(cells, 1 << 16, COLUMN_DELTA);
}

/* Extremes of both signs, alone and beside each other. */
static void test_extremes(void **state)
{
    static const uint64_t values[] = {
        0, 1, 127, 128, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, 16383, 16384};
    uint8_t bytes[2 * 11];
    (void)state;
    for (size_t a = 0; a < 10; a++)
        for (size_t b = 0; b < 10; b++) {
            uint64_t cells[2] = {values[a], values[b]}, again[2];
            enum column_code code;
            uint8_t room[64];
            size_t used = column_encode(cells, 2, room, &code);
            assert_true(used <= sizeof bytes + 8);
            assert_true(column_decode(code, room, used, 2, again));
            assert_memory_equal(again, cells, sizeof cells);
        }
}

/* A varint has at most 64 bits; lengths of bytes do not run over the column. */
static void test_bad_columns(void **state)
{
    static const uint8_t too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
    static const uint8_t too_long[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                       0x80, 0x80, 0x80, 0x80, 0};
    static const uint8_t over[] = {2, 9, 'a', 'b'}, number[] = {2, 5, 6, 0, 1, 2};
    uint64_t cells[3];
    (void)state;
    assert_false(column_decode(COLUMN_VARINT, too_large, sizeof too_large, 1, cells));
    assert_false(column_decode(COLUMN_VARINT, too_long, sizeof too_long, 1, cells));
    assert_false(column_decode_bytes(over, sizeof over, 2, 0, cells));
    assert_false(column_decode(COLUMN_DICTIONARY, number, sizeof number, 3, cells));
    static const uint8_t empty[] = {0, 0, 0, 0}, cut[] = {0x80};
    assert_false(column_decode(COLUMN_DICTIONARY, empty, sizeof empty, 3, cells));
    assert_false(column_decode(COLUMN_DICTIONARY, empty, 1, 0, cells));
    assert_false(column_decode(COLUMN_DICTIONARY, cut, sizeof cut, 0, cells));
    assert_false(column_decode(17, number, sizeof number, 3, cells));
}

/* ---- files -------------------------------------------------------------------------------- */

struct row {
    uint64_t start, duration, what, id, in;
    char note[32];
};

static struct row row_of(uint64_t number)
{
    struct row row = {
        .start = UINT64_C(1700000000000000000) + number * 1000 + number % 7,
        .duration = number % 91 * 13,
        .what = number % 4,
        .id = number,
        .in = number > 3 ? number - 3 : 0,
    };
    snprintf(row.note, sizeof row.note, "%.*s", (int)(number % 20), "what was done there");
    return row;
}

static void seal(struct rbwp_writer *writer, struct rbwp_row_encoder *encoder, uint64_t *next_row,
                 uint32_t rows)
{
    struct rbwp_sealed_block block;
    assert_int_equal(rbwp_row_encoder_seal(encoder, 3, *next_row, &block), RBWP_OK);
    assert_int_equal(rbwp_writer_add_block(writer, &block), RBWP_OK);
    *next_row += rows;
}

static struct bytes write_rows(uint64_t rows, uint32_t rows_max, bool compress)
{
    static const struct rbwp_text names[] = {{"copy", 4}, {"", 0}, {"flush\0x", 7}};
    struct bytes file = {0};
    struct rbwp_writer *writer = new_writer(&file);
    struct rbwp_row_encoder *encoder;
    uint64_t next_row = 1;
    assert_int_equal(rbwp_writer_add_schema(writer, &span_schema), RBWP_OK);
    assert_int_equal(rbwp_writer_add_names(writer, 1, names, 3), RBWP_OK);
    assert_int_equal(rbwp_row_encoder_new(&span_schema, rows_max, compress, &encoder), RBWP_OK);
    uint32_t in_block = 0;
    for (uint64_t number = 1; number <= rows; number++) {
        struct row row = row_of(number);
        struct rbwp_row_room room;
        rbwp_row_encoder_reserve(encoder, 2, &room);
        if (room.rows == 0) {
            seal(writer, encoder, &next_row, in_block);
            in_block = 0;
            rbwp_row_encoder_reserve(encoder, 2, &room);
        }
        assert_true(room.rows >= 1);
        room.cells[0][0] = row.start;
        room.cells[1][0] = row.duration;
        room.cells[2][0] = row.what;
        room.cells[3][0] = row.id;
        assert_int_equal(rbwp_row_encoder_bytes(encoder, row.note, (uint32_t)strlen(row.note),
                                                &room.cells[4][0]),
                         RBWP_OK);
        room.cells[5][0] = row.in;
        rbwp_row_encoder_commit(encoder, 1);
        in_block++;
    }
    seal(writer, encoder, &next_row, in_block);
    struct rbwp_sealed_block none;
    assert_int_equal(rbwp_row_encoder_seal(encoder, 3, next_row, &none), RBWP_END);
    rbwp_row_encoder_free(encoder);
    finish(writer);
    return file;
}

static void check_rows(const struct rbwp_rows *rows)
{
    assert_int_equal(rows->thread_id, 3);
    assert_int_equal(rows->first_ns, row_of(rows->first_row).start);
    assert_int_equal(rows->last_ns, row_of(rows->first_row + rows->rows - 1).start);
    for (uint32_t i = 0; i < rows->rows; i++) {
        struct row row = row_of(rows->first_row + i);
        struct rbwp_text note = rbwp_rows_bytes(rows, rows->cells[4][i]);
        assert_int_equal(rows->cells[0][i], row.start);
        assert_int_equal(rows->cells[1][i], row.duration);
        assert_int_equal(rows->cells[2][i], row.what);
        assert_int_equal(rows->cells[3][i], row.id);
        assert_int_equal(note.bytes, strlen(row.note));
        assert_memory_equal(note.text, row.note, note.bytes);
        assert_int_equal(rows->cells[5][i], row.in);
    }
}

/* What the blocks of a good file say of schemas and names. */
static struct rbwp_catalog *learn(const struct bytes *file)
{
    struct rbwp_catalog *catalog = rbwp_catalog_new();
    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct rbwp_rows rows;
    assert_int_equal(rbwp_reader_open_memory(file->data, file->size, NULL, &reader, NULL), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        assert_true(rbwp_catalog_take(catalog, &block, &rows, NULL) >= 0);
    rbwp_reader_close(reader);
    return catalog;
}

/* All rows come back, through blocks of any size, compressed or not; schema and names too. */
static void test_file(void **state)
{
    static const struct {
        uint32_t rows, rows_max;
        bool compress;
    } cases[] = {
        {1, 0, true}, {1000, 7, false}, {1000, 7, true}, {50000, 0, true}, {50000, 0, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes file = write_rows(cases[i].rows, cases[i].rows_max, cases[i].compress);
        struct rbwp_reader *reader;
        struct rbwp_block block;
        struct rbwp_rows rows;
        struct rbwp_error error;
        struct rbwp_catalog *catalog = rbwp_catalog_new();
        uint64_t next_row = 1;
        expect(&file, cases[i].rows, 0);
        assert_int_equal(rbwp_reader_open_memory(file.data, file.size, NULL, &reader, NULL),
                         RBWP_OK);
        while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
            if (rbwp_catalog_take(catalog, &block, &rows, &error) != RBWP_OK)
                continue;
            assert_int_equal(rows.first_row, next_row);
            next_row += rows.rows;
            check_rows(&rows);
        }
        assert_int_equal(rbwp_catalog_schema_count(catalog), 1);
        assert_int_equal(rbwp_catalog_row_count(catalog, 0), cases[i].rows);
        const struct rbwp_schema *schema = rbwp_catalog_schema(catalog, 0);
        assert_memory_equal(schema->name, "span", 4);
        assert_memory_equal(schema->columns[1].name, "duration", 8);
        assert_int_equal(schema->columns[5].role, RBWP_ROLE_PARENT);
        assert_int_equal(rbwp_catalog_name(catalog, 3).bytes, 7);
        assert_memory_equal(rbwp_catalog_name(catalog, 3).text, "flush\0x", 7);
        assert_int_equal(rbwp_catalog_name(catalog, 2).bytes, 0);
        assert_int_equal(rbwp_catalog_name(catalog, 4).bytes, 0);
        assert_int_equal(rbwp_catalog_name(catalog, 0).bytes, 0);
        rbwp_catalog_free(catalog);
        rbwp_reader_close(reader);
        bytes_free(&file);
    }
}

/* ---- what breaks a rule -------------------------------------------------------------------- */

/* An opaque block, byte by byte. */
static void put_opaque(struct bytes *file, const char *tag, const struct bytes *data)
{
    put_block_header(file, 0, 0, 0, 0, (uint32_t)data->size + 4, 0);
    put(file, tag, 4);
    put(file, data->data, data->size);
}

/* Table 1, one column "a" of this type, which names rows of the other table. */
static struct bytes schema_bytes(uint32_t table, uint8_t type, uint16_t other)
{
    struct bytes data = {0};
    put_le(&data, table, 4);
    put_le(&data, 1, 2);
    put_le(&data, 1, 2);
    put_le(&data, 1, 2);
    put_le(&data, 0, 2);
    put_le(&data, type, 1);
    put_le(&data, 0, 1);
    put_le(&data, other, 2);
    put_le(&data, 1, 2);
    put_le(&data, 0, 2);
    put(&data, "ta", 2);
    return data;
}

/* Rows of one column of varints below 128. */
static struct bytes rows_bytes(uint32_t table, uint64_t first_row, const char *values)
{
    struct bytes data = {0};
    uint32_t rows = (uint32_t)strlen(values);
    put_le(&data, table, 4);
    put_le(&data, rows, 4);
    put_le(&data, first_row, 8);
    put_le(&data, 0, 8);
    put_le(&data, 0, 8);
    put_le(&data, 1, 4);
    put_le(&data, 0, 4);
    put_le(&data, COLUMN_VARINT, 4);
    put_le(&data, rows, 4);
    put(&data, values, rows);
    return data;
}

static struct bytes names_bytes(uint32_t first, uint32_t count)
{
    struct bytes data = {0};
    put_le(&data, first, 4);
    put_le(&data, count, 4);
    for (uint32_t i = 0; i < count; i++)
        put_le(&data, 1, 4);
    for (uint32_t i = 0; i < count; i++)
        put(&data, "n", 1);
    return data;
}

/* Appends a block made of data, which is freed. */
static void add(struct bytes *file, const char *tag, struct bytes data)
{
    put_opaque(file, tag, &data);
    bytes_free(&data);
}

static struct bytes start_file(void)
{
    struct bytes file = {0};
    put_header(&file, 0, 0, 0);
    return file;
}

/* The file broken by one block, in the middle of good ones, of which all rows (4) are read. */
static void expect_broken(const char *tag, struct bytes data, unsigned rule)
{
    struct bytes file = start_file();
    add(&file, RBWP_SCHEMA_TAG, schema_bytes(1, RBWP_COLUMN_U64, 0));
    add(&file, RBWP_NAMES_TAG, names_bytes(1, 2));
    add(&file, RBWP_ROWS_TAG, rows_bytes(1, 1, "\1\2"));
    add(&file, tag, data);
    add(&file, RBWP_ROWS_TAG, rows_bytes(1, 3, "\1\2"));
    expect(&file, 4, rule);
    bytes_free(&file);
}

static struct bytes cut(struct bytes data)
{
    data.size--;
    return data;
}

static struct bytes changed(struct bytes data, size_t offset, uint64_t value, unsigned size)
{
    set_le(&data, offset, value, size);
    return data;
}

/* R44 to R49, each alone: named by its number, and the rest of the file is read. */
static void test_rules(void **state)
{
    (void)state;
    expect_broken(RBWP_SCHEMA_TAG, cut(schema_bytes(2, RBWP_COLUMN_U64, 0)), 44);
    expect_broken(RBWP_SCHEMA_TAG, schema_bytes(0, RBWP_COLUMN_U64, 0), 44);
    expect_broken(RBWP_SCHEMA_TAG, schema_bytes(65536, RBWP_COLUMN_U64, 0), 44);
    expect_broken(RBWP_SCHEMA_TAG, schema_bytes(2, 0, 0), 44);
    expect_broken(RBWP_SCHEMA_TAG, schema_bytes(2, 9, 0), 44);
    expect_broken(RBWP_SCHEMA_TAG, schema_bytes(2, RBWP_COLUMN_ROW, 0), 44);
    expect_broken(RBWP_SCHEMA_TAG, changed(schema_bytes(2, RBWP_COLUMN_U64, 0), 6, 0, 2), 44);
    expect_broken(RBWP_SCHEMA_TAG, changed(schema_bytes(2, RBWP_COLUMN_U64, 0), 6, 2, 2), 44);
    expect_broken(RBWP_SCHEMA_TAG, schema_bytes(1, RBWP_COLUMN_I64, 0), 45);
    expect_broken(RBWP_SCHEMA_TAG, schema_bytes(2, RBWP_COLUMN_ROW, 3), 46);
    expect_broken(RBWP_NAMES_TAG, names_bytes(2, 1), 47);
    expect_broken(RBWP_NAMES_TAG, names_bytes(3, 0), 47);
    expect_broken(RBWP_NAMES_TAG, cut(names_bytes(3, 2)), 47);
    expect_broken(RBWP_NAMES_TAG, changed(names_bytes(3, 1), 8, UINT32_MAX, 4), 47);
    expect_broken(RBWP_ROWS_TAG, cut(rows_bytes(1, 3, "\1\2")), 48);
    expect_broken(RBWP_ROWS_TAG, changed(rows_bytes(1, 3, "\1\2"), 4, 0, 4), 48);
    expect_broken(RBWP_ROWS_TAG, changed(rows_bytes(1, 3, "\1\2"), 4, UINT32_MAX, 4), 48);
    expect_broken(RBWP_ROWS_TAG, changed(rows_bytes(1, 3, "\1\2"), 4, 3, 4), 48);
    expect_broken(RBWP_ROWS_TAG, changed(rows_bytes(1, 3, "\1\2"), 16, 1, 8), 48);
    expect_broken(RBWP_ROWS_TAG, changed(rows_bytes(1, 3, "\1\2"), 32, 2, 4), 48);
    expect_broken(RBWP_ROWS_TAG, changed(rows_bytes(1, 3, "\1\2"), 40, 9, 1), 48);
    expect_broken(RBWP_ROWS_TAG, changed(rows_bytes(1, 3, "\1\2"), 40, COLUMN_BYTES, 1), 48);
    expect_broken(RBWP_ROWS_TAG, changed(rows_bytes(1, 3, "\1\2"), 44, 1, 4), 48);
    expect_broken(RBWP_ROWS_TAG, rows_bytes(2, 1, "\1"), 49);
    expect_broken(RBWP_ROWS_TAG, rows_bytes(1, 2, "\1"), 49);
    expect_broken("rows", (struct bytes){0}, 48);
}

/* Names and rows that are not there yet, and rows in a circle (R49). */
static void test_references(void **state)
{
    static const struct {
        uint8_t type;
        uint16_t of;
        const char *values;
        unsigned rule;
    } cases[] = {
        {RBWP_COLUMN_NAME, 0, "\2\1", 0}, {RBWP_COLUMN_NAME, 0, "\1\3", 49},
        {RBWP_COLUMN_ROW, 2, "\7\1", 49}, {RBWP_COLUMN_ROW, 2, "\1\2", 49},
        {RBWP_COLUMN_ROW, 1, "\2\1", 0},  {RBWP_COLUMN_ROW, 1, "\3\1", 49},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes file = start_file();
        add(&file, RBWP_NAMES_TAG, names_bytes(1, 2));
        add(&file, RBWP_SCHEMA_TAG, schema_bytes(1, RBWP_COLUMN_U64, 0));
        add(&file, RBWP_ROWS_TAG, rows_bytes(1, 1, "\1\1"));
        add(&file, RBWP_SCHEMA_TAG, schema_bytes(2, cases[i].type, cases[i].of));
        add(&file, RBWP_ROWS_TAG, rows_bytes(2, 1, cases[i].values));
        expect(&file, cases[i].rule ? 2 : 4, cases[i].rule);
        bytes_free(&file);
    }
}

/* The same schema again, gaps in numbers, and a block with fewer columns than the schema are fine.
 */
static void test_allowed(void **state)
{
    struct bytes file = start_file(), wide = {0};
    (void)state;
    put_le(&wide, 1, 4);
    put_le(&wide, 2, 2);
    put_le(&wide, 2, 2);
    put_le(&wide, 0, 4);
    for (int i = 0; i < 2; i++)
        put_le(&wide, RBWP_COLUMN_U64, 8);
    add(&file, RBWP_SCHEMA_TAG, wide);
    add(&file, RBWP_SCHEMA_TAG, schema_bytes(2, RBWP_COLUMN_U64, 0));
    add(&file, RBWP_SCHEMA_TAG, schema_bytes(2, RBWP_COLUMN_U64, 0));
    add(&file, RBWP_NAMES_TAG, names_bytes(5, 2));
    add(&file, RBWP_NAMES_TAG, names_bytes(17, 2));
    add(&file, RBWP_ROWS_TAG, rows_bytes(1, 4, "\1\2"));
    add(&file, RBWP_ROWS_TAG, rows_bytes(1, 9, "\1"));
    expect(&file, 3, 0);
    bytes_free(&file);
}

/* Many rows of many columns in a few bytes: refused before anything is allocated (R48). */
static void test_bomb(void **state)
{
    struct bytes data = {0}, file = start_file();
    (void)state;
    put_le(&data, 1, 4);
    put_le(&data, 1, 2);
    put_le(&data, 256, 2);
    put_le(&data, 0, 4);
    for (int i = 0; i < 256; i++)
        put_le(&data, RBWP_COLUMN_U64, 8);
    add(&file, RBWP_SCHEMA_TAG, data);
    data = (struct bytes){0};
    put_le(&data, 1, 4);
    put_le(&data, RBWP_ROWS_MAX, 4);
    put_le(&data, 1, 8);
    put_le(&data, 0, 8);
    put_le(&data, 0, 8);
    put_le(&data, 256, 4);
    put_le(&data, 0, 4);
    for (int i = 0; i < 256; i++)
        put_le(&data, COLUMN_CONSTANT | UINT64_C(1) << 32, 8);
    for (int i = 0; i < 256; i++)
        put_le(&data, 1, 1);
    add(&file, RBWP_ROWS_TAG, data);
    expect(&file, 0, 48);
    bytes_free(&file);
}

/* Many names are compressed together, few are as they are; all come back. */
static void test_names_compressed(void **state)
{
    static const uint32_t counts[] = {1, 400};
    struct rbwp_text names[400];
    char texts[400][96];
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct bytes file = {0};
        struct rbwp_writer *writer = new_writer(&file);
        uint64_t text_bytes = 0;
        for (uint32_t n = 0; n < counts[i]; n++) {
            snprintf(texts[n], sizeof texts[n], "void kernel<%u, float>(float *, int) of %u", n,
                     n * 977 % 89);
            names[n] = (struct rbwp_text){texts[n], (uint32_t)strlen(texts[n])};
            text_bytes += names[n].bytes;
        }
        size_t before = file.size;
        assert_int_equal(rbwp_writer_add_names(writer, 1, names, counts[i]), RBWP_OK);
        size_t added = file.size - before;
        finish(writer);
        if (counts[i] == 1)
            assert_int_equal(added, RBWP_BLOCK_HEADER_BYTES + 4 + 8 + 4 + text_bytes);
        else
            assert_true(added < text_bytes / 4);
        struct rbwp_catalog *catalog = learn(&file);
        for (uint32_t n = 0; n < counts[i]; n++) {
            struct rbwp_text name = rbwp_catalog_name(catalog, n + 1);
            assert_int_equal(name.bytes, names[n].bytes);
            assert_memory_equal(name.text, names[n].text, name.bytes);
        }
        rbwp_catalog_free(catalog);
        bytes_free(&file);
    }
}

/* What cannot be written is refused. */
static void test_refused(void **state)
{
    struct bytes file = {0};
    struct rbwp_writer *writer = new_writer(&file);
    struct rbwp_row_encoder *encoder;
    struct rbwp_schema bad = span_schema;
    struct rbwp_text name = {"n", 1};
    (void)state;
    assert_int_equal(rbwp_writer_add_names(writer, 0, &name, 1), RBWP_E_INVALID);
    assert_int_equal(rbwp_writer_add_names(writer, 1, &name, 0), RBWP_E_INVALID);
    assert_int_equal(rbwp_writer_add_names(writer, UINT32_MAX, &name, 1), RBWP_E_INVALID);
    assert_int_equal(rbwp_writer_add_names(writer, UINT32_MAX - 1, &name, 1), RBWP_OK);
    assert_int_equal(rbwp_row_encoder_new(&span_schema, RBWP_ROWS_MAX + 1, true, &encoder),
                     RBWP_E_INVALID);
    assert_int_equal(rbwp_row_encoder_new(&span_schema, RBWP_ROWS_MAX, true, &encoder),
                     RBWP_E_INVALID);
    bad.table = 0;
    assert_int_equal(rbwp_writer_add_schema(writer, &bad), RBWP_E_INVALID);
    assert_int_equal(rbwp_row_encoder_new(&bad, 0, true, &encoder), RBWP_E_INVALID);
    assert_string_equal(rbwp_column_type_name(RBWP_COLUMN_ROW), "row");
    assert_string_equal(rbwp_column_type_name(99), "unknown");
    assert_string_equal(rbwp_column_role_name(RBWP_ROLE_COUNTER), "counter");
    assert_string_equal(rbwp_column_role_name(99), "");
    finish(writer);
    bytes_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_dictionary_given_up),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_bad_columns),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names_compressed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
