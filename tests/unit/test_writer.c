/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of writer.c: what a file is made of, in which order, and what failure does.
 */
#include "format_support.h"
#include "rbwp_verify.h"
#include "rbwp_writer.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T INT64_C(1700000000000000000)

/* A sink over memory that fails when it has taken `limit` calls. */
struct memory_sink {
    struct bytes bytes;
    unsigned calls, limit, patches;
    size_t patched_at_size;
};

static enum rbwp_status memory_write(void *context, const void *bytes, size_t count)
{
    struct memory_sink *sink = context;
    assert_true(bytes && count); /* a sink is not asked to write nothing */
    if (sink->calls++ >= sink->limit)
        return RBWP_E_IO;
    put(&sink->bytes, bytes, count);
    return RBWP_OK;
}

static enum rbwp_status memory_patch(void *context, uint64_t offset, const void *bytes,
                                     size_t count)
{
    struct memory_sink *sink = context;
    if (sink->calls++ >= sink->limit)
        return RBWP_E_IO;
    assert_true(offset + count <= 36);
    memcpy(sink->bytes.data + offset, bytes, count);
    sink->patches++;
    sink->patched_at_size = sink->bytes.size;
    return RBWP_OK;
}

static struct rbwp_sink sink_of(struct memory_sink *sink)
{
    return (struct rbwp_sink){sink, memory_write, memory_patch};
}

/* Adds a block of a thread with `records` begins and ends. */
static enum rbwp_status add_block(struct rbwp_writer *writer, uint64_t thread, uint32_t sequence,
                                  uint32_t records)
{
    struct bytes bytes = {0};
    put_block(&bytes, thread, sequence, records, T + sequence);
    struct rbwp_sealed_block block = {.bytes = bytes.data,
                                      .bytes_count = (uint32_t)bytes.size,
                                      .records = records,
                                      .thread_id = thread,
                                      .first_ns = T + sequence,
                                      .last_ns = T + sequence + 100 * (int64_t)(records - 1)};
    enum rbwp_status status = rbwp_writer_add_block(writer, &block);
    bytes_free(&bytes);
    return status;
}

static const struct rbwp_work_item_name work_items[] = {{3, 5, "flush"}};
static const struct rbwp_sub_item_name sub_items[] = {{9, 1, 4, "copy"}};
static const struct rbwp_thread_info threads[] = {{1, 11, T, 0, 6, 1, "a"},
                                                  {2, 12, T, 0, 4, 1, "b"}};
static const struct rbwp_trailer trailer = {
    .writer = "test", .writer_bytes = 4, .level = 2, .threads = threads, .thread_count = 2};

/* Writes a whole file; the first status that is not RBWP_OK. */
static enum rbwp_status write_file(struct rbwp_sink sink, const struct rbwp_trailer *with)
{
    struct rbwp_writer *writer;
    enum rbwp_status status = rbwp_writer_new(&sink, 7, T, true, &writer);
    if (status != RBWP_OK) {
        assert_null(writer);
        return status;
    }
    status = add_block(writer, 1, 0, 6);
    if (status == RBWP_OK)
        status = rbwp_writer_add_opaque(writer, "note", "hello", with ? 5 : 0);
    if (status == RBWP_OK)
        status = add_block(writer, 2, 1, 4);
    if (status == RBWP_OK)
        status = rbwp_writer_finish(writer, work_items, 1, sub_items, 1, with);
    rbwp_writer_free(writer);
    return status;
}

static bool print_problem(void *context, const struct rbwp_problem *problem)
{
    (void)context;
    print_error("%s\n", problem->error.text);
    return true;
}

static struct rbwp_verify_result verify(const struct bytes *bytes)
{
    struct rbwp_verify_result result;
    struct rbwp_error error;
    assert_int_equal(
        rbwp_verify_memory(bytes->data, bytes->size, print_problem, NULL, &result, &error),
        RBWP_OK);
    return result;
}

/* Guards: a written file keeps every rule, strict or with a trailer, and the strict one ends with
 * its tables. */
