/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_table [ROWS]: what rows of tables cost.
 *
 * Rows of five columns (time, duration, two ids, a number) with gaps and durations that are
 * log-normal are written in bulk into memory and read back. Prints rows a second of CPU and bytes a
 * row, and beside them what zstd -3 makes of the same columns, each on its own, with times as
 * differences; once as words of 8 bytes and once as varints. The library of zstd is asked for when
 * the program runs; without it that line is dropped. Then the same rows go into sessions, in bulk
 * and one by one, beside two bare clock reads.
 */
#include "bench.h"
#include "bench_random.h"
#include "rbwp_rows.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 5
#define ROWS_AT_ONCE 256
#define ROUNDS 5

struct columns {
    uint64_t *cells[COLUMNS];
    uint32_t rows;
};

static struct columns make_columns(uint32_t rows)
{
    struct columns columns = {.rows = rows};
    uint64_t time_ns = UINT64_C(1700000000000000000);
    for (int c = 0; c < COLUMNS; c++) {
        columns.cells[c] = malloc((size_t)rows * sizeof(uint64_t));
        require(columns.cells[c], "memory for the rows");
    }
    for (uint32_t i = 0; i < rows; i++) {
        time_ns += (uint64_t)random_log_normal(7, 1);
        columns.cells[0][i] = time_ns;
        columns.cells[1][i] = (uint64_t)random_log_normal(8, 1.2);
        columns.cells[2][i] = 1 + (uint64_t)(pow(random_uniform(), 3) * 40);
        columns.cells[3][i] = UINT64_C(0x7f0012340000) + ((uint64_t)(random_uniform() * 8) << 12);
        columns.cells[4][i] =
            (uint64_t)(i % 3 ? 64 * floor(1 + random_uniform() * 64) : random_uniform() * 1e6);
    }
    return columns;
}

/* ---- a file in memory ----------------------------------------------------------------- */

struct memory {
    uint8_t *bytes;
    size_t used, room;
};

static enum rbwp_status append(void *context, const void *bytes, size_t count)
{
    struct memory *memory = context;
    if (count > memory->room - memory->used)
        return RBWP_E_LIMIT;
    memcpy(memory->bytes + memory->used, bytes, count);
    memory->used += count;
    return RBWP_OK;
}

static enum rbwp_status patch(void *context, uint64_t offset, const void *bytes, size_t count)
{
    struct memory *memory = context;
    memcpy(memory->bytes + offset, bytes, count);
    return RBWP_OK;
}

static const struct rbwp_column schema_columns[COLUMNS] = {
    {.type = RBWP_COLUMN_TIME, .role = RBWP_ROLE_START, .name = "start", .name_bytes = 5},
    {.type = RBWP_COLUMN_DURATION, .role = RBWP_ROLE_STOP, .name = "duration", .name_bytes = 8},
    {.type = RBWP_COLUMN_U64, .name = "what", .name_bytes = 4},
    {.type = RBWP_COLUMN_U64, .role = RBWP_ROLE_THREAD, .name = "thread", .name_bytes = 6},
    {.type = RBWP_COLUMN_U64, .name = "size", .name_bytes = 4},
};
static const struct rbwp_schema schema = {
    .table = 1,
    .version = 1,
    .column_count = COLUMNS,
    .name = "bench",
    .name_bytes = 5,
    .columns = schema_columns,
};

static void seal(struct rbwp_row_encoder *encoder, struct rbwp_writer *writer, uint64_t first_row)
{
    struct rbwp_sealed_block block;
    require(rbwp_row_encoder_seal(encoder, 0, first_row, &block) == RBWP_OK &&
                rbwp_writer_add_block(writer, &block) == RBWP_OK,
            "write a block of rows");
}

