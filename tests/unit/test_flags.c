/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of flags.c: what is taken from argv and RBWP_FLAGS, what is left, and what is refused. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "flags.h"

struct config {
    int count;
    int64_t offset;
    uint32_t bytes;
    uint64_t cap;
    bool on;
    int mode;
    const char *path;
};

static const struct flag table[] = {
    {"count", FLAG_INT, offsetof(struct config, count), -5, 100, 0, "things"},
    {"offset", FLAG_I64, offsetof(struct config, offset), INT64_MIN, INT64_MAX, 1, "steps"},
    {"bytes", FLAG_U32, offsetof(struct config, bytes), 0, INT64_MAX, 1024, "kilobytes"},
    {"cap", FLAG_U64, offsetof(struct config, cap), 0, INT64_MAX, 1 << 20, "megabytes"},
    {"on", FLAG_BOOL, offsetof(struct config, on), 0, 1, 0, "1: on"},
    {"mode", FLAG_ENUM, offsetof(struct config, mode), 0, 2, 0, "a mode"},
    {"path", FLAG_STRING, offsetof(struct config, path), 0, 0, 0, "a file"},
};

static const struct flag_table flags = {table, sizeof table / sizeof table[0], 0, NULL};

#define WORDS_MAX 32

/* A command line and what reading it came to. */
struct reading {
    struct config config;
    int argc;
    char *argv[WORDS_MAX];
    struct rbwp_error error;
    enum rbwp_status status;
};