static void written_files_keep_the_rules(void **state)
{
    (void)state;
    struct memory_sink full = {.limit = 100}, strict = {.limit = 100};
    assert_int_equal(write_file(sink_of(&full), &trailer), RBWP_OK);
    assert_int_equal(write_file(sink_of(&strict), NULL), RBWP_OK);
    struct rbwp_verify_result result = verify(&full.bytes);
    assert_int_equal(result.breaks, 0);
    assert_true(result.has_trailer && result.finalised && result.blocks_checked);
    assert_int_equal(result.blocks, 2);
    assert_int_equal(result.opaque_blocks, 1);
    assert_int_equal(result.records, 10);
    result = verify(&strict.bytes);
    assert_int_equal(result.breaks, 0);
    assert_false(result.has_trailer);
    assert_int_equal(full.patches, 1);
    assert_int_equal(full.patched_at_size, full.bytes.size); /* the patch comes last */

    struct opened opened = open_way(&strict.bytes, BY_MEMORY, NULL);
    const struct rbwp_file_header *header = rbwp_reader_header(opened.reader);
    assert_int_equal(header->node, 7);
    assert_int_equal(header->zero_time_ns, T);
    assert_int_equal(header->flags, RBWP_FLAG_LEVEL2);
    assert_int_equal(header->descriptor_offset + 9 + 9, strict.bytes.size);
    close_way(&opened);
    bytes_free(&full.bytes);
    bytes_free(&strict.bytes);
}

/* Guards: the index, sums included, is the writer's own, whatever the caller's trailer says. */
static void index_is_the_writers(void **state)
{
    (void)state;
    struct memory_sink sink = {.limit = 100};
    struct rbwp_trailer lying = trailer;
    struct rbwp_index_range range = {.offset = 1};
    lying.index = &range;
    lying.index_count = 1;
    assert_int_equal(write_file(sink_of(&sink), &lying), RBWP_OK);
    struct opened opened = open_way(&sink.bytes, BY_MEMORY, NULL);
    const struct rbwp_trailer *got = rbwp_reader_trailer(opened.reader);
    assert_int_equal(got->index_count, 3);
    assert_int_equal(got->index[1].records, 0);
    assert_int_equal(got->index[2].thread_id, 2);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(got->index[i].crc32c, slow_crc32c(sink.bytes.data + got->index[i].offset,
                                                           (size_t)got->index[i].bytes));
    close_way(&opened);
    bytes_free(&sink.bytes);
}

/* Guards: whichever call of the sink fails, the failure comes back, and what is in the file reads
 * as one that was not finalised. */
static void failures_come_back(void **state)
{
    (void)state;
    for (unsigned limit = 0;; limit++) {
        struct memory_sink sink = {.limit = limit};
        enum rbwp_status status = write_file(sink_of(&sink), &trailer);
        assert_int_equal(sink.calls, limit + (status != RBWP_OK));
        if (sink.bytes.size) {
            struct opened opened = open_way(&sink.bytes, BY_STREAM, NULL);
            assert_int_equal(rbwp_reader_header(opened.reader)->descriptor_offset != 0,
                             status == RBWP_OK);
            close_way(&opened);
        }
        bytes_free(&sink.bytes);
        if (status == RBWP_OK)
            break;
        assert_int_equal(status, RBWP_E_IO);
        assert_true(limit < 20);
    }
}

/* Guards: a block that did not fit leaves the writer as it was: others follow it, and the file is
 * finished without it. (A full disk must not cost the whole file.) */
static void a_block_that_fails_is_left_out(void **state)
{
    (void)state;
    for (unsigned failing = 1; failing <= 3; failing++) {
        struct memory_sink memory = {.limit = 100};
        struct rbwp_sink sink = sink_of(&memory);
        struct rbwp_writer *writer;
        assert_int_equal(rbwp_writer_new(&sink, 0, T, true, &writer), RBWP_OK);
        for (unsigned call = 1; call <= 3; call++) {
            enum rbwp_status expected = call == failing ? RBWP_E_IO : RBWP_OK;
            memory.limit = call == failing ? 0 : 100;
            assert_int_equal(call == 2 ? rbwp_writer_add_opaque(writer, "note", "hello", 5)
                                       : add_block(writer, 1, call, 2),
                             expected);
        }
        memory.limit = 0;
        assert_int_equal(rbwp_writer_finish(writer, work_items, 1, NULL, 0, NULL), RBWP_E_IO);
        memory.limit = 100;
        assert_int_equal(rbwp_writer_finish(writer, work_items, 1, NULL, 0, NULL), RBWP_OK);
        struct rbwp_verify_result result = verify(&memory.bytes);
        assert_int_equal(result.breaks, 0);
        assert_int_equal(result.finalised, true);
        assert_int_equal(result.blocks, failing == 2 ? 2 : 1);
        assert_int_equal(result.opaque_blocks, failing == 2 ? 0 : 1);
        rbwp_writer_free(writer);
        bytes_free(&memory.bytes);
    }
}