static void write_rows(const struct columns *columns, bool compress, struct memory *memory)
{
    struct rbwp_sink sink = {memory, append, patch};
    struct rbwp_writer *writer;
    struct rbwp_row_encoder *encoder;
    memory->used = 0;
    require(rbwp_writer_new(&sink, 0, 0, false, &writer) == RBWP_OK &&
                rbwp_writer_add_schema(writer, &schema) == RBWP_OK &&
                rbwp_row_encoder_new(&schema, 0, compress, &encoder) == RBWP_OK,
            "begin to write rows");
    uint64_t first_row = 1;
    for (uint32_t done = 0; done < columns->rows;) {
        struct rbwp_row_room room;
        uint32_t left = columns->rows - done;
        rbwp_row_encoder_reserve(encoder, left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE, &room);
        for (int c = 0; c < COLUMNS; c++)
            memcpy(room.cells[c], columns->cells[c] + done, room.rows * sizeof(uint64_t));
        rbwp_row_encoder_commit(encoder, room.rows);
        done += room.rows;
        if (room.rows == 0 || done == columns->rows) {
            seal(encoder, writer, first_row);
            first_row = (uint64_t)done + 1;
        }
    }
    require(rbwp_writer_finish(writer, NULL, 0, NULL, 0, NULL) == RBWP_OK, "finish the file");
    rbwp_row_encoder_free(encoder);
    rbwp_writer_free(writer);
}

/* Adds each cell up, as a model would look at it. */
static void read_rows(const struct columns *columns, const struct memory *memory)
{
    struct rbwp_reader *reader = NULL;
    struct rbwp_catalog *catalog = rbwp_catalog_new();
    struct rbwp_block block;
    struct rbwp_rows rows;
    uint64_t found = 0, sum = 0, expected = 0;
    require(catalog && rbwp_reader_open_memory(memory->bytes, memory->used, NULL, &reader, NULL) ==
                           RBWP_OK,
            "open the file");
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        if (rbwp_catalog_take(catalog, &block, &rows, NULL) != RBWP_OK)
            continue;
        found += rows.rows;
        for (int c = 0; c < COLUMNS; c++)
            for (uint32_t i = 0; i < rows.rows; i++)
                sum += rows.cells[c][i] * (unsigned)(c + 1);
    }
    for (int c = 0; c < COLUMNS; c++)
        for (uint32_t i = 0; i < columns->rows; i++)
            expected += columns->cells[c][i] * (unsigned)(c + 1);
    require(found == columns->rows && sum == expected, "read what was written");
    rbwp_catalog_free(catalog);
    rbwp_reader_close(reader);
}

/* ---- in a session ------------------------------------------------------------------------ */

static unsigned table;

static void write_bulk(const struct columns *columns)
{
    for (uint32_t done = 0; done < columns->rows;) {
        struct rbwp_row_room room;
        uint32_t left = columns->rows - done;
        rbwp_rows_reserve(table, left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE, &room);
        for (int c = 0; c < COLUMNS; c++)
            memcpy(room.cells[c], columns->cells[c] + done, room.rows * sizeof(uint64_t));
        rbwp_rows_commit(table, room.rows);
        done += room.rows;
    }
}

static void write_singly(const struct columns *columns)
{
    for (uint32_t i = 0; i < columns->rows; i++) {
        uint64_t cells[COLUMNS];
        for (int c = 0; c < COLUMNS; c++)
            cells[c] = columns->cells[c][i];
        rbwp_row_add(table, cells);
    }
}

static void read_clock_twice(const struct columns *columns)
{
    for (uint32_t i = 0; i < 2 * columns->rows; i++) {
        uint64_t ticks = rbwp_now_ticks();
        __asm__ volatile("" : : "r"(ticks) : "memory");
    }
}

/* CPU time of the thread and of the process, to the end of the session, a row in ns. */
struct cost {
    double thread[ROUNDS], all[ROUNDS];
    uint64_t lost;
};

static void measure_session(const struct columns *columns, int level,
                            void (*run)(const struct columns *), struct cost *cost)
{
    *cost = (struct cost){.lost = 0};
    for (int round = 0; round < ROUNDS; round++) {
        struct rbwp_session *session = start_session(level);
        double thread = clock_ns(CLOCK_THREAD_CPUTIME_ID), all = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        run(columns);
        cost->thread[round] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - thread) / columns->rows;
        if (session)
            cost->lost += stop_session(session).lost_records;
        cost->all[round] = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - all) / columns->rows;
    }
}

