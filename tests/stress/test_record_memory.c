/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out at any point of a session's life: the n-th request of it fails, or all from
 * the n-th on, for each n that there is. Requests are allocations, mappings, space for the live
 * file, and threads.
 *
 * Whatever fails: nothing crashes or leaks; the caller gets an error, with a text where there is
 * room for one; each call of the recorder is in the file, or reported as lost or refused; and a
 * session after it is as good as any. When not even the tables could be written, FILE and FILE.live
 * have it all.
 */
#include "record_support.h"

#include "unit.h"
#include "wrapped.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- requests that fail ------------------------------------------------------------------------
 */

static atomic_bool counts;
static _Atomic unsigned requests, fails_at;
static atomic_bool fails_on; /* also all that come later */
static _Atomic long in_use;  /* allocations and mappings, from the start of the test */

static bool is_refused(void)
{
    if (!atomic_load(&counts))
        return false;
    unsigned number = atomic_fetch_add(&requests, 1) + 1;
    return number == fails_at || (fails_on && number > fails_at);
}

/* Visible: some linkers have shared libraries refer to them too. */
#pragma GCC visibility push(default)

static void *taken(void *memory)
{
    if (memory)
        atomic_fetch_add(&in_use, 1);
    return memory;
}

/* clang-format off */
#define REFUSABLE(type, name, parameters, arguments)                                               \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        errno = ENOMEM;                                                                            \
        return is_refused() ? NULL : taken(__real_##name arguments);                               \
    }
/* clang-format on */
REFUSABLE(void *, malloc, (size_t size), (size))
REFUSABLE(void *, calloc, (size_t count, size_t size), (count, size))
REFUSABLE(char *, strdup, (const char *text), (text))
REFUSABLE(char *, strndup, (const char *text, size_t size), (text, size))

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
    if (is_refused())
        return NULL;
    void *result = __real_realloc(memory, size);
    return memory ? result : taken(result);
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
    if (memory)
        atomic_fetch_sub(&in_use, 1);
    __real_free(memory);
}

void *REAL_(mmap)(void *place, size_t size, int protection, int flags, int fd, off_t offset);
void *WRAP_(mmap)(void *place, size_t size, int protection, int flags, int fd, off_t offset);
void *WRAP_(mmap)(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
    errno = ENOMEM;
    void *memory =
        is_refused() ? MAP_FAILED : REAL_(mmap)(place, size, protection, flags, fd, offset);
    if (memory != MAP_FAILED)
        atomic_fetch_add(&in_use, 1);
    return memory;
}
WRAP_TOO_(mmap);

int __real_munmap(void *memory, size_t size);
int __wrap_munmap(void *memory, size_t size);
int __wrap_munmap(void *memory, size_t size)
{
    atomic_fetch_sub(&in_use, 1);
    return __real_munmap(memory, size);
}

int REAL_(fallocate)(int fd, int mode, off_t offset, off_t size);
int WRAP_(fallocate)(int fd, int mode, off_t offset, off_t size);
int WRAP_(fallocate)(int fd, int mode, off_t offset, off_t size)
{
    errno = ENOSPC;
    return is_refused() ? -1 : REAL_(fallocate)(fd, mode, offset, size);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start_routine)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start_routine)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start_routine)(void *), void *argument)
{
    return is_refused() ? EAGAIN
                        : __real_pthread_create(thread, attributes, start_routine, argument);
}

#pragma GCC visibility pop

/* ---- a session's life
 * ---------------------------------------------------------------------------- */

enum { PAIRS = 2000 }; /* a thread's; several chunks */

struct life {
    enum rbwp_status started, stopped;
    struct rbwp_session_summary summary;
    long in_use; /* more than before it */
};

static void *record(void *name)
{
    (void)rbwp_thread_attach(name); /* if it fails, its calls are refused */
    for (int i = 0; i < PAIRS; i++) {
        rbwp_begin(1);
        rbwp_end();
    }
    (void)rbwp_thread_detach();
    return NULL;
}

static bool is_told(enum rbwp_status status)
{
    return status == RBWP_OK || status == RBWP_E_MEMORY || status == RBWP_E_IO;
}