/* Guards: opaque blocks that a reader would refuse are not written; a finished writer refuses. */
static void wrong_calls_are_refused(void **state)
{
    (void)state;
    struct memory_sink memory = {.limit = 100};
    struct rbwp_sink sink = sink_of(&memory);
    struct rbwp_writer *writer;
    uint64_t bytes, blocks, records;
    assert_int_equal(rbwp_writer_new(&sink, 0, 0, false, &writer), RBWP_OK);
    assert_int_equal(rbwp_writer_add_opaque(writer, "1abc", NULL, 0), RBWP_E_INVALID);
    assert_int_equal(rbwp_writer_add_opaque(writer, "no e", NULL, 0), RBWP_E_INVALID);
    assert_int_equal(rbwp_writer_add_opaque(writer, "note", NULL, RBWP_BLOCK_BYTES_MAX - 3),
                     RBWP_E_LIMIT);
    assert_int_equal(rbwp_writer_finish(writer, work_items, 70000, NULL, 0, NULL), RBWP_E_LIMIT);
    assert_int_equal(memory.bytes.size, 36);
    assert_int_equal(add_block(writer, 1, 0, 2), RBWP_OK);
    assert_int_equal(rbwp_writer_finish(writer, NULL, 0, NULL, 0, NULL), RBWP_OK);
    assert_int_equal(add_block(writer, 1, 1, 2), RBWP_E_STATE);
    assert_int_equal(rbwp_writer_add_opaque(writer, "note", NULL, 0), RBWP_E_STATE);
    assert_int_equal(rbwp_writer_finish(writer, NULL, 0, NULL, 0, NULL), RBWP_E_STATE);
    rbwp_writer_totals(writer, &bytes, &blocks, &records);
    assert_int_equal(bytes, memory.bytes.size);
    assert_int_equal(blocks, 1);
    assert_int_equal(records, 2);
    rbwp_writer_totals(writer, NULL, NULL, NULL);
    rbwp_writer_free(writer);
    rbwp_writer_free(NULL);
    bytes_free(&memory.bytes);
}

/* Guards: the index of a long file stays bounded and still holds: 10000 blocks. */
static void long_files_verify(void **state)
{
    (void)state;
    struct memory_sink memory = {.limit = UINT32_MAX};
    struct rbwp_sink sink = sink_of(&memory);
    struct rbwp_writer *writer;
    assert_int_equal(rbwp_writer_new(&sink, 0, 0, false, &writer), RBWP_OK);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(add_block(writer, i % 5, i, 2 + i % 4), RBWP_OK);
    const struct rbwp_trailer plain = {.level = 1};
    assert_int_equal(rbwp_writer_finish(writer, NULL, 0, NULL, 0, &plain), RBWP_OK);
    rbwp_writer_free(writer);
    struct rbwp_verify_result result = verify(&memory.bytes);
    assert_int_equal(result.blocks, 10000);
    assert_int_equal(result.breaks, 0);
    bytes_free(&memory.bytes);
}

/* Guards: the block encoder's blocks, at each level, are blocks to the reader: records there and
 * back, times at the limits of each form. */