static void measure_sessions(const struct columns *columns)
{
    struct cost bulk, singly, off, bare;
    require(rbwp_table_register(&schema, &table) == RBWP_OK &&
                rbwp_thread_attach("bench") == RBWP_OK,
            "a table and a thread to write it");
    measure_session(columns, 0, read_clock_twice, &bare);
    measure_session(columns, 0, write_singly, &off);
    measure_session(columns, 1, write_bulk, &bulk);
    measure_session(columns, 1, write_singly, &singly);
    double two = median(bare.thread, ROUNDS), one = median(singly.thread, ROUNDS);
    double many = median(bulk.thread, ROUNDS);
    printf("two bare clock reads %.1f ns; without a session %.1f ns a row\n", two,
           median(off.thread, ROUNDS));
    printf("in bulk:    %.1f ns a row on the thread (%.1f M rows/s), %.1f ns of CPU in all (%.1f M "
           "rows/s of a core), %llu lost\n",
           many, 1e3 / many, median(bulk.all, ROUNDS), 1e3 / median(bulk.all, ROUNDS),
           (unsigned long long)bulk.lost);
    printf("one by one: %.1f ns a row on the thread, %.2f of two clock reads, %.1f ns of CPU in "
           "all, %llu lost\n",
           one, one / two, median(singly.all, ROUNDS), (unsigned long long)singly.lost);
}

/* ---- zstd ------------------------------------------------------------------------------ */

typedef size_t compress_fn(void *out, size_t room, const void *in, size_t bytes, int level);

static size_t put_varints(const uint64_t *cells, uint32_t rows, uint8_t *out)
{
    uint8_t *next = out;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t value = cells[i];
        for (; value >= 0x80; value >>= 7)
            *next++ = (uint8_t)(value | 0x80);
        *next++ = (uint8_t)value;
    }
    return (size_t)(next - out);
}

static void measure_zstd(const struct columns *columns, struct memory *memory)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW);
    compress_fn *compress = library ? (compress_fn *)dlsym(library, "ZSTD_compress") : NULL;
    uint8_t *varints = malloc((size_t)columns->rows * 10);
    uint64_t *cells = malloc((size_t)columns->rows * sizeof *cells);
    double words = 0, short_ones = 0, rows = columns->rows;
    require(varints && cells, "memory for zstd");
    for (int c = 0; compress && c < COLUMNS; c++) {
        uint64_t before = 0;
        for (uint32_t i = 0; i < columns->rows; i++) {
            cells[i] = columns->cells[c][i] - before;
            before = c == 0 ? columns->cells[c][i] : 0;
        }
        words +=
            (double)compress(memory->bytes, memory->room, cells, columns->rows * sizeof *cells, 3);
        short_ones += (double)compress(memory->bytes, memory->room, varints,
                                       put_varints(cells, columns->rows, varints), 3);
    }
    if (compress)
        printf("zstd -3 of the same columns: %.3f bytes a row as words, %.3f as varints\n",
               words / rows, short_ones / rows);
    free(cells);
    free(varints);
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000000;
    if (count == 0) {
        fprintf(stderr, "usage: bench_table [ROWS]\n");
        return 2;
    }
    struct columns columns = make_columns(count);
    struct memory memory = {.room = (size_t)count * 48 + 4096};
    memory.bytes = malloc(memory.room);
    require(memory.bytes, "memory for the file");
    memset(memory.bytes, 1, memory.room);
    for (int compress = 0; compress <= 1; compress++) {
        double writing[ROUNDS], reading[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
            write_rows(&columns, compress, &memory);
            double middle = clock_ns(CLOCK_THREAD_CPUTIME_ID);
            read_rows(&columns, &memory);
            writing[round] = middle - begin;
            reading[round] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - middle;
        }
        printf("%-11s %u rows: written %.1f M rows/s, read %.1f M rows/s, %.3f bytes a row\n",
               compress ? "compressed," : "stored,", count, count * 1e3 / median(writing, ROUNDS),
               count * 1e3 / median(reading, ROUNDS), (double)memory.used / count);
    }
    measure_zstd(&columns, &memory);
    free(memory.bytes);
    measure_sessions(&columns);
    return 0;
}
