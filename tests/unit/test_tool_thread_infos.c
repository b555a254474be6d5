/* SPDX-License-Identifier: Apache-2.0 */
/* pair_walk.h: what is known of a thread, by its id; also of very many. */
#include "pair_walk.h"
#include "unit.h"

#include <stdlib.h>

enum { THREADS = 300000 };

static uint64_t id_of(uint32_t i)
{
    return (uint64_t)i * 0x1000 + 7;
}

/* Guards: threads are found by a hash. Searched one by one, these take minutes. */
static void many_threads_are_found(void **state)
{
    (void)state;
    struct rbwp_thread_info *threads = calloc(THREADS, sizeof *threads);
    assert_non_null(threads);
    for (uint32_t i = 0; i < THREADS; i++)
        threads[i] = (struct rbwp_thread_info){.thread_id = id_of(i), .os_id = i};
    struct rbwp_trailer trailer = {.threads = threads, .thread_count = THREADS};
    struct thread_infos infos;
    thread_infos_start(&infos, &trailer);
    for (uint32_t i = 0; i < THREADS; i++) {
        const struct rbwp_thread_info *found = thread_infos_first(&infos, id_of(i));
        assert_ptr_equal(found, &threads[i]);
    }
    assert_null(thread_infos_first(&infos, 1));
    thread_infos_stop(&infos);
    free(threads);
}

/* An id that is used again: the first entry names it, and one that did not end is enough. */
static void entries_of_one_id_are_one_after_the_other(void **state)
{
    (void)state;
    struct rbwp_thread_info threads[] = {{.thread_id = 7, .os_id = 1, .detached_ns = 50},
                                         {.thread_id = 8, .os_id = 2, .detached_ns = 60},
                                         {.thread_id = 7, .os_id = 3}};
    struct rbwp_trailer trailer = {.threads = threads, .thread_count = 3};
    struct thread_infos infos;
    thread_infos_start(&infos, &trailer);
    assert_int_equal(thread_infos_first(&infos, 7)->os_id, 1);
    assert_true(thread_infos_is_whole(&infos, 7, 0));
    assert_false(thread_infos_is_whole(&infos, 8, 0));
    assert_true(thread_infos_is_whole(&infos, 9, 0)); /* nothing is known of it */
    thread_infos_stop(&infos);
    thread_infos_start(&infos, NULL);
    assert_null(thread_infos_first(&infos, 7));
    assert_true(thread_infos_is_whole(&infos, 7, 0));
    thread_infos_stop(&infos);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_are_found),
        cmocka_unit_test(entries_of_one_id_are_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
