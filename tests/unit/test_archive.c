/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive gives back the file that it was made of: the same bytes where no block was compressed,
 * else equal content; and reads like it by memory, file and stream. Whatever is changed or missing
 * behind its header is reported, and never gives other records.
 */
#include "archive.h"
#include "archive_source.h"
#include "archive_job.h"
#include "chunk_code.h"

#include "format_support.h"
#include "rbwp_verify.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

static enum rbwp_status append(void *context, const void *bytes, size_t count)
{
    put(context, bytes, count);
    return RBWP_OK;
}

static enum rbwp_status overwrite(void *context, uint64_t offset, const void *bytes, size_t count)
{
    struct bytes *file = context;
    memcpy(file->data + offset, bytes, count);
    return RBWP_OK;
}

static int file_of(const struct bytes *bytes)
{
    int fd = memfd_create("archive", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes->data, bytes->size), bytes->size);
    return fd;
}

static enum rbwp_status convert_with(const struct archive_help *help, const struct bytes *from,
                                     bool pack, struct bytes *to, struct rbwp_error *error)
{
    struct archive_result result;
    struct rbwp_sink sink = {.context = to, .write = append, .patch = overwrite};
    int fd = file_of(from);
    enum rbwp_status status = pack ? archive_pack(fd, &sink, help, &result, error)
                                   : archive_unpack(fd, &sink, help, &result, error);
    close(fd);
    assert_true(status != RBWP_OK ||
                (result.bytes == to->size && result.bytes_before == from->size));
    return status;
}

static enum rbwp_status convert(const struct bytes *from, bool pack, struct bytes *to,
                                struct rbwp_error *error)
{
    return convert_with(NULL, from, pack, to, error);
}

