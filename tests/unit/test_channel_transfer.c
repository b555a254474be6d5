/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of channel_transfer.c: memory and files, a piece at a time, and what goes wrong with files.
 */
#include "channel_transfer.h"
#include "test_channel_reference.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static uint8_t buffer[CHANNEL_FILE_PIECE_BYTES];

static int scratch_file(const void *bytes, size_t count)
{
    char path[] = "/tmp/rbwp_channel_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
    return fd;
}

/* Steps to the end. Between steps the struct moves to another address: it has no hidden state. */
static enum rbwp_status run(struct channel_transfer *t, uint64_t cost, unsigned *steps_out)
{
    struct channel_transfer copies[2] = {*t};
    unsigned steps = 0;
    enum rbwp_status status;
    do {
        struct channel_transfer *now = &copies[steps % 2], *next = &copies[1 - steps % 2];
        status = channel_transfer_step(now, buffer, cost);
        *next = *now;
        memset(now, 0xee, sizeof *now);
        steps++;
    } while (status == RBWP_AGAIN);
    *t = copies[steps % 2];
    if (steps_out)
        *steps_out = steps;
    return status;
}

static enum rbwp_status begin_and_run(const struct rbwp_transfer *transfer,
                                      struct channel_transfer *t, uint64_t cost)
{
    uint8_t fill[256];
    const char *reason = NULL;
    const enum rbwp_status status = channel_transfer_begin(t, transfer, fill, &reason);
    if (status != RBWP_OK)
        fail_msg("refused: %s", reason);
    return run(t, cost, NULL);
}

/* Makes one side of a random transfer a file; the bytes at first hold what is, or should be, there.
 */
static void put_into_file(struct dice *dice, struct rbwp_transfer_place *place, uint8_t *bytes,
                          size_t count)
{
    uint8_t lead[777];
    const size_t offset = (size_t)roll_below(dice, sizeof lead);
    memset(lead, 0x5a, sizeof lead);
    const int fd = scratch_file(lead, offset);
    assert_int_equal(pwrite(fd, bytes, count, (off_t)offset), (ssize_t)count);
    *place = (struct rbwp_transfer_place){.is_file = true, .fd = fd, .offset_bytes = offset};
}

/* One random transfer from or to a file, compared with naive loops over the file's bytes. */
static void check_file_transfer(uint64_t seed, enum rbwp_transfer_kind kind, bool file_is_target,
                                uint64_t extent_max)
{
    static const uint64_t costs[] = {1, 100, CHANNEL_PIECE_COST};
    struct dice dice = {seed};
    struct random_transfer random;
    random_transfer_make(&dice, kind, extent_max, &random);
    struct rbwp_transfer t = random.transfer;
    const size_t bytes = (size_t)(random.elements * t.element_bytes);
    uint8_t *in_file = malloc(bytes), *after = malloc(bytes);
    random_bytes(&dice, &t, in_file, bytes, 0);
    put_into_file(&dice, file_is_target ? &t.target : &t.source, in_file, bytes);

    uint8_t *expected = malloc(random.target_bytes);
    memcpy(expected, random.target, random.target_bytes);
    struct rbwp_transfer naive = random.transfer;
    if (file_is_target) {
        memset(naive.target.stride_bytes, 0, sizeof naive.target.stride_bytes);
        reference_transfer(&naive, in_file, naive.source.memory);
    } else {
        memset(naive.source.stride_bytes, 0, sizeof naive.source.stride_bytes);
        reference_transfer(&naive, expected + random.target_first, in_file);
    }
    struct channel_transfer transfer;
    assert_int_equal(begin_and_run(&t, &transfer, costs[seed % 3]), RBWP_OK);
    assert_int_equal(transfer.bytes_done, bytes);
    if (file_is_target) {
        assert_int_equal(pread(t.target.fd, after, bytes, (off_t)t.target.offset_bytes),
                         (ssize_t)bytes);
        assert_memory_equal(after, in_file, bytes);
        assert_int_equal(lseek(t.target.fd, 0, SEEK_END),
                         (off_t)(t.target.offset_bytes + bytes)); /* and not a byte more */
    }
    assert_memory_equal(random.target, expected, random.target_bytes);
    close(file_is_target ? t.target.fd : t.source.fd);
    free(in_file);
    free(after);
    free(expected);
    random_transfer_free(&random);
}

