/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h, and concurrency of stats.h: the stated error bound, exact ranks, memory, and the
 * sweep against a plain count. */
#include "stats.h"
#include "histogram.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 88172645463325252u;
static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Buckets follow each other without gaps, and none is wider than a thirty-second of its values. */
static void buckets_have_their_width(void **state)
{
    (void)state;
    uint64_t next = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t low = histogram_low(i), high = histogram_high(i);
        assert_true(low == next && high >= low);
        assert_int_equal(histogram_bucket(low), i);
        assert_int_equal(histogram_bucket(high), i);
        assert_true(high - low <= low / 32);
        next = high + 1;
    }
    assert_true(next == 0); /* the last one ends with the largest value */
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* A quantile is within 1/64 of the value of that rank, for sizes where ranks round. */
static void quantiles_are_near(void **state)
{
    (void)state;
    static const unsigned permilles[] = {1, 500, 900, 990, 999, 1000};
    uint64_t values[2500];
    for (unsigned count = 1; count <= 2500; count = count * 3 / 2 + 1) {
        struct histogram histogram = {0};
        for (unsigned i = 0; i < count; i++) {
            values[i] = random_u64() >> (random_u64() % 64);
            assert_true(histogram_add(&histogram, values[i]));
        }
        qsort(values, count, sizeof *values, compare);
        for (unsigned i = 0; i < sizeof permilles / sizeof permilles[0]; i++) {
            uint64_t rank = ((uint64_t)count * permilles[i] + 999) / 1000;
            uint64_t exact = values[rank - 1];
            uint64_t found = histogram_quantile(&histogram, permilles[i]);
            assert_true((found > exact ? found - exact : exact - found) <= exact / 64);
        }
        histogram_free(&histogram);
    }
}

static void merged_is_as_if_added(void **state)
{
    (void)state;
    struct histogram parts[2] = {{0}, {0}}, all = {0};
    assert_int_equal(histogram_quantile(&all, 500), 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t value = i % 2 ? 5u : random_u64() >> 20;
        assert_true(histogram_add(&parts[i % 2], value));
        assert_true(histogram_add(&all, value));
    }
    assert_true(histogram_merge(&parts[0], &parts[1]));
    assert_true(histogram_merge(&parts[0], &(struct histogram){0}));
    assert_int_equal(parts[0].total, all.total);
    for (unsigned permille = 1; permille <= 1000; permille++)
        assert_int_equal(histogram_quantile(&parts[0], permille),
                         histogram_quantile(&all, permille));
    histogram_free(&parts[0]);
    histogram_free(&parts[1]);
    histogram_free(&all);
}

/* ---- concurrency ------------------------------------------------------------------------- */

enum { EXTENT = 5000 };
#define UNIT_NS INT64_C(100003) /* so that ends are some bytes apart in the file */

struct plain {
    unsigned busy[EXTENT];
};

/* threads of disjoint intervals, handed in by turns of so much time each, as blocks of a file are;
 * more than are held in memory when rounds are many. */
static void feed(struct concurrency *concurrency, struct plain *plain, int threads, int turn)
{
    int *next = calloc((size_t)threads + 1, sizeof *next);
    for (int thread = 0; thread < threads; thread++)
        next[thread] = (int)(random_u64() % 20);
    for (int end = turn; end < EXTENT + turn; end += turn)
        for (int thread = 0; thread < threads; thread++) {
            int at = next[thread];
            while (at < EXTENT - 20 && at < end) {
                int stop = at + (int)(random_u64() % 20);
                concurrency_add(concurrency, at * UNIT_NS, stop * UNIT_NS);
                for (int i = at; i < stop; i++)
                    plain->busy[i]++;
                at = stop + (int)(random_u64() % 3);
            }
            next[thread] = at;
        }
    free(next);
}

static void check_sweep(int threads, int turn, bool expect_file)
{
    struct plain *plain = calloc(1, sizeof *plain);
    struct concurrency concurrency;
    struct concurrency_result result;
    concurrency_start(&concurrency);
    feed(&concurrency, plain, threads, turn);
    assert_true((concurrency.piece_count > 0) == expect_file);
    concurrency_finish(&concurrency, 0, EXTENT * UNIT_NS, &result);
    uint64_t *levels = calloc((size_t)threads + 1, sizeof *levels);
    uint64_t steps[CONCURRENCY_STEPS] = {0};
    for (int i = 0; i < EXTENT; i++) {
        int64_t at_ns = i * UNIT_NS, end_ns = at_ns + UNIT_NS;
        levels[plain->busy[i]] += (uint64_t)UNIT_NS;
        while (at_ns < end_ns) {
            int64_t step = at_ns / result.step_ns, next_ns = (step + 1) * result.step_ns;
            next_ns = next_ns < end_ns ? next_ns : end_ns;
            steps[step] += (uint64_t)(next_ns - at_ns) * plain->busy[i];
            at_ns = next_ns;
        }
    }
    for (uint32_t i = 0; i <= (uint32_t)threads; i++)
        assert_int_equal(i < result.levels ? result.level_ns[i] : 0, levels[i]);
    assert_memory_equal(steps, result.step_busy_ns, sizeof steps);
    concurrency_free(&result);
    free(levels);
    free(plain);
}

static void sweep_equals_plain_count(void **state)
{
    (void)state;
    for (int threads = 0; threads < 40; threads += 13) {
        check_sweep(threads, EXTENT, false);
        check_sweep(threads, 300, false);
    }
    check_sweep(100, 400, false);    /* more than run on at the same time in a piece */
    check_sweep(2500, EXTENT, true); /* through the temporary file */
}

/* Times of a hostile file are neither a crash nor undefined. */
static void sweep_takes_any_times(void **state)
{
    (void)state;
    struct concurrency concurrency;
    struct concurrency_result result;
    concurrency_start(&concurrency);
    concurrency_add(&concurrency, INT64_MIN, INT64_MAX);
    concurrency_add(&concurrency, 5, 5);
    concurrency_add(&concurrency, 7, 3);
    concurrency_finish(&concurrency, INT64_MIN, INT64_MAX, &result);
    assert_int_equal(result.levels, 2);
    assert_int_equal(result.level_ns[0], 0);
    concurrency_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_have_their_width), cmocka_unit_test(quantiles_are_near),
        cmocka_unit_test(merged_is_as_if_added), cmocka_unit_test(sweep_equals_plain_count),
        cmocka_unit_test(sweep_takes_any_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
