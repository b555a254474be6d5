/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of source.c: the same bytes through a window, from memory, from a file and a pipe. */
#include "format_support.h"
#include "source.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rbwp_error error;

static struct bytes random_bytes(size_t size)
{
    struct bytes bytes = {0};
    uint64_t state = 5;
    bytes.data = malloc(size);
    bytes.size = bytes.capacity = size;
    for (size_t i = 0; i < size; i++)
        bytes.data[i] = (uint8_t)next_random(&state);
    return bytes;
}

static int file_of(const struct bytes *bytes)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    fflush(file);
    int fd = dup(fileno(file));
    fclose(file);
    return fd;
}

/* Looks at uneven pieces, some overlapping, some far ahead, and compares them. */
static void walk_and_compare(struct source *source, const struct bytes *bytes)
{
    uint64_t state = 11, offset = 0;
    struct view view;
    while (offset < bytes->size + 100) {
        size_t want = (size_t)(next_random(&state) % 70000);
        assert_int_equal(source_view(source, offset, want, &view, &error), RBWP_OK);
        size_t there = offset > bytes->size ? 0 : bytes->size - (size_t)offset;
        assert_int_equal(view.count, want < there ? want : there);
        if (view.count)
            assert_memory_equal(view.bytes, bytes->data + offset, view.count);
        offset += next_random(&state) % 3 ? want / 2 : want + next_random(&state) % 400000;
    }
    assert_int_equal(source_view(source, offset, 1, &view, &error), RBWP_OK);
    assert_int_equal(view.count, 0);
    assert_int_equal(source->size, bytes->size);
}

/* Guards: no byte is lost, doubled or shifted where the window moves, in any kind of source. */
static void views_show_the_bytes(void **state)
{
    (void)state;
    struct bytes bytes = random_bytes(3000000);
    struct source source;
    source_open_memory(&source, bytes.data, bytes.size);
    walk_and_compare(&source, &bytes);
    source_close(&source);

    int fd = file_of(&bytes);
    assert_int_equal(source_open_fd(&source, fd, &error), RBWP_OK);
    assert_int_equal(source.kind, SOURCE_FILE);
    walk_and_compare(&source, &bytes);
    source_rewind(&source);
    walk_and_compare(&source, &bytes);
    assert_true(source.capacity < 1000000); /* the file is longer than the window */
    source_close(&source);
    close(fd);

    struct opened opened = open_pipe_way(&bytes);
    assert_int_equal(source_open_fd(&source, opened.fd, &error), RBWP_OK);
    assert_int_equal(source.kind, SOURCE_STREAM);
    walk_and_compare(&source, &bytes);
    assert_true(source.capacity < 1000000);
    source_close(&source);
    close_way(&opened);
    bytes_free(&bytes);
}

/* Guards: a file that is truncated while it is read ends early, instead of killing the process. */
static void shrinking_file_just_ends(void **state)
{
    (void)state;
    struct bytes bytes = random_bytes(2000000);
    struct source source;
    struct view view;
    int fd = file_of(&bytes);
    assert_int_equal(source_open_fd(&source, fd, &error), RBWP_OK);
    assert_int_equal(source_view(&source, 0, 1000, &view, &error), RBWP_OK);
    assert_int_equal(ftruncate(fd, 1000000), 0);
    assert_int_equal(source_view(&source, 900000, 200000, &view, &error), RBWP_OK);
    assert_int_equal(view.count, 100000);
    assert_int_equal(source.size, 1000000);
    uint8_t copied[10];
    assert_int_equal(source_copy(&source, 1500000, copied, 10, &error), RBWP_E_IO);
    assert_int_equal(source_copy(&source, 500000, copied, 10, &error), RBWP_OK);
    assert_memory_equal(copied, bytes.data + 500000, 10);
    source_close(&source);
    close(fd);
    bytes_free(&bytes);
}

/* Guards: what cannot be read is an error with errno, at open or at the first look. */
static void unreadable_sources_are_errors(void **state)
{
    (void)state;
    struct source source;
    struct view view;
    assert_int_equal(source_open_path(&source, "/nonexistent/file", &error), RBWP_E_IO);
    assert_int_equal(error.os_errno, ENOENT);
    assert_int_equal(source_open_path(&source, "/", &error), RBWP_E_IO);
    assert_int_equal(error.os_errno, EISDIR);
    assert_int_equal(source_open_fd(&source, -1, &error), RBWP_E_IO);
    assert_int_equal(error.os_errno, EBADF);
    int fd = open("/dev/null", O_WRONLY);
    assert_int_equal(source_open_fd(&source, fd, &error), RBWP_OK);
    assert_int_equal(source_view(&source, 0, 10, &view, &error), RBWP_E_IO);
    source_close(&source);
    close(fd);
}

/* Guards: in a process without standard input a file is opened as the descriptor 0. */
static void a_file_may_be_descriptor_0(void **state)
{
    (void)state;
    const int input = dup(STDIN_FILENO);
    struct source source;
    close(STDIN_FILENO);
    const enum rbwp_status status = source_open_path(&source, "/dev/null", &error);
    const int fd = source.fd;
    if (status == RBWP_OK)
        source_close(&source);
    if (input >= 0) {
        dup2(input, STDIN_FILENO);
        close(input);
    }
    assert_int_equal(status, RBWP_OK);
    assert_int_equal(fd, STDIN_FILENO);
}

/* Guards: offsets that a hostile file makes up do not wrap or make the window grow. */
static void absurd_offsets_show_nothing(void **state)
{
    (void)state;
    struct bytes bytes = random_bytes(1000);
    struct source source;
    struct view view;
    int fd = file_of(&bytes);
    assert_int_equal(source_open_fd(&source, fd, &error), RBWP_OK);
    assert_int_equal(source_view(&source, UINT64_MAX - 3, 10, &view, &error), RBWP_OK);
    assert_int_equal(view.count, 0);
    assert_int_equal(source_view(&source, INT64_MAX, 10, &view, &error), RBWP_OK);
    assert_int_equal(view.count, 0);
    source_close(&source);
    close(fd);
    bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_show_the_bytes),
        cmocka_unit_test(shrinking_file_just_ends),
        cmocka_unit_test(unreadable_sources_are_errors),
        cmocka_unit_test(a_file_may_be_descriptor_0),
        cmocka_unit_test(absurd_offsets_show_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