/* Guards: reading into any layout, folding included; arrays of several pieces too. */
static void reads_equal_naive_loops(void **state)
{
    (void)state;
    static const enum rbwp_transfer_kind kinds[] = {RBWP_TRANSFER_COPY, RBWP_TRANSFER_TRANSPOSE,
                                                    RBWP_TRANSFER_REDUCE};
    for (unsigned round = 0; round < 300; round++)
        check_file_transfer(100 + round, kinds[round % 3], false, round % 10 ? 40 : 120);
}

/* Guards: writing from any layout, filling a file, and reducing into one. */
static void writes_equal_naive_loops(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 400; round++)
        check_file_transfer(5000 + round, (enum rbwp_transfer_kind)(1 + round % 4), true,
                            round % 10 ? 40 : 120);
}

/* Guards: leaving and taking up again at every single point gives the same as going straight on. */
static void every_stop_gives_the_same(void **state)
{
    (void)state;
    enum { ROWS = 37, COLUMNS = 29, WIDE = 40 };
    uint16_t from[ROWS * WIDE], straight[COLUMNS * ROWS], stopped[COLUMNS * ROWS];
    for (unsigned i = 0; i < ROWS * WIDE; i++)
        from[i] = (uint16_t)(i * 2654435761u >> 7);
    for (enum rbwp_transfer_kind kind = RBWP_TRANSFER_COPY; kind <= RBWP_TRANSFER_TRANSPOSE; kind++)
        for (uint64_t cost = 1; cost < 3000; cost += cost < 100 ? 1 : 97) {
            struct rbwp_transfer t = {.size = sizeof t,
                                      .kind = kind,
                                      .dimensions = 2,
                                      .element_bytes = 2,
                                      .extent = {COLUMNS, ROWS},
                                      .source = {.memory = from, .stride_bytes = {0, 2 * WIDE}},
                                      .target.memory = straight,
                                      .fill = "ab"};
            struct channel_transfer transfer;
            memset(straight, 0, sizeof straight);
            memset(stopped, 0, sizeof stopped);
            assert_int_equal(begin_and_run(&t, &transfer, UINT64_MAX), RBWP_OK);
            t.target.memory = stopped;
            assert_int_equal(begin_and_run(&t, &transfer, cost), RBWP_OK);
            assert_memory_equal(stopped, straight, sizeof straight);
        }
}

/* Guards: a step of a file transfer is one bounded piece, so a long one takes many. */
static void a_file_goes_piece_by_piece(void **state)
{
    (void)state;
    enum { BYTES = 10 * CHANNEL_FILE_PIECE_BYTES + 5 };
    uint8_t *bytes = calloc(1, BYTES);
    const int fd = scratch_file(bytes, BYTES);
    const struct rbwp_transfer t = {.size = sizeof t,
                                    .kind = RBWP_TRANSFER_COPY,
                                    .dimensions = 1,
                                    .element_bytes = 1,
                                    .extent = {BYTES},
                                    .source = {.is_file = true, .fd = fd},
                                    .target.memory = bytes};
    struct channel_transfer transfer;
    const char *reason;
    unsigned steps;
    assert_int_equal(channel_transfer_begin(&transfer, &t, NULL, &reason), RBWP_OK);
    assert_int_equal(run(&transfer, CHANNEL_PIECE_COST, &steps), RBWP_OK);
    assert_true(steps >= 11);
    close(fd);
    free(bytes);
}

/* A strided read or write of 1000 rows of 10 out of 16 bytes on fd. */
static struct rbwp_transfer rows_on(int fd, bool write, uint8_t *rows)
{
    struct rbwp_transfer t = {.size = sizeof t,
                              .kind = RBWP_TRANSFER_COPY,
                              .dimensions = 2,
                              .element_bytes = 1,
                              .extent = {10, 1000}};
    const struct rbwp_transfer_place file = {.is_file = true, .fd = fd};
    const struct rbwp_transfer_place rows_place = {.memory = rows, .stride_bytes = {1, 16}};
    t.source = write ? rows_place : file;
    t.target = write ? file : rows_place;
    return t;
}

static struct channel_transfer fail_on(int fd, bool write, bool strided)
{
    static uint8_t rows[16 * 1000];
    struct rbwp_transfer t = rows_on(fd, write, rows);
    if (!strided)
        (write ? &t.source : &t.target)->stride_bytes[1] = 10;
    struct channel_transfer transfer;
    assert_int_not_equal(begin_and_run(&t, &transfer, CHANNEL_PIECE_COST), RBWP_OK);
    return transfer;
}

