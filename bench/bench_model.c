/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_model [MILLIONS]: what rows of tables cost on their way into the tools' model.
 *
 * Two tables of 10 M rows (MILLIONS): five columns (time, duration, two ids, a number) whose rows
 * become ranges on 8 threads' tracks with two arguments each; and lane_span, 528 lanes of kernels
 * that follow each other, in the order in which their buffers are read. Each is stored and
 * compressed, and read by a sink that adds durations and arguments up: rows a second of the
 * thread's CPU time, opening and decoding included, medians. Beside it stands the same by the
 * catalog alone, which gives cells and no model.
 */
#include "bench.h"
#include "bench_random.h"
#include "importers.h"
#include "kernel_tables.h"
#include "rbwp_rows.h"
#include "trace_source.h"
#include "trace_span.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ROUNDS = 5,
    THREADS = 8,
    BLOCKS = 132,
    GROUPS = 4,
    LANES = BLOCKS * GROUPS,
    LANE_SPANS = 64
};
#define BEGIN_NS INT64_C(1700000000000000000)

/* ---- a file ------------------------------------------------------------------------------ */

struct rows_file {
    int fd;
    uint32_t columns;
    uint64_t rows, first_row, duration_ns;
    struct rbwp_writer *writer;
    struct rbwp_row_encoder *encoder;
};

