/* SPDX-License-Identifier: Apache-2.0 */
/* The file as a sink: what a write that fails leaves, and the reserve for the ending. */
#include "output.h"

#include "record_support.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_empty(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static off_t size_of(const char *path)
{
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    return file.st_size;
}

static void test_write_and_patch(void **state)
{
    (void)state;
    const char *path = test_path("output.bin");
    struct output output;
    output_open(&output, open_empty(path));
    struct rbwp_sink sink = output_sink(&output);
    assert_int_equal(sink.write(sink.context, "0123456789", 10), RBWP_OK);
    assert_int_equal(sink.write(sink.context, "abc", 3), RBWP_OK);
    assert_int_equal(sink.patch(sink.context, 2, "XY", 2), RBWP_OK);
    assert_int_equal(size_of(path), 13); /* what is allocated ahead does not count */
    assert_int_equal(output_close(&output), RBWP_OK);
    char text[20] = "";
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 13);
    close(fd);
    assert_string_equal(text, "01XY456789abc");
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_true(file.st_blocks * 512 < 1 << 20); /* and was given back */
}

/* At the limit blocks are refused whole, smaller ones still fit, and the ending has its reserve. */
static void test_limit(void **state)
{
    (void)state;
    enum { LIMIT = 1 << 20, RESERVE = 256 << 10 };
    const char *path = test_path("limited.bin");
    struct rlimit before, limit;
    struct output output;
    char *bytes = calloc(1, LIMIT);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = LIMIT;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    output_open(&output, open_empty(path));
    struct rbwp_sink sink = output_sink(&output);
    const size_t room = LIMIT - RESERVE;
    assert_int_equal(sink.write(sink.context, bytes, room - 100), RBWP_OK);
    assert_int_equal(sink.write(sink.context, bytes, 101), RBWP_E_IO);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(size_of(path), room - 100);
    assert_int_equal(sink.write(sink.context, bytes, 100), RBWP_OK);
    assert_int_equal(sink.write(sink.context, bytes, 1), RBWP_E_IO);
    output.ending = true;
    assert_int_equal(sink.write(sink.context, bytes, RESERVE + 1), RBWP_E_IO); /* SIGXFSZ's write */
    assert_int_equal(errno, EFBIG);
    assert_int_equal(size_of(path), room); /* its first part is gone again */
    assert_int_equal(sink.write(sink.context, bytes, RESERVE), RBWP_OK);
    assert_int_equal(sink.patch(sink.context, 0, "x", 1), RBWP_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(output_close(&output), RBWP_OK);
    assert_int_equal(size_of(path), LIMIT);
    sigset_t pending;
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGXFSZ));
    free(bytes);
}

/* Guards against a cut that is not reported: one that a write follows, one of a file that ends in
 * zeros or in a short write, and one just before the end. What brings back the same is none. */
static void test_cut(void **state)
{
    (void)state;
    static const char zeros[100];
    const struct {
        const char *last;
        size_t bytes;
        off_t to;
        bool write_on, cut;
    } cases[] = {
        {"abcdefgh", 8, 60, true, true}, {"abcdefgh", 8, 60, false, true},
        {"abc", 3, 60, true, true},      {"abc", 3, 60, false, true},
        {zeros, 100, 60, true, true},    {zeros, 100, 60, false, true},
        {zeros, 100, 120, true, false},  {"abc", 3, 103, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = test_path("cut.bin");
        struct output output;
        output_open(&output, open_empty(path));
        struct rbwp_sink sink = output_sink(&output);
        char first[100];
        memset(first, 'x', sizeof first);
        assert_int_equal(sink.write(sink.context, first, sizeof first), RBWP_OK);
        assert_int_equal(sink.write(sink.context, cases[i].last, cases[i].bytes), RBWP_OK);
        assert_int_equal(sink.patch(sink.context, 1, "YY", 2), RBWP_OK);
        assert_int_equal(truncate(path, cases[i].to), 0);
        if (cases[i].write_on)
            assert_int_equal(sink.write(sink.context, "123456789", 9), RBWP_OK);
        assert_int_equal(output_close(&output), RBWP_OK);
        assert_int_equal(output.was_cut, cases[i].cut);
        assert_true(size_of(path) > 100);
    }
}

/* Files that cannot be allocated ahead or cut are written all the same. */
static void test_device(void **state)
{
    (void)state;
    struct output output;
    output_open(&output, open_empty("/dev/null"));
    struct rbwp_sink sink = output_sink(&output);
    assert_int_equal(sink.write(sink.context, "abc", 3), RBWP_OK);
    assert_int_equal(output_close(&output), RBWP_OK);
    output_open(&output, open_empty("/dev/full"));
    sink = output_sink(&output);
    assert_int_equal(sink.write(sink.context, "abc", 3), RBWP_E_IO);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(sink.patch(sink.context, 0, "abc", 3), RBWP_E_IO);
    assert_int_equal(output.size_bytes, 0);
    (void)output_close(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_patch),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_device),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