/* Guards: errors of the system become a status with its errno, through the buffer and past it. */
static void errors_of_files_are_statuses(void **state)
{
    (void)state;
    const int directory = open("/", O_RDONLY | O_DIRECTORY);
    const int full = open("/dev/full", O_RDWR);
    const int read_only = open("/dev/null", O_RDONLY);
    const int write_only = open("/dev/null", O_WRONLY);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const int closed = dup(full);
    close(closed);
    const struct {
        int fd;
        bool write;
        int os_errno;
    } cases[] = {
        {directory, false, EISDIR}, {directory, true, EBADF},   {full, true, ENOSPC},
        {read_only, true, EBADF},   {write_only, false, EBADF}, {ends[0], false, ESPIPE},
        {ends[1], true, ESPIPE},    {closed, false, EBADF},     {closed, true, EBADF},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int strided = 0; strided < 2; strided++) {
            const struct channel_transfer t = fail_on(cases[i].fd, cases[i].write, strided != 0);
            assert_int_equal(t.status, RBWP_E_IO);
            assert_int_equal(t.os_errno, cases[i].os_errno);
            assert_int_equal(t.bytes_done, 0);
        }
    close(directory), close(full), close(read_only), close(write_only);
    close(ends[0]), close(ends[1]);
}

/* Guards: a file that ends early is told from one that fails, and says how far it went. */
static void reading_past_the_end_is_truncated(void **state)
{
    (void)state;
    uint8_t bytes[9000];
    memset(bytes, 0x77, sizeof bytes);
    const int fd = scratch_file(bytes, sizeof bytes);
    struct channel_transfer t = fail_on(fd, false, false);
    assert_int_equal(t.status, RBWP_E_TRUNCATED);
    assert_int_equal(t.os_errno, 0);
    assert_int_equal(t.bytes_done, 9000);
    t = fail_on(fd, false, true);
    assert_int_equal(t.status, RBWP_E_TRUNCATED);
    assert_int_equal(channel_transfer_step(&t, buffer, 1), RBWP_E_TRUNCATED); /* and stays so */
    close(fd);
}

/* Guards: what a failed write did reach the file is counted. */
static void a_short_write_counts_what_arrived(void **state)
{
    (void)state;
    enum { BYTES = 3 * CHANNEL_FILE_PIECE_BYTES };
    uint8_t *bytes = calloc(1, BYTES);
    const int fd = scratch_file("", 0);
    struct rbwp_transfer t = {.size = sizeof t,
                              .kind = RBWP_TRANSFER_COPY,
                              .dimensions = 1,
                              .element_bytes = 1,
                              .extent = {BYTES},
                              .source.memory = bytes,
                              .target = {.is_file = true, .fd = fd}};
    struct channel_transfer transfer;
    const char *reason;
    assert_int_equal(channel_transfer_begin(&transfer, &t, NULL, &reason), RBWP_OK);
    enum rbwp_status status = RBWP_AGAIN;
    while (status == RBWP_AGAIN && transfer.bytes_done < 2 * CHANNEL_FILE_PIECE_BYTES)
        status = channel_transfer_step(&transfer, buffer, CHANNEL_PIECE_COST);
    const int read_only = open("/dev/null", O_RDONLY);
    transfer.fd = read_only; /* the disk fails from here on */
    assert_int_equal(run(&transfer, CHANNEL_PIECE_COST, NULL), RBWP_E_IO);
    assert_int_equal(transfer.bytes_done, 2 * CHANNEL_FILE_PIECE_BYTES);
    close(fd);
    close(read_only);
    free(bytes);
}

/* Guards: an empty transfer ends at the first step without touching anything. */
static void empty_ends_at_once(void **state)
{
    (void)state;
    struct rbwp_transfer t = rows_on(0, false, NULL);
    t.extent[0] = 0;
    struct channel_transfer transfer;
    assert_int_equal(begin_and_run(&t, &transfer, 1), RBWP_OK);
    assert_int_equal(transfer.bytes_done, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_equal_naive_loops),
        cmocka_unit_test(writes_equal_naive_loops),
        cmocka_unit_test(every_stop_gives_the_same),
        cmocka_unit_test(a_file_goes_piece_by_piece),
        cmocka_unit_test(errors_of_files_are_statuses),
        cmocka_unit_test(reading_past_the_end_is_truncated),
        cmocka_unit_test(a_short_write_counts_what_arrived),
        cmocka_unit_test(empty_ends_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