static struct bytes converted(const struct bytes *from, bool pack)
{
    struct bytes to = {0};
    struct rbwp_error error;
    if (convert(from, pack, &to, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return to;
}

static void assert_same_bytes(const struct bytes *a, const struct bytes *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

/* The archive of a file without compressed blocks reads like the file, by each way. */
static void assert_reads_alike(const struct bytes *archive, const struct bytes *plain)
{
    for (enum way way = BY_MEMORY; way <= BY_STREAM; way++) {
        char *of_archive = read_all(archive, way), *of_plain = read_all(plain, way);
        assert_string_equal(of_archive, of_plain);
        free(of_archive);
        free(of_plain);
    }
}

static bool has_packed_block(const struct bytes *file)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    bool packed = false;
    assert_int_equal(rbwp_reader_open_memory(file->data, file->size, NULL, &reader, NULL), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        packed = packed || block.header.stored_bytes;
    rbwp_reader_close(reader);
    return packed;
}

static void assert_good(const struct bytes *file)
{
    struct rbwp_verify_result verified;
    struct rbwp_error error;
    int fd = file_of(file);
    assert_int_equal(rbwp_verify_fd(fd, NULL, NULL, &verified, &error), RBWP_OK);
    assert_int_equal(verified.breaks, 0);
    close(fd);
}

/* There and back, and once more: the archive of what came back is the same archive. */
static void round_trip(const struct bytes *file, bool good)
{
    struct bytes archive = converted(file, true), back = converted(&archive, false);
    struct bytes again = converted(&back, true);
    if (!has_packed_block(file)) {
        assert_same_bytes(&back, file);
        assert_reads_alike(&archive, file);
    }
    assert_same_bytes(&again, &archive);
    if (good) {
        assert_good(&archive);
        assert_good(&back);
    }
    bytes_free(&archive);
    bytes_free(&back);
    bytes_free(&again);
}

/* Guards: the promise of SPEC.md, 16.1, for all golden files that are whole, the example, and a
 * file with tables, a compressed block, private blocks and both indexes; others are refused by
 * name. */
static void test_files(void **state)
{
    (void)state;
    struct bytes example = load_example();
    round_trip(&example, true);
    bytes_free(&example);
    struct bytes tables = load("tests/fuzz/corpus/files/tables");
    assert_true(has_packed_block(&tables));
    round_trip(&tables, true);
    bytes_free(&tables);
    for (size_t i = 0; i < golden_count; i++) {
        struct bytes file = load_golden(golden_names[i]), none = {0};
        struct rbwp_error error;
        bool whole = !strstr(golden_names[i], "crash") && !strstr(golden_names[i], "defect");
        if (whole)
            round_trip(&file, true);
        else
            assert_true(convert(&file, true, &none, &error) != RBWP_OK && error.text[0]);
        bytes_free(&file);
        bytes_free(&none);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Guards: each symbol's smallest and largest number come back. */
static void test_numbers(void **state)
{
    (void)state;
    uint64_t next = 0;
    for (unsigned symbol = 0; symbol < NUMBER_SYMBOLS; symbol++) {
        unsigned bits, found_bits;
        uint64_t base = number_base(symbol, &bits), last = base + ((UINT64_C(1) << bits) - 1);
        assert_int_equal(base, next); /* no gap, no number twice */
        assert_int_equal(number_symbol(base, &found_bits), symbol);
        assert_int_equal(found_bits, bits);
        assert_int_equal(number_symbol(last, &found_bits), symbol);
        next = last + 1;
    }
    assert_int_equal(next, 0); /* all 2^64 */
    assert_true(NUMBER_SYMBOLS <= TIME_SYMBOL_WIDE);
}

static void put_time(struct bytes *data, unsigned form, uint64_t value)
{
    uint64_t top = form == 2 ? 0 : form == 4 ? UINT64_C(2) << 30 : UINT64_C(3) << 62;
    put_be(data, top | value, form);
}

static void put_random_record(struct bytes *data, uint64_t *random, bool first)
{
    static const uint8_t kinds[] = {0x01, 0x02, 0x11, 0x12, 0x21};
    uint64_t how = next_random(random), value = next_random(random);
    unsigned kind = kinds[how % 5], pick = how >> 8 & 63;
    if (first || pick == 0) /* anywhere */
        put_time(data, 8, value >> 2);
    else if (pick < 8)
        put_time(data, 4, (1u << 15) + value % ((1u << 30) - (1u << 15)));
    else
        put_time(data, 2, value >> 10 & (pick < 30 ? 63 : 0x7fff));
    put_le(data, kind, 1);
    if (kind == 0x01)
        put_le(data, next_random(random), 1);
    if (kind == 0x11)
        put_le(data, next_random(random), 2);
    for (unsigned i = 0; kind == 0x21 && i < 25; i++)
        put_le(data, pick & 1 ? next_random(random) : 0, 1);
}

/* The form that a number has where none else is chosen; a time that a writer would write so. */
static struct bytes random_block(uint64_t *random, uint32_t records)
{
    struct bytes data = {0};
    for (uint32_t i = 0; i < records; i++)
        put_random_record(&data, random, i == 0);
    return data;
}

static void add_block(struct chunk_encoder *encoder, struct bytes *plain, const struct bytes *data,
                      uint32_t records, bool packed)
{
    struct rbwp_block_header header = {.thread_id = plain->size * 77,
                                       .sequence = records,
                                       .records = records,
                                       .base_time_ns = -5,
                                       .data_bytes = (uint32_t)data->size};
    put_block_header(plain, header.thread_id, header.sequence, records, -5, header.data_bytes, 0);
    put(plain, data->data, data->size);
    assert_true(chunk_encoder_add(encoder, &header, data->data, packed));
}

static void assert_chunk(struct chunk_encoder *encoder, const struct bytes *plain, uint64_t *random)
{
    struct chunk_decoder decoder = {0};
    struct buffer payload = {0};
    uint8_t *out = malloc(plain->size + CHUNK_SLACK);
    assert_true(chunk_encoder_finish(encoder, &payload));
    assert_null(chunk_decode(&decoder, payload.bytes, payload.count, out, plain->size));
    assert_memory_equal(out, plain->data, plain->size);
    /* Changed, it gives other bytes or a reason, and touches nothing else. */
    for (int i = 0; i < 300; i++) {
        size_t at = next_random(random) % payload.count;
        uint8_t bit = (uint8_t)(1u << (next_random(random) & 7));
        payload.bytes[at] ^= bit;
        (void)chunk_decode(&decoder, payload.bytes, payload.count, out, plain->size);
        (void)chunk_decode(&decoder, payload.bytes, at, out, plain->size);
        payload.bytes[at] ^= bit;
    }
    assert_non_null(chunk_decode(&decoder, payload.bytes, payload.count - 1, out, plain->size));
    assert_non_null(chunk_decode(&decoder, payload.bytes, payload.count, out, plain->size - 1));
    assert_non_null(chunk_decode(&decoder, payload.bytes, payload.count, out, plain->size + 1));
    free(out);
    buffer_free(&payload);
    chunk_decoder_free(&decoder);
}

/* Guards: blocks of any records, also in forms that no writer chooses, come back byte for byte; an
 * encoder that was used begins anew; payloads that were changed do no harm. */
static void test_columns(void **state)
{
    (void)state;
    uint64_t random = 5;
    struct chunk_encoder encoder;
    assert_true(chunk_encoder_begin(&encoder));
    for (unsigned round = 0; round < 12; round++) {
        struct bytes plain = {0};
        for (unsigned block = 0; block < 1 + round % 4; block++) {
            uint32_t records = 1 + (uint32_t)(next_random(&random) % 700);
            struct bytes data = random_block(&random, records);
            add_block(&encoder, &plain, &data, records, block & 1);
            bytes_free(&data);
            data = make_data(records, 1700000000000000000);
            add_block(&encoder, &plain, &data, records, false);
            bytes_free(&data);
        }
        struct bytes longer = {0}; /* 4 bytes where 2 do */
        put_time(&longer, 8, 12345);
        put_le(&longer, 0x02, 1);
        put_time(&longer, 4, 7);
        put_le(&longer, 0x02, 1);
        add_block(&encoder, &plain, &longer, 2, true);
        bytes_free(&longer);
        assert_chunk(&encoder, &plain, &random);
        bytes_free(&plain);
    }
    chunk_encoder_end(&encoder);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* As of threads that are as late as they can be: jobs run when the first of them is taken, and the
 * last one first. */
enum { LATE_JOBS = 3 };
struct late_queue {
    void (*run)(void *job);
    size_t job_bytes, submitted, taken, done;
    char *jobs;
};

static void *open_late(void *context, size_t job_bytes, void (*run)(void *job))
{
    struct late_queue *queue = context;
    *queue = (struct late_queue){.run = run, .job_bytes = job_bytes};
    queue->jobs = calloc(LATE_JOBS, job_bytes);
    assert_non_null(queue->jobs);
    return queue;
}

static void *late_job(const struct late_queue *queue, size_t at)
{
    return queue->jobs + at % LATE_JOBS * queue->job_bytes;
}

static void close_late(void *context, void (*stop)(void *job))
{
    struct late_queue *queue = context;
    for (size_t i = 0; i < LATE_JOBS; i++)
        stop(late_job(queue, i));
    free(queue->jobs);
}

static void *next_late(void *context)
{
    struct late_queue *queue = context;
    return queue->submitted - queue->taken < LATE_JOBS ? late_job(queue, queue->submitted) : NULL;
}

static void submit_late(void *context)
{
    struct late_queue *queue = context;
    queue->submitted++;
}

static void *take_late(void *context)
{
    struct late_queue *queue = context;
    if (queue->taken == queue->submitted)
        return NULL;
    if (queue->taken == queue->done)
        for (size_t i = queue->submitted; i-- > queue->taken; queue->done++)
            queue->run(late_job(queue, i));
    return late_job(queue, queue->taken++);
}

static void put_packed_block(struct bytes *file, const struct bytes *data, uint32_t sequence,
                             uint32_t records, int64_t base_ns)
{
    uLongf stored = compressBound(data->size);
    uint8_t *payload = malloc(stored);
    assert_int_equal(compress(payload, &stored, data->data, data->size), Z_OK);
    put_block_header(file, 0, sequence, records, base_ns, (uint32_t)data->size, (uint32_t)stored);
    put(file, payload, stored);
    free(payload);
}

/* A private block with so many zeros, which alone fills any job. */
static void put_large_block(struct bytes *file)
{
    struct bytes data = {.size = ARCHIVE_JOB_UNPACKS * ARCHIVE_JOB_BYTES};
    data.data = calloc(1, data.size);
    memcpy(data.data, "vzzz", 4);
    put_packed_block(file, &data, 0, 0, 0);
    bytes_free(&data);
}

/* Some records that come again and again, with times between them that do not: what is worth to be
 * a repetition is known of blocks before. */
static void put_varied_block(struct bytes *file, uint64_t *random, uint32_t sequence)
{
    enum { RECORDS = 3000 };
    struct bytes data = {0};
    put_time(&data, 8, UINT64_C(1700000000000000000));
    put_le(&data, 0x12, 1);
    for (uint32_t i = 1; i < RECORDS; i++) {
        put_time(&data, 2, next_random(random) >> 20 & (sequence % 2 ? 15 : 0x3fff));
        put_le(&data, 0x11, 1);
        put_le(&data, next_random(random) >> 20 & (sequence % 2 ? 255 : 3), 2);
    }
    put_packed_block(file, &data, sequence, RECORDS, 1700000000000000000);
    bytes_free(&data);
}

/* Guards: chunks that are made at the same time, in any order, are the same bytes in the same
 * order, and so are blocks that are compressed again. */
static void test_jobs(void **state)
{
    (void)state;
    uint64_t random = 7;
    struct bytes file = {0}, archive = {0}, back = {0};
    struct late_queue queue;
    struct job_queues queues = {&queue, open_late, close_late, next_late, submit_late, take_late};
    struct archive_help help = {.queues = &queues};
    put_header(&file, 0, 0, 0);
    for (uint32_t i = 0; i <= LATE_JOBS; i++) {
        put_varied_block(&file, &random, i);
        put_large_block(&file);
    }
    set_le(&file, 28, file.size, 8);
    struct bytes expected = converted(&file, true), expected_back = converted(&expected, false);
    assert_int_equal(convert_with(&help, &file, true, &archive, NULL), RBWP_OK);
    assert_int_equal(queue.submitted, LATE_JOBS + 1);
    assert_same_bytes(&archive, &expected);
    assert_int_equal(convert_with(&help, &archive, false, &back, NULL), RBWP_OK);
    assert_int_equal(queue.submitted, LATE_JOBS + 1);
    assert_same_bytes(&back, &expected_back);
    assert_true(has_packed_block(&back));
    bytes_free(&file);
    bytes_free(&archive);
    bytes_free(&back);
    bytes_free(&expected);
    bytes_free(&expected_back);
}

/* Guards: what takes turns is said by repetitions, also behind a beginning that has none of them
 * for a while, and where each byte is as frequent as any; and what has none is never larger for
 * having been looked at. */
static void test_repetitions(void **state)
{
    (void)state;
    enum { BYTES = 20000, NOISE = 1500 };
    struct stream_packer packer;
    struct buffer of_turns = {0}, of_all = {0}, of_noise = {0};
    uint8_t *bytes = calloc(1, BYTES + DEFLATER_SLACK);
    uint64_t random = 9;
    assert_true(stream_packer_begin(&packer));
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i < NOISE ? next_random(&random) & 15 : i * 7 % 16);
    stream_pack(&packer, bytes, BYTES, STREAM_PATTERNS, &of_turns);
    assert_in_range(of_turns.count, NOISE / 2, NOISE / 2 + 300);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i * 7);
    stream_pack(&packer, bytes, BYTES, STREAM_PATTERNS, &of_all);
    assert_in_range(of_all.count, 256, 600);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(next_random(&random) & 15);
    stream_pack(&packer, bytes, BYTES, STREAM_PATTERNS, &of_noise);
    assert_in_range(of_noise.count, BYTES / 2, BYTES / 2 + 300);
    stream_packer_end(&packer);
    buffer_free(&of_turns);
    buffer_free(&of_all);
    buffer_free(&of_noise);
    free(bytes);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Reads it to the end by this way; how many records and problems. */
static uint64_t read_damaged(const struct bytes *archive, enum way way, uint64_t *problems_out)
{
    uint64_t records = 0;
    struct rbwp_block block;
    struct opened opened = open_way(archive, way, NULL);
    *problems_out = opened.status != RBWP_OK;
    while (opened.status == RBWP_OK && rbwp_reader_next_block(opened.reader, &block) == RBWP_OK)
        records += block.header.records;
    if (opened.reader)
        *problems_out += rbwp_reader_problem_count(opened.reader);
    close_way(&opened);
    return records;
}

/* whole: all but what says where the chunks are. */
static void assert_told(const struct bytes *archive, uint64_t records, bool whole)
{
    struct bytes back = {0};
    struct rbwp_error error;
    assert_true(convert(archive, false, &back, &error) != RBWP_OK);
    assert_true(error.text[0] != 0);
    bytes_free(&back);
    for (enum way way = BY_MEMORY; way <= BY_STREAM; way++) {
        uint64_t problems, found = read_damaged(archive, way, &problems);
        assert_true(found <= records);
        assert_true(problems || (way == BY_STREAM && whole && found == records));
    }
}

/* Two chunks of blocks, tables, a trailer. */
static struct bytes large_archive(uint64_t *records_out)
{
    struct bytes file = {0};
    put_header(&file, 0, 0, 0);
    *records_out = 0;
    for (uint32_t i = 0; i < 3; i++, *records_out += 40000)
        put_block(&file, 7, i, 40000, 1700000000000000000 + i * INT64_C(10000000000));
    set_le(&file, 28, file.size, 8);
    struct bytes archive = converted(&file, true);
    round_trip(&file, true);
    bytes_free(&file);
    return archive;
}

/* Guards: each byte behind the header is under a sum; each cut is reported; a damaged chunk loses
 * its own records alone; and nothing is read beyond the bytes (the sanitizers look). */
static void test_damage(void **state)
{
    (void)state;
    struct bytes example = load_example(), archive = converted(&example, true);
    uint64_t problems, records = read_damaged(&archive, BY_MEMORY, &problems);
    size_t places = (size_t)load_le64(archive.data + archive.size - ARCHIVE_FOOTER_BYTES);
    assert_int_equal(problems, 0);
    for (size_t at = 36; at < archive.size; at += 3 + at % 3) {
        archive.data[at] ^= 0x10;
        assert_told(&archive, records, at >= places);
        archive.data[at] ^= 0x10;
    }
    for (size_t at = 36; at < 36 + ARCHIVE_CHUNK_HEAD_BYTES; at++) { /* of a head: each bit */
        for (unsigned bit = 0; bit < 8; bit++) {
            archive.data[at] ^= (uint8_t)(1u << bit);
            assert_told(&archive, records, false);
            archive.data[at] ^= (uint8_t)(1u << bit);
        }
    }
    for (size_t size = 0; size < archive.size; size += size < 100 ? 1 : 17) {
        struct bytes cut = {archive.data, size, size};
        assert_told(&cut, records, size >= places);
    }
    bytes_free(&archive);
    bytes_free(&example);
}

/* Guards: the file's header, under no sum in either form, gives no other records when it is wrong:
 * each bit of it changes nothing but what it says, or is reported. */
static void test_damaged_header(void **state)
{
    (void)state;
    struct bytes example = load_example(), archive = converted(&example, true);
    uint64_t problems, records = read_damaged(&archive, BY_MEMORY, &problems);
    for (unsigned bit = 0; bit < 36 * 8; bit++) {
        uint8_t *byte = &archive.data[bit / 8], as_it_was = *byte;
        unsigned at = bit / 8;
        *byte ^= (uint8_t)(1u << bit % 8);
        for (enum way way = BY_MEMORY; way <= BY_STREAM; way++) {
            uint64_t found = read_damaged(&archive, way, &problems);
            assert_true(problems ? found <= records : found == records);
            bool reported = at < 6 || at >= 28; /* magic, version, place of the tables */
            assert_true(problems || !reported);
        }
        *byte = as_it_was;
    }
    bytes_free(&archive);
    bytes_free(&example);
}

static void test_damaged_chunk(void **state)
{
    (void)state;
    uint64_t records, problems;
    struct bytes archive = large_archive(&records);
    for (enum way way = BY_MEMORY; way <= BY_STREAM; way++) {
        for (size_t at = 36; at < 80; at += 40) { /* the first chunk's head, and its payload */
            archive.data[at] ^= 1;
            uint64_t found = read_damaged(&archive, way, &problems);
            assert_int_equal(found, way == BY_STREAM && at == 36 ? 0 : 40000);
            assert_true(problems);
            archive.data[at] ^= 1;
        }
    }
    bytes_free(&archive);
}

/* Guards: a chunk that is whole, but another one than the archive's end has there, is dropped. */
static void test_other_chunk(void **state)
{
    (void)state;
    uint64_t records, problems;
    struct archive_chunk chunk;
    struct bytes archive = large_archive(&records), back = {0};
    struct rbwp_error error;
    uint8_t *head = archive.data + RBWP_FILE_HEADER_BYTES;
    assert_true(archive_chunk_decode(head, &chunk));
    chunk.place++;
    archive_chunk_encode(&chunk, head + ARCHIVE_CHUNK_HEAD_BYTES, head);
    assert_int_not_equal(convert(&archive, false, &back, &error), RBWP_OK);
    assert_non_null(strstr(error.text, "a chunk is not the one that the archive's end says"));
    for (enum way way = BY_MEMORY; way < BY_STREAM; way++) {
        assert_int_equal(read_damaged(&archive, way, &problems), 40000);
        assert_true(problems);
    }
    bytes_free(&archive);
    bytes_free(&back);
}

/* Guards: by the index of the trailer a reader goes to a block and decodes its chunk alone. */
static void test_seek(void **state)
{
    (void)state;
    uint64_t records;
    struct rbwp_block block;
    struct bytes archive = large_archive(&records);
    struct opened opened = open_way(&archive, BY_FILE, NULL);
    assert_true(rbwp_reader_is_archive(opened.reader));
    uint64_t offset[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
        offset[i] = block.offset;
    }
    for (int i = 2; i >= 0; i--) {
        assert_int_equal(rbwp_reader_seek(opened.reader, offset[i]), RBWP_OK);
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
        assert_int_equal(block.header.sequence, i);
        assert_int_equal(block.offset, offset[i]);
    }
    close_way(&opened);
    bytes_free(&archive);
}

/* Guards: neither the archive of an archive nor the file of a file is made. */
static void test_refused(void **state)
{
    (void)state;
    struct bytes example = load_example(), archive = converted(&example, true), none = {0};
    struct rbwp_error error;
    assert_int_equal(convert(&archive, true, &none, &error), RBWP_E_INVALID);
    assert_int_equal(convert(&example, false, &none, &error), RBWP_E_INVALID);
    int fd = file_of(&archive);
    assert_true(archive_is(fd));
    close(fd);
    bytes_free(&example);
    bytes_free(&archive);
    bytes_free(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),         cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_columns),
        cmocka_unit_test(test_repetitions),   cmocka_unit_test(test_damage),
        cmocka_unit_test(test_damaged_chunk), cmocka_unit_test(test_damaged_header),
        cmocka_unit_test(test_seek),          cmocka_unit_test(test_refused),
        cmocka_unit_test(test_other_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
