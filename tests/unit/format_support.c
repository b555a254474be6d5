/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format_support.c - see format_support.h. A stream is a pipe that a thread
 * feeds in uneven pieces, so that short reads happen.
 */
#include "format_support.h"

#include "unit.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- bytes ---------------------------------------------------------------------- */

void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

void put(struct bytes *bytes, const void *data, size_t size)
{
    size_t needed = bytes->size + size + 1; /* one more, for a zero behind text */
    if (needed > bytes->capacity) {
        bytes->capacity = 2 * needed;
        bytes->data = realloc(bytes->data, bytes->capacity);
        assert_non_null(bytes->data);
    }
    if (size)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void put_le(struct bytes *bytes, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        put(bytes, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

void put_be(struct bytes *bytes, uint64_t value, unsigned size)
{
    for (unsigned i = size; i-- > 0;)
        put(bytes, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

void set_le(struct bytes *bytes, size_t offset, uint64_t value, unsigned size)
{
    assert_true(offset + size <= bytes->size);
    for (unsigned i = 0; i < size; i++)
        bytes->data[offset + i] = (uint8_t)(value >> 8 * i);
}

/* ---- files ----------------------------------------------------------------------- */

struct bytes load(const char *path_in_tree)
{
    char path[4096];
    struct bytes bytes = {0};
    snprintf(path, sizeof(path), "%s/%s", RBWP_SOURCE_DIR, path_in_tree);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    uint8_t piece[65536];
    size_t count;
    while ((count = fread(piece, 1, sizeof(piece), file)) > 0)
        put(&bytes, piece, count);
    fclose(file);
    put(&bytes, "", 0);
    return bytes;
}

/* Lines of the hex listing begin with four digits and two blanks. */
struct bytes load_example(void)
{
    struct bytes text = load("SPEC.md"), example = {0};
    text.data[text.size] = 0;
    const char *line = strstr((char *)text.data, "\n0000  ");
    assert_non_null(line);
    for (line++; strspn(line, "0123456789abcdef") == 4 && line[4] == ' ';) {
        assert_int_equal(strtoul(line, NULL, 16), example.size);
        for (const char *byte = line + 6; byte[0] != ' '; byte += 3)
            put_le(&example, strtoul(byte, NULL, 16), 1);
        line = strchr(line, '\n') + 1;
    }
    bytes_free(&text);
    return example;
}

const char *const golden_names[] = {
    "level1_one_thread",
    "level2_all_types",
    "level2_all_types_zlib",
    "gpu_work",
    "multi_thread",
    "gaps",
    "discard",
    "straddle",
    "empty",
    "crash_killed",
    "crash_cut_in_data",
    "crash_header_only",
    "edge_first_4byte",
    "defect_discard_rotate",
};
const size_t golden_count = sizeof(golden_names) / sizeof(golden_names[0]);

struct bytes load_golden(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "tests/golden/%s.bin", name);
    return load(path);
}

/* ---- pieces ------------------------------------------------------------------------ */

void put_header(struct bytes *bytes, uint32_t work_items, uint32_t sub_items,
                uint64_t descriptor_offset)
{
    put(bytes, "RBWP", 4);
    put_le(bytes, 1, 2);
    put_le(bytes, 1, 2);
    put_le(bytes, 0, 4);
    put_le(bytes, UINT64_C(1700000000000000000), 8);
    put_le(bytes, work_items, 4);
    put_le(bytes, sub_items, 4);
    put_le(bytes, descriptor_offset, 8);
}

struct bytes make_data(uint32_t records, int64_t time_ns)
{
    struct bytes data = {0};
    for (uint32_t i = 0; i < records; i++) {
        if (i == 0)
            put_be(&data, (uint64_t)time_ns | UINT64_C(3) << 62, 8);
        else
            put_be(&data, 100, 2);
        put_le(&data, i % 2 ? RBWP_COARSE_END : RBWP_COARSE_BEGIN, 1);
        if (i % 2 == 0)
            put_le(&data, i / 2 % 256, 1);
    }
    return data;
}

void put_block_header(struct bytes *bytes, uint64_t thread, uint32_t sequence, uint32_t records,
                      int64_t base_ns, uint32_t data_bytes, uint32_t stored_bytes)
{
    put_le(bytes, thread, 8);
    put_le(bytes, sequence, 4);
    put_le(bytes, records, 4);
    put_le(bytes, (uint64_t)base_ns, 8);
    put_le(bytes, data_bytes, 4);
    put_le(bytes, stored_bytes, 4);
}

void put_block(struct bytes *bytes, uint64_t thread, uint32_t sequence, uint32_t records,
               int64_t time_ns)
{
    struct bytes data = make_data(records, time_ns);
    put_block_header(bytes, thread, sequence, records, time_ns, (uint32_t)data.size, 0);
    put(bytes, data.data, data.size);
    bytes_free(&data);
}

void put_zlib_block(struct bytes *bytes, uint64_t thread, uint32_t sequence, uint32_t records,
                    int64_t time_ns)
{
    struct bytes data = make_data(records, time_ns);
    uLongf stored = compressBound(data.size);
    uint8_t *payload = malloc(stored);
    assert_int_equal(compress(payload, &stored, data.data, data.size), Z_OK);
    put_block_header(bytes, thread, sequence, records, time_ns, (uint32_t)data.size,
                     (uint32_t)stored);
    put(bytes, payload, stored);
    free(payload);
    bytes_free(&data);
}

uint32_t slow_crc32c(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

void seal_trailer(struct bytes *file)
{
    size_t footer = file->size - 32;
    uint64_t offset = 0;
    for (unsigned i = 8; i-- > 0;)
        offset = offset << 8 | file->data[footer + i];
    assert_true(offset <= footer);
    set_le(file, footer + 8, footer - offset, 8);
    set_le(file, footer + 16, slow_crc32c(file->data + offset, (size_t)(footer - offset)), 4);
}

/* ---- reading ------------------------------------------------------------------------ */

static void feed(const struct bytes *file, int fd)
{
    uint64_t state = file->size;
    for (size_t done = 0; done < file->size;) {
        size_t count = 1 + (size_t)(next_random(&state) % 9000);
        if (count > file->size - done)
            count = file->size - done;
        ssize_t written = write(fd, file->data + done, count);
        if (written <= 0)
            break; /* the reader has closed its end */
        done += (size_t)written;
    }
}

struct feeding {
    struct bytes file;
    int fd;
};

static void *feeding_thread(void *argument)
{
    struct feeding *feeding = argument;
    feed(&feeding->file, feeding->fd);
    close(feeding->fd);
    free(feeding);
    return NULL;
}

struct opened open_pipe_way(const struct bytes *file)
{
    int ends[2];
    struct opened opened = {.fed = true};
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    struct feeding *feeding = malloc(sizeof *feeding);
    *feeding = (struct feeding){*file, ends[1]};
    assert_int_equal(pthread_create(&opened.feeder, NULL, feeding_thread, feeding), 0);
    opened.fd = ends[0];
    return opened;
}

struct opened open_way(const struct bytes *file, enum way way,
                       const struct rbwp_reader_options *options)
{
    struct opened opened = {.fd = -1};
    if (way == BY_MEMORY) {
        opened.copy = malloc(file->size + !file->size);
        memcpy(opened.copy, file->data, file->size);
        opened.status = rbwp_reader_open_memory(opened.copy, file->size, options, &opened.reader,
                                                &opened.error);
        return opened;
    }
    if (way == BY_FILE) {
        opened.file = tmpfile();
        assert_non_null(opened.file);
        assert_int_equal(fwrite(file->data, 1, file->size, opened.file), file->size);
        assert_int_equal(fflush(opened.file), 0);
        opened.status =
            rbwp_reader_open_fd(fileno(opened.file), options, &opened.reader, &opened.error);
        return opened;
    }
    opened = open_pipe_way(file);
    opened.status = rbwp_reader_open_fd(opened.fd, options, &opened.reader, &opened.error);
    return opened;
}

void close_way(struct opened *opened)
{
    rbwp_reader_close(opened->reader);
    free(opened->copy);
    if (opened->file)
        fclose(opened->file);
    if (opened->fed) {
        close(opened->fd);
        pthread_join(opened->feeder, NULL);
    }
}

static void print_block(FILE *out, const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    const struct rbwp_block_header *header = &block->header;
    fprintf(out, "block %" PRIu64 " at %" PRIu64 ": %" PRIu64 " %u %u %" PRId64 " %u %u\n",
            block->index, block->offset, header->thread_id, header->sequence, header->records,
            header->base_time_ns, header->data_bytes, header->stored_bytes);
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record))
        fprintf(out, "%u:%u %" PRId64 " %u %u %u %" PRIu64 " %" PRId64 " %" PRId64 "\n",
                record.offset, record.time_bytes, record.time_ns, record.kind, record.slot,
                record.sub_item, record.proc_id, record.start_ns, record.stop_ns);
}

static void print_rest(FILE *out, const struct rbwp_reader *reader)
{
    const struct rbwp_tables *tables = rbwp_reader_tables(reader);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    for (uint32_t i = 0; i < tables->work_item_count; i++)
        fprintf(out, "slot %u %.*s\n", tables->work_items[i].slot, tables->work_items[i].name_bytes,
                tables->work_items[i].name);
    for (uint32_t i = 0; i < tables->sub_item_count; i++)
        fprintf(out, "sub-item %u %u %.*s\n", tables->sub_items[i].id, tables->sub_items[i].type,
                tables->sub_items[i].name_bytes, tables->sub_items[i].name);
    if (trailer)
        fprintf(out, "trailer %u %u %u %u %u\n", trailer->thread_count, trailer->loss_count,
                trailer->sample_count, trailer->slot_use_count, trailer->index_count);
    fprintf(out, "size %" PRIu64 " problems %" PRIu64 "\n", rbwp_reader_size(reader),
            rbwp_reader_problem_count(reader));
    const struct rbwp_problem *problem;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(reader, i)); i++)
        fprintf(out, "problem R%u at %" PRIu64 " %s: %s; %" PRIu64 " skipped, %d %d\n",
                problem->error.rule, problem->error.offset, problem->error.section,
                problem->error.text, problem->skipped_bytes, problem->cut_tail, problem->has_block);
}

char *read_all(const struct bytes *file, enum way way)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct opened opened = open_way(file, way, NULL);
    fprintf(out, "open %d %s\n", opened.status, opened.reader ? "" : opened.error.text);
    if (opened.reader) {
        struct rbwp_block block;
        enum rbwp_status status;
        while ((status = rbwp_reader_next_block(opened.reader, &block)) == RBWP_OK)
            print_block(out, &block);
        fprintf(out, "end %d\n", status);
        print_rest(out, opened.reader);
    }
    close_way(&opened);
    fclose(out);
    return text;
}

uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t value = *state ^ *state >> 33;
    return value * UINT64_C(0xff51afd7ed558ccd) >> 16;
}