static struct life live(const char *path)
{
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session;
    struct rbwp_error error = {.text = ""};
    struct life life = {0};
    unsigned slot, id;
    pthread_t other;
    long before = in_use;
    config.logfile = path;
    config.no_cpu = fails_on; /* whose rows are lost then, which a recovery reports */

    atomic_store(&requests, 0);
    atomic_store(&counts, true);
    life.started = rbwp_session_start(&config, &session, &error);
    enum rbwp_status named = rbwp_work_item_register("item", &slot);
    enum rbwp_status sub_named = rbwp_sub_item_register(RBWP_AM_HANDLER, "sub", &id);
    assert_int_equal(__real_pthread_create(&other, NULL, record, (void *)"other"), 0);
    record((void *)"main");
    pthread_join(other, NULL);
    life.stopped = rbwp_session_stop(session, &life.summary);
    atomic_store(&counts, false);

    assert_true(is_told(life.started) && is_told(life.stopped) && is_told(named) &&
                is_told(sub_named));
    assert_true(life.started == RBWP_OK || error.text[0]);
    assert_true(life.stopped == RBWP_OK || life.summary.error.text[0]);
    if (named == RBWP_OK)
        assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
    life.in_use = in_use - before - (sub_named == RBWP_OK); /* such a name is for ever */
    return life;
}

static void assert_all_there(const struct life *life, const char *path, unsigned number)
{
    char file_live[160];
    snprintf(file_live, sizeof file_live, "%s.live", path);
    bool has_live = access(file_live, F_OK) == 0;
    struct recorded recorded;
    if (life->stopped == RBWP_OK || !has_live) {
        assert_false(has_live);
        recorded = life->stopped == RBWP_OK ? read_back(path) : read_unfinished(path);
    } else {
        recorded = read_recovered(path);
        assert_int_equal(unlink(file_live), 0);
    }
    uint64_t accounted = recorded.events + life->summary.lost_records +
                         2 * life->summary.misuse_calls; /* begin and end are one call */
    /* The counts are in the tables, and those could not be made. */
    if (life->stopped == RBWP_OK && accounted != 4 * PAIRS)
        fail_msg("request %u: %llu of %d calls", number, (unsigned long long)accounted, 4 * PAIRS);
    if (life->stopped != RBWP_OK)
        assert_true(recorded.events <= 4 * PAIRS);
    recorded_free(&recorded);
}

static void let_fail(unsigned number, bool and_all_later)
{
    const char *path = test_path("test.bin");
    fails_at = number;
    fails_on = and_all_later;
    struct life life = live(path);
    if (life.in_use != 0)
        fail_msg("request %u: %ld leaked", number, life.in_use);
    if (life.started == RBWP_OK)
        assert_all_there(&life, path, number);
    (void)unlink(path);
}

/* Returns how many requests there are, in a session where all goes well. */
static unsigned live_well(void)
{
    const char *path = test_path("test.bin");
    fails_at = UINT32_MAX;
    struct life life = live(path);
    assert_int_equal(life.started, RBWP_OK);
    assert_int_equal(life.stopped, RBWP_OK);
    assert_int_equal(life.in_use, 0);
    assert_int_equal(life.summary.records, 4 * PAIRS);
    assert_all_there(&life, path, 0);
    return requests;
}

static void fail_all(bool and_all_later)
{
    unsigned all = live_well();
    assert_true(all > 20);
    for (unsigned number = 1; number <= all + 2; number++)
        let_fail(number, and_all_later);
    (void)live_well();
}

static void test_one_request_fails(void **state)
{
    (void)state;
    fail_all(false);
}

static void test_all_requests_fail_from_one_on(void **state)
{
    (void)state;
    fail_all(true);
}

/* What is made once is made here. */
static int live_once(void **state)
{
    (void)state;
    fails_at = UINT32_MAX;
    struct life life = live(test_path("test.bin"));
    return life.stopped == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_request_fails),
        cmocka_unit_test(test_all_requests_fail_from_one_on),
    };
    return cmocka_run_group_tests_name("record_memory", tests, live_once, NULL);
}
