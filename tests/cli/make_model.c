/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a file with all that tools make of a trace. make_model FILE gpux|rows: two threads
 * have calls of one slot, of which each launches work while the other's call has
 * begun later; the records of the launches stand half before and half behind the
 * records, in blocks gpux or in rows of gpu_activity. With rows come tables that nobody knows:
 * counters, spans, points in time, and one without roles. test_model.py knows the content. With
 * NODE and OTHER behind it the file is of that node: its names have other numbers, its GPU another
 * bias, its queues other depths, and its marks arrive from the notes of the node OTHER.
 */
#include "rbwp_table.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T INT64_C(1700000000000000000)
enum { WORKS = 72, GPU = 5, SLOT = 1, COUNTS = 40, NAMES = 8 };

static uint32_t node, other;

static void must(enum rbwp_status status)
{
    if (status == RBWP_OK)
        return;
    fprintf(stderr, "make_model: %s\n", rbwp_status_text(status));
    exit(1);
}

/* ---- records ---------------------------------------------------------------------------- */

static uint64_t launcher(int work)
{
    return work % 2 ? 200 : 100;
}

/* Of each pair of calls the second one begins 300 ns later; the work starts 600 ns after the first.
 */
static int64_t start_of(int work)
{
    return T + 1000 * work + 600;
}

static int64_t call_of(int work, uint64_t thread)
{
    return T + 1000 * work + (thread == launcher(work) ? 0 : 300);
}

static void add_block(struct rbwp_writer *writer, struct rbwp_block_encoder *encoder,
                      uint64_t thread)
{
    struct rbwp_sealed_block block;
    must(rbwp_block_encoder_seal(encoder, thread, 0, &block));
    must(rbwp_writer_add_block(writer, &block));
}

static void add_calls(struct rbwp_writer *writer, uint64_t thread)
{
    struct rbwp_block_encoder *encoder;
    must(rbwp_block_encoder_new(0, 0, &encoder));
    for (int i = 0; i < WORKS; i++) {
        struct rbwp_record record = {
            .kind = RBWP_COARSE_BEGIN, .slot = SLOT, .time_ns = call_of(i, thread)};
        must(rbwp_block_encoder_add(encoder, &record));
        record.kind = RBWP_COARSE_END;
        record.time_ns = T + 1000 * i + 900;
        must(rbwp_block_encoder_add(encoder, &record));
    }
    add_block(writer, encoder, thread);
    rbwp_block_encoder_free(encoder);
}

static void add_works(struct rbwp_writer *writer)
{
    struct rbwp_block_encoder *encoder;
    must(rbwp_block_encoder_new(0, 0, &encoder));
    for (int i = 0; i < WORKS; i++) {
        const struct rbwp_record record = {.kind = RBWP_GPU_WORK,
                                           .slot = SLOT,
                                           .proc_id = GPU,
                                           .time_ns = start_of(i) + 500,
                                           .start_ns = start_of(i),
                                           .stop_ns = start_of(i) + 400};
        must(rbwp_block_encoder_add(encoder, &record));
    }
    add_block(writer, encoder, 300);
    rbwp_block_encoder_free(encoder);
}

static void add_gpux(struct rbwp_writer *writer, int first, int end)
{
    struct rbwp_gpu_extra facts[WORKS];
    uint8_t data[RBWP_GPU_EXTRA_HEAD_BYTES + WORKS * RBWP_GPU_EXTRA_BYTES];
    for (int i = first; i < end; i++)
        facts[i - first] = (struct rbwp_gpu_extra){.start_ns = start_of(i),
                                                   .stop_ns = start_of(i) + 400,
                                                   .launch_ns = T + 1000 * i + 50,
                                                   .thread_id = launcher(i),
                                                   .start_gap_ns = 30,
                                                   .stop_gap_ns = 20,
                                                   .launched_ns = T + 1000 * i + 90};
    uint32_t bytes = rbwp_gpu_extra_encode(GPU, facts, (uint32_t)(end - first), data);
    must(rbwp_writer_add_opaque(writer, RBWP_GPU_EXTRA_TAG, data, bytes));
}

/* The number of the name that has this one in a file of node 0. */
static uint64_t name(uint64_t number)
{
    return 1 + (number - 1 + 3 * node) % NAMES;
}

/* ---- tables ----------------------------------------------------------------------------- */