/* Reads the environment (NULL: none) and the words of line, separated by blanks. */
static struct reading read_flags(const char *environment, const char *line)
{
    struct reading reading = {.config = {.count = 7, .path = "default"}};
    static char text[1000];
    assert_true(strlen(line) < sizeof text);
    strcpy(text, line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        reading.argv[reading.argc++] = word;
    if (environment)
        setenv("RBWP_FLAGS", environment, 1);
    else
        unsetenv("RBWP_FLAGS");
    reading.status = flags_apply(&flags, &reading.config, sizeof reading.config, &reading.argc,
                                 reading.argv, &reading.error);
    return reading;
}

static void assert_argv(const struct reading *reading, const char *expected)
{
    char joined[1000] = "";
    for (int i = 0; i < reading->argc; i++) {
        strcat(joined, i ? " " : "");
        strcat(joined, reading->argv[i]);
    }
    assert_string_equal(joined, expected);
    assert_null(reading->argv[reading->argc]);
}

/* Each type reaches its field, scaled; what is not ours stays, in order; both prefixes work. */
static void test_takes_what_it_knows(void **state)
{
    (void)state;
    struct reading r = read_flags(NULL, "prog a -count -5 -unknown 3 -ll:offset "
                                        "-9223372036854775808 b -bytes 4 -cap 3 -ll:on 1 "
                                        "-mode 2 -path /x/y c");
    assert_int_equal(r.status, RBWP_OK);
    assert_argv(&r, "prog a -unknown 3 b c");
    assert_int_equal(r.config.count, -5);
    assert_true(r.config.offset == INT64_MIN);
    assert_int_equal(r.config.bytes, 4096);
    assert_int_equal(r.config.cap, 3 << 20);
    assert_true(r.config.on);
    assert_int_equal(r.config.mode, 2);
    assert_string_equal(r.config.path, "/x/y");
}

/* The environment is read first, so argv wins; of two of a kind the last wins. */
static void test_argv_wins(void **state)
{
    (void)state;
    struct reading r = read_flags(" -count 1\t-mode 1\n -ll:cap 2 ", "prog -count 2 -count 3");
    assert_int_equal(r.status, RBWP_OK);
    assert_int_equal(r.config.count, 3);
    assert_int_equal(r.config.mode, 1);
    assert_int_equal(r.config.cap, 2 << 20);
    assert_argv(&r, "prog");
}

static void assert_refused(const char *environment, const char *line, const char *const *parts)
{
    struct reading r = read_flags(environment, line);
    assert_int_equal(r.status, RBWP_E_USAGE);
    assert_int_equal(r.error.status, RBWP_E_USAGE);
    assert_null(strchr(r.error.text, '\n'));
    for (; *parts; parts++)
        if (!strstr(r.error.text, *parts))
            fail_msg("'%s' is not in '%s'", *parts, r.error.text);
    struct config untouched = {.count = 7, .path = "default"};
    assert_memory_equal(&r.config, &untouched, sizeof untouched);
    assert_argv(&r, line);
}

#define REFUSED(environment, line, ...)                                                            \
    assert_refused(environment, line, (const char *const[]){__VA_ARGS__, NULL})

/* "--" and "=" are taken too, with any name and before any name; all of it is gone from argv. */
static void test_other_spellings(void **state)
{
    (void)state;
    struct reading r = read_flags("--mode=1", "prog --count 3 -cap=4 x --ll:bytes=5 -ll:offset=-6 "
                                              "--path=a=b --unknown=7 -countx=8");
    assert_int_equal(r.status, RBWP_OK);
    assert_argv(&r, "prog x --unknown=7 -countx=8");
    assert_int_equal(r.config.count, 3);
    assert_int_equal(r.config.cap, 4 << 20);
    assert_int_equal(r.config.bytes, 5 << 10);
    assert_true(r.config.offset == -6);
    assert_int_equal(r.config.mode, 1);
    assert_string_equal(r.config.path, "a=b");
}

/* RBWP_FLAGS is ours alone: flags of other tables are passed over with their values, and left in
 * argv; a word that no table knows is refused. */
static void test_words_of_the_environment(void **state)
{
    (void)state;
    struct reading r = read_flags("-bgwork -3 -ll:bgspin=4 -count 5 --bgworkprofile_logfile -mode",
                                  "prog -bgworkprofile_logfile -mode -mode 2");
    assert_int_equal(r.status, RBWP_OK);
    assert_int_equal(r.config.count, 5);
    assert_int_equal(r.config.mode, 2);
    assert_argv(&r, "prog -bgworkprofile_logfile -mode");
    r = read_flags("-count 5 -- anything", "prog");
    assert_int_equal(r.status, RBWP_OK);
    r = read_flags(NULL, "prog -bgworkp 1 -- -bgworkprofile_logfle x");
    assert_int_equal(r.status, RBWP_OK);
    assert_argv(&r, "prog -bgworkp 1 -- -bgworkprofile_logfle x");
    REFUSED("-count 5 -nosuch 3", "prog", "RBWP_FLAGS", "'-nosuch'", "rbwp_session.h");
    REFUSED("-count 5 6", "prog", "RBWP_FLAGS", "'6'");
    REFUSED("-bgworkprofil 1", "prog", "'-bgworkprofil'", "did you mean '-bgworkprofile'?");
    REFUSED("--bgworkprofile-logfile=x", "prog", "did you mean '-bgworkprofile");
    REFUSED(NULL, "prog -bgworkprofile_logfle x", "'-bgworkprofile_logfle'",
            "did you mean '-bgworkprofile_logfile'?");
    REFUSED(NULL, "prog --ll:bgworkprofil=1", "command line", "did you mean '-bgworkprofile'?");
    REFUSED("-bgstak=1", "prog", "did you mean '-bgstack'?");
    REFUSED("-bgworkprofile", "prog", "-bgworkprofile", "missing");
    REFUSED("-count= -mode 1", "prog", "-count in RBWP_FLAGS", "not a whole number");
    REFUSED(NULL, "prog -path=", "flag -path:", "empty");
}

/* A string out of the environment outlives the environment's change. */
static void test_environment_string_is_kept(void **state)
{
    (void)state;
    struct reading r = read_flags("-path /from/environment -count 4", "prog");
    assert_int_equal(r.status, RBWP_OK);
    setenv("RBWP_FLAGS", "-path /something/else and more of it", 1);
    assert_string_equal(r.config.path, "/from/environment");
    assert_int_equal(r.config.count, 4);
}

/* Threads that read the same string share one copy. The flag between them orders nothing, so
 * ThreadSanitizer sees whether the copy's text is handed over. */
static void *read_path(void *waits)
{
    static atomic_bool is_kept;
    struct config config = {.path = NULL};
    while (waits && !atomic_load_explicit(&is_kept, memory_order_relaxed))
        sched_yield();
    if (flags_apply(&flags, &config, sizeof config, NULL, NULL, NULL) != RBWP_OK)
        return NULL;
    atomic_store_explicit(&is_kept, true, memory_order_relaxed);
    return (void *)(uintptr_t)config.path;
}

static void test_threads_share_a_string(void **state)
{
    (void)state;
    pthread_t first, second;
    void *first_path, *second_path;
    setenv("RBWP_FLAGS", "-path /of/two/threads", 1);
    assert_int_equal(pthread_create(&first, NULL, read_path, NULL), 0);
    assert_int_equal(pthread_create(&second, NULL, read_path, "waits"), 0);
    assert_int_equal(pthread_join(first, &first_path), 0);
    assert_int_equal(pthread_join(second, &second_path), 0);
    assert_string_equal(first_path, "/of/two/threads");
    assert_ptr_equal(first_path, second_path);
}

/* A bare "--" ends our flags: it and the rest is the program's, and it is no flag's value. */
static void test_double_dash_ends(void **state)
{
    (void)state;
    struct reading r = read_flags(NULL, "prog -count 1 -- -count 2 -mode x");
    assert_int_equal(r.status, RBWP_OK);
    assert_int_equal(r.config.count, 1);
    assert_argv(&r, "prog -- -count 2 -mode x");
    r = read_flags(NULL, "prog -path --");
    assert_int_equal(r.status, RBWP_E_USAGE);
    assert_non_null(strstr(r.error.text, "missing"));
}

/* argv[0] is the program's name, whatever it says. */
static void test_program_name_is_no_flag(void **state)
{
    (void)state;
    struct reading r = read_flags(NULL, "-count 3");
    assert_int_equal(r.status, RBWP_OK);
    assert_int_equal(r.config.count, 7);
    assert_argv(&r, "-count 3");
}

/* Each kind of wrong value: one line with flag, value and what is allowed; nothing is changed. */
static void test_refuses(void **state)
{
    (void)state;
    REFUSED(NULL, "prog -mode 1 -count", "-count", "missing", "-5 to 100", "things");
    REFUSED(NULL, "prog -mode 1 -count two", "-count", "'two'", "not a whole number", "-5 to 100");
    REFUSED(NULL, "prog -mode 1 -count 2x", "'2x'", "not a whole number");
    REFUSED(NULL, "prog -mode 1 -count +2", "'+2'", "not a whole number");
    REFUSED(NULL, "prog -mode 1 -count -", "'-'", "not a whole number");
    REFUSED(NULL, "prog -mode 1 -count 0x10", "'0x10'", "not a whole number");
    REFUSED(NULL, "prog -mode 1 -count 101", "'101'", "out of range", "-5 to 100");
    REFUSED(NULL, "prog -mode 1 -count -6", "'-6'", "out of range");
    REFUSED(NULL, "prog -mode 1 -ll:count 99999999999999999999999", "-ll:count", "out of range");
    REFUSED(NULL, "prog -mode 1 -on 2", "'2'", "out of range", "0 to 1");
    REFUSED(NULL, "prog -mode 3", "'3'", "0 to 2");
    REFUSED("-mode 9", "prog -count 1", "-mode", "RBWP_FLAGS", "'9'");
}

/* A value whose scaled form does not fit the field is out of range, not cut. */
static void test_refuses_what_does_not_fit(void **state)
{
    (void)state;
    REFUSED(NULL, "prog -bytes 4194304", "out of range", "0 to 4194303");
    REFUSED(NULL, "prog -cap 8796093022208", "out of range", "0 to 8796093022207");
    struct reading r = read_flags(NULL, "prog -bytes 4194303 -cap 8796093022207");
    assert_int_equal(r.status, RBWP_OK);
    assert_true(r.config.bytes == UINT32_C(4194303) * 1024);
    assert_true(r.config.cap == UINT64_C(8796093022207) << 20);
}

/* An empty string is no path; long or unprintable values do not break the one line. */
static void test_refuses_odd_text(void **state)
{
    (void)state;
    unsetenv("RBWP_FLAGS");
    char *argv[] = {"prog", "-path", "", NULL};
    int argc = 3;
    struct config config = {.path = "default"};
    struct rbwp_error error;
    assert_int_equal(flags_apply(&flags, &config, sizeof config, &argc, argv, &error),
                     RBWP_E_USAGE);
    assert_non_null(strstr(error.text, "is empty"));
    assert_string_equal(config.path, "default");

    static char nines[5000];
    memset(nines, '9', sizeof nines - 1);
    argv[1] = "-count";
    argv[2] = nines;
    assert_int_equal(flags_apply(&flags, &config, sizeof config, &argc, argv, &error),
                     RBWP_E_USAGE);
    assert_non_null(strstr(error.text, "out of range; allowed is a whole number from -5 to 100"));
    argv[2] = "1\n2\x7f\xc3";
    assert_int_equal(flags_apply(&flags, &config, sizeof config, &argc, argv, &error),
                     RBWP_E_USAGE);
    assert_non_null(strstr(error.text, "'1?2?\?'"));
}

/* Without argv only the environment counts; without an error struct nothing is written. */
static void test_works_without_argv(void **state)
{
    (void)state;
    struct config config = {0};
    setenv("RBWP_FLAGS", "-count 5", 1);
    assert_int_equal(flags_apply(&flags, &config, sizeof config, NULL, NULL, NULL), RBWP_OK);
    assert_int_equal(config.count, 5);
    setenv("RBWP_FLAGS", "-count x", 1);
    assert_int_equal(flags_apply(&flags, &config, sizeof config, NULL, NULL, NULL), RBWP_E_USAGE);
    setenv("RBWP_FLAGS", "", 1);
    assert_int_equal(flags_apply(&flags, &config, sizeof config, NULL, NULL, NULL), RBWP_OK);
    assert_int_equal(config.count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_what_it_knows),
        cmocka_unit_test(test_argv_wins),
        cmocka_unit_test(test_other_spellings),
        cmocka_unit_test(test_words_of_the_environment),
        cmocka_unit_test(test_environment_string_is_kept),
        cmocka_unit_test(test_threads_share_a_string),
        cmocka_unit_test(test_double_dash_ends),
        cmocka_unit_test(test_program_name_is_no_flag),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_refuses_what_does_not_fit),
        cmocka_unit_test(test_refuses_odd_text),
        cmocka_unit_test(test_works_without_argv),
    };
    return cmocka_run_group_tests_name("flags", tests, NULL, NULL);
}