static void begin_file(struct rows_file *file, const struct rbwp_schema *schema, bool compress)
{
    static const struct rbwp_text names[] = {{"load", 4}, {"mma", 3}, {"wait", 4}, {"store", 5}};
    struct rbwp_schema own = *schema;
    own.table = 1;
    *file = (struct rows_file){.columns = schema->column_count, .first_row = 1};
    file->fd = open(scratch_file(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    require(file->fd >= 0, "opening a scratch file");
    struct rbwp_sink sink = rbwp_sink_fd(&file->fd);
    require(rbwp_writer_new(&sink, 0, BEGIN_NS, false, &file->writer) == RBWP_OK &&
                rbwp_writer_add_schema(file->writer, &own) == RBWP_OK &&
                rbwp_writer_add_names(file->writer, 1, names, GROUPS) == RBWP_OK &&
                rbwp_row_encoder_new(&own, 0, compress, &file->encoder) == RBWP_OK,
            "beginning a file");
}

static void seal(struct rows_file *file)
{
    struct rbwp_sealed_block block;
    require(rbwp_row_encoder_seal(file->encoder, 0, file->first_row, &block) == RBWP_OK &&
                rbwp_writer_add_block(file->writer, &block) == RBWP_OK,
            "writing a block of rows");
    file->first_row = file->rows + 1;
}

static void add_row(struct rows_file *file, const uint64_t *cells)
{
    struct rbwp_row_room room;
    rbwp_row_encoder_reserve(file->encoder, 1, &room);
    if (room.rows == 0) {
        seal(file);
        rbwp_row_encoder_reserve(file->encoder, 1, &room);
    }
    for (uint32_t c = 0; c < file->columns; c++)
        room.cells[c][0] = cells[c];
    rbwp_row_encoder_commit(file->encoder, 1);
    file->rows++;
}

static void end_file(struct rows_file *file)
{
    seal(file);
    struct rbwp_trailer trailer = {.level = 1};
    require(rbwp_writer_finish(file->writer, NULL, 0, NULL, 0, &trailer) == RBWP_OK,
            "ending a file");
    rbwp_row_encoder_free(file->encoder);
    rbwp_writer_free(file->writer);
    close(file->fd);
}

static const struct rbwp_column five_columns[] = {
    {.type = RBWP_COLUMN_TIME, .role = RBWP_ROLE_START, .name = "start", .name_bytes = 5},
    {.type = RBWP_COLUMN_DURATION, .role = RBWP_ROLE_STOP, .name = "duration", .name_bytes = 8},
    {.type = RBWP_COLUMN_U64, .name = "what", .name_bytes = 4},
    {.type = RBWP_COLUMN_U64, .role = RBWP_ROLE_THREAD, .name = "thread", .name_bytes = 6},
    {.type = RBWP_COLUMN_U64, .name = "size", .name_bytes = 4},
};
static const struct rbwp_schema five_schema = {
    .version = 1, .column_count = 5, .name = "five", .name_bytes = 4, .columns = five_columns};

static void write_five(struct rows_file *file, uint64_t rows)
{
    uint64_t now_ns = BEGIN_NS;
    for (uint64_t i = 0; i < rows; i++) {
        now_ns += (uint64_t)random_log_normal(7, 1);
        uint64_t cells[] = {now_ns, (uint64_t)random_log_normal(8, 1.2),
                            1 + (uint64_t)(pow(random_uniform(), 3) * 40),
                            UINT64_C(0x7f0012340000) +
                                ((uint64_t)(random_uniform() * THREADS) << 12),
                            64 * (1 + (uint64_t)(random_uniform() * 64))};
        file->duration_ns += cells[1];
        add_row(file, cells);
    }
}

static void write_lanes(struct rows_file *file, uint64_t rows)
{
    int64_t now_ns[LANES], last_ns = BEGIN_NS;
    for (uint64_t launch = 1; file->rows < rows; launch++) {
        for (uint32_t lane = 0; lane < LANES; lane++)
            now_ns[lane] = last_ns + 5000 + 32 * lane;
        for (uint32_t i = 0; i < LANE_SPANS * LANES && file->rows < rows; i++) {
            uint32_t lane = i % LANES;
            int64_t start_ns = now_ns[lane];
            now_ns[lane] += (int64_t)exp2(5 + 8 * random_uniform()) & ~31;
            last_ns = now_ns[lane] > last_ns ? now_ns[lane] : last_ns;
            uint64_t cells[COLUMNS_lane_span] = {(uint64_t)start_ns,
                                                 (uint64_t)now_ns[lane],
                                                 5,
                                                 launch,
                                                 lane / GROUPS,
                                                 1 + lane % GROUPS,
                                                 lane / GROUPS,
                                                 1 + i / LANES % 3,
                                                 0,
                                                 40};
            file->duration_ns += (uint64_t)(now_ns[lane] - start_ns);
            add_row(file, cells);
        }
    }
}

/* ---- reading it -------------------------------------------------------------------------- */

struct sums {
    uint64_t spans, duration_ns, arguments;
};

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct sums *sums = context;
    sums->spans += count;
    for (size_t i = 0; i < count; i++) {
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        sums->duration_ns += trace_duration_ns(&spans[i]);
        sums->arguments += detail ? detail->arg_count : 0;
    }
}

static double read_into_model(const struct rows_file *file)
{
    struct sums sums = {0};
    struct trace_sink sink = {.context = &sums, .spans = take_spans};
    struct trace_source source;
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct trace *trace = trace_new(&sink, 0);
    require(trace && trace_source_open(&source, scratch_file(), false), "opening the file");
    require(trace_source_read(&source, trace, &(struct trace_read_options){0}) == EXIT_GOOD &&
                trace_source_close(&source) == EXIT_GOOD,
            "reading the file");
    trace_finish(trace);
    trace_free(trace);
    double ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    require(sums.spans == file->rows && sums.duration_ns == file->duration_ns && sums.arguments,
            "finding all rows in the model");
    return ns;
}

static double read_cells(const struct rows_file *file)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct rbwp_catalog *catalog = rbwp_catalog_new();
    struct rbwp_reader *reader = NULL;
    struct rbwp_block block;
    struct rbwp_rows rows;
    uint64_t found = 0;
    require(catalog && rbwp_reader_open(scratch_file(), NULL, &reader, NULL) == RBWP_OK,
            "opening the file");
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        if (rbwp_catalog_take(catalog, &block, &rows, NULL) == RBWP_OK)
            found += rows.rows;
    rbwp_catalog_free(catalog);
    rbwp_reader_close(reader);
    require(found == file->rows, "finding all rows in the file");
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

static void measure(const char *name, const struct rbwp_schema *schema,
                    void (*write_rows)(struct rows_file *file, uint64_t rows), uint64_t rows)
{
    double model_ns[ROUNDS], cells_ns[ROUNDS];
    for (int compress = 0; compress <= 1; compress++) {
        struct rows_file file;
        begin_file(&file, schema, compress);
        write_rows(&file, rows);
        end_file(&file);
        for (int round = 0; round < ROUNDS; round++) {
            cells_ns[round] = read_cells(&file);
            model_ns[round] = read_into_model(&file);
        }
        double count = (double)rows;
        printf("%-9s %-11s %.1f M rows: %6.2f M rows/s into the model, %6.2f into cells\n", name,
               compress ? "compressed," : "stored,", count / 1e6,
               count * 1e3 / median(model_ns, ROUNDS), count * 1e3 / median(cells_ns, ROUNDS));
    }
}

int main(int argc, char **argv)
{
    double millions = argc > 1 ? strtod(argv[1], NULL) : 10;
    if (!(millions >= 0.001 && millions <= 1000)) {
        fprintf(stderr, "usage: bench_model [MILLIONS]\n");
        return 2;
    }
    trace_formats_add(&trace_format_rbwp);
    measure("five", &five_schema, write_five, (uint64_t)(millions * 1e6));
    measure("lane_span", &kernel_lane_schema, write_lanes, (uint64_t)(millions * 1e6));
    return 0;
}