static const struct rbwp_column activity_columns[] = {
    RBWP_COLUMN(TIME, START, "start", ""),
    RBWP_COLUMN(TIME, STOP, "stop", ""),
    RBWP_COLUMN(U64, TRACK, "processor", ""),
    RBWP_COLUMN(U64, NONE, "stream", ""),
    RBWP_COLUMN(U64, THREAD, "thread", ""),
    RBWP_COLUMN(U64, NONE, "slot", ""),
    RBWP_COLUMN(TIME, NONE, "begin", ""),
    RBWP_COLUMN(TIME, NONE, "end", ""),
    RBWP_COLUMN(DURATION, START_BOUND, "start_bound", ""),
    RBWP_COLUMN(DURATION, STOP_BOUND, "stop_bound", ""),
    RBWP_COLUMN(NAME, LABEL, "name", ""),
    RBWP_COLUMN(U64, NONE, "correlation", ""),
    RBWP_COLUMN(DURATION, NONE, "launching", ""),
    RBWP_COLUMN(U64, NONE, "idle", ""),
};
static const struct rbwp_column device_columns[] = {
    RBWP_COLUMN(U64, ID, "processor", ""), RBWP_COLUMN(NAME, LABEL, "name", ""),
    RBWP_COLUMN(U64, NONE, "api", ""),     RBWP_COLUMN(U64, NONE, "rounds", ""),
    RBWP_COLUMN(I64, NONE, "bias", ""),    RBWP_COLUMN(U64, NONE, "bias_spread", ""),
};
static struct rbwp_column depth_columns[] = {
    RBWP_COLUMN(TIME, START, "at", ""),
    RBWP_COLUMN(NAME, TRACK, "queue", ""),
    RBWP_COLUMN(U64, COUNTER, "depth", ""),
    RBWP_COLUMN(F64, COUNTER, "load", ""),
};
static struct rbwp_column note_columns[] = {
    RBWP_COLUMN(TIME, START, "from", ""),   RBWP_COLUMN(DURATION, STOP, "for", ""),
    RBWP_COLUMN(U64, THREAD, "by", ""),     RBWP_COLUMN(NAME, LABEL, "what", ""),
    RBWP_COLUMN(U64, NONE, "bytes", ""),    RBWP_COLUMN(F64, NONE, "ratio", ""),
    RBWP_COLUMN(BYTES, NONE, "remark", ""), RBWP_COLUMN(U64, LINK_FROM, "key", ""),
};
static struct rbwp_column mark_columns[] = {
    RBWP_COLUMN(TIME, START, "when", ""),
    RBWP_COLUMN(NAME, LABEL, "what", ""),
    RBWP_COLUMN(U64, LINK_TO, "key", ""),
};
static const struct rbwp_column setting_columns[] = {
    RBWP_COLUMN(NAME, NONE, "name", ""),
    RBWP_COLUMN(I64, NONE, "value", ""),
    RBWP_COLUMN(TIME, NONE, "since", ""),
    RBWP_COLUMN(BYTES, NONE, "text", ""),
};
/* Names that a database takes for the same, and none. */
static const struct rbwp_column odd_columns[] = {
    RBWP_COLUMN(U64, NONE, "row", ""),
    RBWP_COLUMN(F64, NONE, "", ""),
    RBWP_COLUMN(NAME, NONE, "a\"b", ""),
    {.type = RBWP_COLUMN_ROW, .table = 6, .name = "A\"B", .name_bytes = 3},
    RBWP_COLUMN(DURATION, NONE, "_2", ""),
};
static const struct rbwp_schema activity =
    RBWP_SCHEMA_NUMBERED(1, "gpu_activity", 1, activity_columns);
static const struct rbwp_schema device = RBWP_SCHEMA_NUMBERED(2, "gpu_device", 1, device_columns);
static const struct rbwp_schema depth = RBWP_SCHEMA_NUMBERED(3, "queue_depth", 1, depth_columns);
static const struct rbwp_schema note = RBWP_SCHEMA_NUMBERED(4, "note", 1, note_columns);
static const struct rbwp_schema mark = RBWP_SCHEMA_NUMBERED(5, "mark", 1, mark_columns);
static const struct rbwp_schema setting = RBWP_SCHEMA_NUMBERED(6, "setting", 1, setting_columns);
static const struct rbwp_schema odd = RBWP_SCHEMA_NUMBERED(7, "Setting", 1, odd_columns);

/* One row after another: columns are filled from the words given, a count each. */
struct rows {
    struct rbwp_row_encoder *encoder;
    uint32_t columns;
};

static struct rows begin_rows(const struct rbwp_schema *schema)
{
    struct rows rows = {.columns = schema->column_count};
    must(rbwp_row_encoder_new(schema, 0, false, &rows.encoder));
    return rows;
}

static void add_row(struct rows *rows, const uint64_t *cells)
{
    struct rbwp_row_room room;
    rbwp_row_encoder_reserve(rows->encoder, 1, &room);
    for (uint32_t c = 0; c < rows->columns; c++)
        room.cells[c][0] = cells[c];
    rbwp_row_encoder_commit(rows->encoder, 1);
}

static void end_rows(struct rows *rows, struct rbwp_writer *writer, uint64_t first_row)
{
    struct rbwp_sealed_block block;
    must(rbwp_row_encoder_seal(rows->encoder, 0, first_row, &block));
    must(rbwp_writer_add_block(writer, &block));
    rbwp_row_encoder_free(rows->encoder);
}

