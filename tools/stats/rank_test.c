/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_test.h"
#include "stats_diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs by turns --------------------------------------------------------------------------- */

/* In September 2001, long before the first recording: an earlier time counts from something else.
 */
#define EARLIEST_NS INT64_C(1000000000000000000)

const char *const turns_name[TURNS_WORDS] = {"unknown", "no", "yes"};

/* The run that began last before this one; UINT32_MAX: none did. */
static uint32_t run_before(const int64_t *began_ns, uint32_t count, uint32_t run)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (began_ns[i] < began_ns[run] && (found == UINT32_MAX || began_ns[i] > began_ns[found]))
            found = i;
    return found;
}

enum turns turns_of(const int64_t *began_ns, uint32_t a, uint32_t b)
{
    uint32_t changes = 0, a_first = 0;
    for (uint32_t i = 0; i < a + b; i++)
        if (began_ns[i] < EARLIEST_NS)
            return TURNS_UNKNOWN;
    if (a == 0 || b == 0 || a + b == 2)
        return TURNS_UNKNOWN;
    for (uint32_t i = 0; i < a + b; i++) {
        const uint32_t before = run_before(began_ns, a + b, i);
        changes += before != UINT32_MAX && (before < a) != (i < a);
    }
    for (uint32_t i = 0; i < a; i++)
        for (uint32_t j = a; j < a + b; j++)
            a_first += began_ns[i] < began_ns[j];
    const bool often = 2 * changes >= (a < b ? a : b);
    const bool balanced = 4 * a_first <= 3 * a * b && 4 * a_first >= a * b;
    return often && balanced ? TURNS_TAKEN : TURNS_NOT_TAKEN;
}

/* ---- whether ranks differ by chance ---------------------------------------------------------- */

enum { VALUES_MAX = 2 * RANK_TEST_MAX };

/* Of the rank from below. Each is less than the one before, so that one order alone has the
 * greatest sum. */
static void fill_scores(uint32_t all, uint32_t scores[VALUES_MAX])
{
    const uint32_t highest = 3 * all, last = all > 1 ? all - 1 : 1;
    uint32_t above = 0;
    for (uint32_t i = all; i-- > 0;) {
        const uint32_t from_top = all - 1 - i;
        const uint32_t square = (highest * from_top * from_top + last * last / 2) / (last * last);
        scores[i] = from_top && square <= above ? above + 1 : square;
        above = scores[i];
    }
}

uint32_t rank_test_most(uint32_t m, uint32_t n)
{
    uint32_t scores[VALUES_MAX], sum = 0;
    if (m > RANK_TEST_MAX || n > RANK_TEST_MAX)
        return 0;
    fill_scores(m + n, scores);
    for (uint32_t i = 0; i < m; i++)
        sum += scores[i];
    return sum;
}

static double all_orders(uint32_t m, uint32_t n)
{
    double orders = 1;
    for (uint32_t i = 1; i <= n; i++)
        orders = orders * (m + i) / i;
    return orders;
}

/* How many of all choices of m ranks have each sum up to most: row m of a table that grows rank by
 * rank. */
static void count_choices(uint32_t m, uint32_t n, uint32_t most, double *counts)
{
    uint32_t scores[VALUES_MAX];
    fill_scores(m + n, scores);
    counts[0] = 1;
    for (uint32_t rank = 0; rank < m + n; rank++)
        for (uint32_t chosen = rank + 1 < m ? rank + 1 : m; chosen > 0; chosen--) {
            double *to = counts + (size_t)chosen * (most + 1), *from = to - (most + 1);
            for (uint32_t sum = scores[rank]; sum <= most; sum++)
                to[sum] += from[sum - scores[rank]];
        }
}

uint32_t rank_test_least(uint32_t m, uint32_t n, double chance)
{
    const uint32_t most = rank_test_most(m, n);
    const double allowed = chance * all_orders(m, n);
    uint32_t least = most + 1;
    double *counts = NULL, choices = 0;
    if (m == 0 || n == 0 || m > RANK_TEST_MAX || n > RANK_TEST_MAX || allowed < 1)
        return least;
    if (!(counts = calloc((m + (size_t)1) * (most + (size_t)1), sizeof *counts)))
        return RANK_TEST_FAILED;
    count_choices(m, n, most, counts);
    const double *last = counts + (size_t)m * (most + 1);
    while (least > 0 && (choices += last[least - 1]) <= allowed)
        least--;
    free(counts);
    return least;
}

uint32_t rank_test_values(double chance)
{
    uint32_t values = 1;
    while (values <= RANK_TEST_MAX && 1 / all_orders(values, values) > chance)
        values++;
    return values;
}

static int rank_test_compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

uint32_t rank_test_sum(const uint64_t *less, uint32_t m, const uint64_t *more, uint32_t n,
                       double factor)
{
    uint32_t scores[VALUES_MAX], sum = 0;
    uint64_t sorted[RANK_TEST_MAX];
    if (m == 0 || m > RANK_TEST_MAX || n > RANK_TEST_MAX)
        return 0;
    fill_scores(m + n, scores);
    memcpy(sorted, less, m * sizeof *sorted);
    qsort(sorted, m, sizeof *sorted, rank_test_compare);
    for (uint32_t i = 0; i < m; i++) {
        uint32_t rank = i;
        for (uint32_t j = 0; j < n; j++)
            rank += (double)more[j] <= factor * (double)sorted[i];
        sum += scores[rank];
    }
    return sum;
}
