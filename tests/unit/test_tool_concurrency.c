/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h, concurrency: many pieces, in memory, in a file and in both, of ends that come in any
 * order. */
#include "stats.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { WORKERS = 5, SHUFFLED = 100, SLOT_NS = 1000 };

/* Of each worker an interval in each slot of time; the workers that are not first begin later and
 * end earlier, so that each level has its time. order: by worker a block each, or any. */
static void fill(struct concurrency *concurrency, uint32_t slots, bool shuffled)
{
    uint32_t block = shuffled ? SHUFFLED : slots / 3;
    for (uint32_t first = 0; first < slots; first += block)
        for (int64_t worker = 0; worker < WORKERS; worker++)
            for (uint32_t i = 0; i < block && first + i < slots; i++) {
                uint32_t at = shuffled ? i * 37 % SHUFFLED : i;
                int64_t slot_ns = (int64_t)(first + at) * SLOT_NS;
                concurrency_add(concurrency, slot_ns + 50 * worker,
                                slot_ns + SLOT_NS - 100 - 50 * worker);
            }
}

static void expect(uint32_t slots, bool shuffled, uint64_t kept_most)
{
    struct concurrency concurrency;
    struct concurrency_result result;
    concurrency_start(&concurrency);
    concurrency.kept_most = kept_most;
    fill(&concurrency, slots, shuffled);
    concurrency_finish(&concurrency, 0, (int64_t)slots * SLOT_NS, &result);
    assert_int_equal(result.levels, WORKERS + 1);
    assert_int_equal(result.level_ns[0], 100 * (uint64_t)slots);
    for (uint32_t level = 1; level < WORKERS; level++)
        assert_int_equal(result.level_ns[level], 100 * (uint64_t)slots);
    assert_int_equal(result.level_ns[WORKERS], 500 * (uint64_t)slots);
    uint64_t busy_ns = 0;
    for (int i = 0; i < CONCURRENCY_STEPS; i++)
        busy_ns += result.step_busy_ns[i];
    assert_int_equal(busy_ns, (900 + 800 + 700 + 600 + 500) * (uint64_t)slots);
    concurrency_free(&result);
}

static void pieces_give_the_same_wherever_they_are(void **state)
{
    (void)state;
    const uint64_t places[] = {CONCURRENCY_KEPT_BYTES, 3u << 20, 0};
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        expect(300000, false, places[i]); /* three pieces */
        expect(300000, true, places[i]);
        expect(1000, false, places[i]); /* none */
    }
}

static bool no_memory;

void *__wrap_realloc(void *memory, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
    return no_memory ? NULL : __real_realloc(memory, bytes);
}

/* A piece that there is no memory to note leaves all of it out: what is left would be too little.
 */
static void without_memory_there_is_nothing(void **state)
{
    (void)state;
    struct concurrency concurrency;
    struct concurrency_result result;
    concurrency_start(&concurrency);
    for (int64_t i = 0; i < CONCURRENCY_ENDS / 2; i++)
        concurrency_add(&concurrency, 2 * i, 2 * i + 1);
    no_memory = true;
    concurrency_add(&concurrency, 0, 1);
    no_memory = false;
    concurrency_add(&concurrency, 0, 1);
    concurrency_finish(&concurrency, 0, CONCURRENCY_ENDS, &result);
    assert_int_equal(result.levels, 0);
    concurrency_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_give_the_same_wherever_they_are),
        cmocka_unit_test(without_memory_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