static uint64_t real(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bytes_cell(struct rows *rows, const char *text)
{
    uint64_t cell;
    must(rbwp_row_encoder_bytes(rows->encoder, text, (uint32_t)strlen(text), &cell));
    return cell;
}

/* The last row is work that has no record. */
static void add_activity(struct rbwp_writer *writer, int first, int end)
{
    struct rows rows = begin_rows(&activity);
    for (int i = first; i < end; i++) {
        uint64_t start = (uint64_t)start_of(i), base = (uint64_t)(T + 1000 * i);
        add_row(&rows, (uint64_t[]){start, start + 400, GPU, 7, launcher(i), SLOT, base + 50,
                                    base + 90, 30, 20, name(i % 2 ? 2 : 1), (uint64_t)i + 1, 0, 0});
    }
    end_rows(&rows, writer, (uint64_t)first + 1);
}

static void add_device(struct rbwp_writer *writer)
{
    struct rows rows = begin_rows(&device);
    add_row(&rows, (uint64_t[]){GPU, name(3), 0, 9, 100 + 50 * node, 10});
    end_rows(&rows, writer, 1);
}

static void add_unknown(struct rbwp_writer *writer)
{
    struct rows rows = begin_rows(&depth);
    for (uint64_t i = 0; i < COUNTS; i++) /* two queues in turn, the second one backwards */
        add_row(&rows, (uint64_t[]){(uint64_t)T + 100 * (i % 2 ? COUNTS - i : i), name(4 + i % 2),
                                    i + 1000 * node, real((double)i / 4)});
    end_rows(&rows, writer, 1);
    rows = begin_rows(&note);
    for (uint64_t i = 0; i < 3; i++)
        add_row(&rows,
                (uint64_t[]){(uint64_t)T + 500 + 200 * i, 1000, 100, name(6), 4096 + i, real(0.5),
                             bytes_cell(&rows, i ? "\xff\"x\"" : ""), 77 + 10 * node + i});
    end_rows(&rows, writer, 1);
    rows = begin_rows(&mark);
    for (uint64_t i = 0; i < 4; i++)
        add_row(&rows, (uint64_t[]){(uint64_t)T + 5000 + i, name(7), 77 + 10 * other + i});
    end_rows(&rows, writer, 1);
    rows = begin_rows(&setting);
    for (uint64_t i = 0; i < 2; i++)
        add_row(&rows,
                (uint64_t[]){name(8), (uint64_t)0 - i, (uint64_t)T, bytes_cell(&rows, "a,b")});
    end_rows(&rows, writer, 1);
    rows = begin_rows(&odd);
    add_row(&rows, (uint64_t[]){UINT64_MAX, real(__builtin_nan("")), 0, 0, 5});
    add_row(&rows, (uint64_t[]){1, real(0.5), name(8), 1, 6});
    end_rows(&rows, writer, 1);
}

static void add_schemas(struct rbwp_writer *writer)
{
    static const struct rbwp_text texts[NAMES] = {
        {"even kernel", 11}, {"odd kernel", 10}, {"a GPU", 5},   {"in", 2},
        {"out", 3},          {"copying", 7},     {"arrived", 7}, {"limit", 5}};
    depth_columns[2].unit = "items";
    depth_columns[2].unit_bytes = 5;
    note_columns[7].unit = mark_columns[2].unit = "note"; /* keys of different tables */
    note_columns[7].unit_bytes = mark_columns[2].unit_bytes = 4;
    struct rbwp_text names[NAMES];
    for (uint64_t i = 0; i < NAMES; i++)
        names[name(i + 1) - 1] = texts[i];
    must(rbwp_writer_add_names(writer, 1, names, NAMES));
    const struct rbwp_schema *schemas[] = {&activity, &device,  &depth, &note,
                                           &mark,     &setting, &odd};
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++)
        must(rbwp_writer_add_schema(writer, schemas[i]));
}

int main(int argc, char **argv)
{
    int fd = argc < 3 ? -1 : open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        perror("make_model");
        return 1;
    }
    bool rows = strcmp(argv[2], "rows") == 0;
    node = argc > 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    other = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
    static const struct rbwp_gpu_info gpus[] = {{.proc_id = GPU,
                                                 .rounds = 9,
                                                 .bias_ns = 100,
                                                 .spread_ns = 10,
                                                 .name = "",
                                                 .name_bytes = 0}};
    const struct rbwp_trailer trailer = {.gpus = gpus, .gpu_count = rows ? 0 : 1};
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    struct rbwp_writer *writer;
    must(rbwp_writer_new(&sink, node, T, false, &writer));
    if (rows) {
        add_schemas(writer);
        add_activity(writer, 0, WORKS / 2);
    } else {
        add_gpux(writer, 0, WORKS / 2);
    }
    add_works(writer);
    add_calls(writer, 100);
    add_calls(writer, 200);
    if (rows) {
        add_activity(writer, WORKS / 2, WORKS + 1);
        add_device(writer);
        add_unknown(writer);
    } else {
        add_gpux(writer, WORKS / 2, WORKS);
    }
    must(rbwp_writer_finish(writer, NULL, 0, NULL, 0, &trailer));
    rbwp_writer_free(writer);
    close(fd);
    return 0;
}
