/* SPDX-License-Identifier: Apache-2.0 */
/* launch_ring.h: the same answers as a look at each call that is kept. */
#include "launch_ring.h"
#include "unit.h"

#include <stdlib.h>

static uint32_t find_plainly(const struct launch_ring *ring, int64_t time_ns)
{
    uint32_t kept = ring->count < LAUNCH_RING_CALLS ? (uint32_t)ring->count : LAUNCH_RING_CALLS;
    uint32_t best = LAUNCH_RING_NONE;
    for (uint32_t i = 0; i < kept; i++)
        if (ring->begin_ns[i] <= time_ns &&
            (best == LAUNCH_RING_NONE || ring->begin_ns[i] > ring->begin_ns[best]))
            best = i;
    return best;
}

static uint32_t below(uint32_t *random, uint32_t bound)
{
    *random = *random * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)*random * bound >> 32);
}

/* Blocks of several threads, whose calls ascend and some of which begin at the same time. */
static void compare(uint32_t block_calls, uint32_t step_ns)
{
    struct launch_ring *ring = calloc(1, sizeof *ring);
    uint32_t random = 1 + block_calls;
    int64_t begin_ns[7] = {0};
    assert_non_null(ring);
    for (uint32_t block = 0; ring->count < 3 * LAUNCH_RING_CALLS; block++) {
        int64_t *now_ns = &begin_ns[below(&random, 7)];
        for (uint32_t i = 1 + below(&random, block_calls); i > 0; i--) {
            *now_ns += below(&random, step_ns);
            launch_ring_add(ring, *now_ns, block);
        }
        for (int i = 0; i < 3; i++) {
            int64_t time_ns = begin_ns[below(&random, 7)] - 500 + below(&random, 1000);
            assert_int_equal(launch_ring_find(ring, time_ns), find_plainly(ring, time_ns));
        }
    }
    free(ring);
}

static void finds_what_a_look_at_each_finds(void **state)
{
    (void)state;
    compare(1, 100);
    compare(5, 3);
    compare(40, 20);
    compare(700, 2);
    compare(700, 50);
}

static void is_empty_at_first(void **state)
{
    (void)state;
    static struct launch_ring ring;
    assert_int_equal(launch_ring_find(&ring, INT64_MAX), LAUNCH_RING_NONE);
    launch_ring_add(&ring, 100, 7);
    assert_int_equal(launch_ring_find(&ring, 99), LAUNCH_RING_NONE);
    assert_int_equal(launch_ring_find(&ring, 100), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_a_look_at_each_finds),
        cmocka_unit_test(is_empty_at_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