static void encoder_and_reader_agree(void **state)
{
    (void)state;
    for (int level = 0; level <= 9; level++) {
        struct memory_sink memory = {.limit = UINT32_MAX};
        struct rbwp_sink sink = sink_of(&memory);
        struct rbwp_writer *writer;
        struct rbwp_block_encoder *encoder;
        struct rbwp_sealed_block sealed;
        enum { RECORDS = 9000 };
        struct rbwp_record *records = calloc(RECORDS, sizeof *records);
        uint64_t random = 17;
        int64_t time_ns = T;
        uint32_t sequence = 0, written = 0;
        assert_int_equal(rbwp_writer_new(&sink, 0, 0, true, &writer), RBWP_OK);
        assert_int_equal(rbwp_block_encoder_new(16384, level, &encoder), RBWP_OK);
        for (uint32_t i = 0; i < RECORDS; i++) {
            static const unsigned kinds[] = {1, 0x11, 0x12, 2, 0x21};
            static const int64_t steps[] = {0, 32767, 32768, 0x3fffffff, 0x40000000, -5, 300, 301};
            struct rbwp_record *record = &records[i];
            time_ns += steps[i < 64 ? i % 8 : 6 + i % 2];
            record->time_ns = time_ns;
            record->kind = (uint8_t)kinds[i % 5];
            if (i % 5 == 0 || i % 5 == 4)
                record->slot = (uint8_t)next_random(&random);
            if (i % 5 == 1)
                record->sub_item = (uint16_t)next_random(&random);
            if (i % 5 == 4) {
                record->proc_id = next_random(&random);
                record->start_ns = -(int64_t)next_random(&random);
                record->stop_ns = INT64_MAX;
            }
            enum rbwp_status status = rbwp_block_encoder_add(encoder, record);
            if (status == RBWP_AGAIN) {
                assert_int_equal(rbwp_block_encoder_seal(encoder, 1, sequence++, &sealed), RBWP_OK);
                assert_int_equal(rbwp_writer_add_block(writer, &sealed), RBWP_OK);
                status = rbwp_block_encoder_add(encoder, record);
            }
            assert_int_equal(status, RBWP_OK);
        }
        assert_int_equal(rbwp_block_encoder_seal(encoder, 1, sequence++, &sealed), RBWP_OK);
        assert_int_equal(rbwp_writer_add_block(writer, &sealed), RBWP_OK);
        assert_int_equal(rbwp_writer_finish(writer, NULL, 0, NULL, 0, &trailer), RBWP_OK);
        rbwp_writer_free(writer);
        rbwp_block_encoder_free(encoder);

        struct opened opened = open_way(&memory.bytes, BY_MEMORY, NULL);
        struct rbwp_block block;
        while (rbwp_reader_next_block(opened.reader, &block) == RBWP_OK) {
            struct rbwp_record_iterator iterator;
            struct rbwp_record got;
            rbwp_record_first(&block, &iterator);
            while (rbwp_record_next(&iterator, &got)) {
                const struct rbwp_record *expected = &records[written++];
                assert_int_equal(got.time_ns, expected->time_ns);
                assert_int_equal(got.kind, expected->kind);
                assert_int_equal(got.slot, expected->slot);
                assert_int_equal(got.sub_item, expected->sub_item);
                assert_int_equal(got.proc_id, expected->proc_id);
                assert_int_equal(got.start_ns, expected->start_ns);
                assert_int_equal(got.stop_ns, expected->stop_ns);
            }
        }
        assert_int_equal(written, RECORDS);
        assert_int_equal(rbwp_reader_problem_count(opened.reader), 0);
        close_way(&opened);
        free(records);
        bytes_free(&memory.bytes);
    }
}

/* Guards: the descriptor sink writes and patches; a full disk, a pipe and an appending descriptor
 * are errors, not damage. */
static void descriptor_sink_writes_and_fails(void **state)
{
    (void)state;
    char path[] = "/tmp/rbwp-test-writer-XXXXXX";
    struct memory_sink expected = {.limit = 100};
    assert_int_equal(write_file(sink_of(&expected), &trailer), RBWP_OK);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write_file(rbwp_sink_fd(&fd), &trailer), RBWP_OK);
    uint8_t *read_back = malloc(expected.bytes.size + 1);
    assert_int_equal(pread(fd, read_back, expected.bytes.size + 1, 0), expected.bytes.size);
    assert_memory_equal(read_back, expected.bytes.data, expected.bytes.size);
    close(fd);

    fd = open(path, O_WRONLY | O_TRUNC | O_APPEND);
    assert_int_equal(write_file(rbwp_sink_fd(&fd), &trailer), RBWP_E_UNSUPPORTED);
    assert_int_equal(lseek(fd, 0, SEEK_END), expected.bytes.size); /* nothing was appended */
    close(fd);
    unlink(path);
    fd = open("/dev/full", O_WRONLY);
    assert_int_equal(write_file(rbwp_sink_fd(&fd), &trailer), RBWP_E_IO);
    assert_int_equal(errno, ENOSPC);
    close(fd);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write_file(rbwp_sink_fd(&ends[1]), &trailer), RBWP_E_IO);
    assert_int_equal(errno, ESPIPE);
    close(ends[0]);
    close(ends[1]);
    free(read_back);
    bytes_free(&expected.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_files_keep_the_rules),
        cmocka_unit_test(index_is_the_writers),
        cmocka_unit_test(failures_come_back),
        cmocka_unit_test(a_block_that_fails_is_left_out),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(long_files_verify),
        cmocka_unit_test(encoder_and_reader_agree),
        cmocka_unit_test(descriptor_sink_writes_and_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
