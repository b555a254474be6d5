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
        cmocka_unit_test(test_device),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
