/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bad: each folder holds a broken file, and a README that says what is
 * wrong and, in lines indented by four blanks, what the verifier says of it.
 */
#include "format_support.h"
#include "rbwp_verify.h"
#include "unit.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define INDENT "    "

static bool print_line(void *context, const struct rbwp_problem *problem)
{
    fprintf(context, "%s\n", problem->error.text);
    return true;
}

/* The indented lines of a text, without their indent. */
static char *expected_lines(const struct bytes *readme)
{
    char *expected = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&expected, &size);
    readme->data[readme->size] = 0;
    for (const char *line = (const char *)readme->data; *line;) {
        int length = (int)strcspn(line, "\n");
        if (!strncmp(line, INDENT, 4))
            fprintf(out, "%.*s\n", length - 4, line + 4);
        line += length + (line[length] == '\n');
    }
    fclose(out);
    return expected;
}

static void check_folder(const char *name)
{
    char path[512], *said = NULL;
    size_t size = 0;
    struct rbwp_verify_result result;
    snprintf(path, sizeof(path), "tests/bad/%s/README.md", name);
    struct bytes readme = load(path);
    snprintf(path, sizeof(path), "tests/bad/%s/input.bin", name);
    struct bytes file = load(path);
    FILE *out = open_memstream(&said, &size);
    enum rbwp_status status =
        rbwp_verify_memory(file.data, file.size, print_line, out, &result, NULL);
    fclose(out);
    char *expected = expected_lines(&readme);
    assert_true(strlen(expected) > 0);
    assert_string_equal(said, expected);
    assert_true(status <= RBWP_OK);
    assert_true(result.breaks > 0);
    free(expected);
    free(said);
    bytes_free(&file);
    bytes_free(&readme);
}

/* Guards: the messages that users meet, and that each broken file is told from a good one. */
static void broken_files_give_the_documented_messages(void **state)
{
    (void)state;
    unsigned folders = 0;
    DIR *bad = opendir(RBWP_SOURCE_DIR "/tests/bad");
    assert_non_null(bad);
    for (const struct dirent *entry; (entry = readdir(bad));)
        if (!strchr(entry->d_name, '.')) {
            check_folder(entry->d_name);
            folders++;
        }
    closedir(bad);
    assert_true(folders >= 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_files_give_the_documented_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
