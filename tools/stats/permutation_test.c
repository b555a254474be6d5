/* SPDX-License-Identifier: Apache-2.0 */
#include "permutation_test.h"
#include "sorted.h"
#include "stats_diff.h"

#include <math.h>
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

/* ---- whether values differ by chance --------------------------------------------------------- */

enum { VALUES_MAX = 2 * PERMUTATION_TEST_MAX };

static double all_orders(uint32_t m, uint32_t n)
{
    double orders = 1;
    for (uint32_t i = 1; i <= n; i++)
        orders = orders * (m + i) / i;
    return orders;
}

double permutation_test_best(uint32_t m, uint32_t n)
{
    return m && n && m <= PERMUTATION_TEST_MAX && n <= PERMUTATION_TEST_MAX ? 1 / all_orders(m, n)
                                                                            : 1;
}

uint32_t permutation_test_values(double chance)
{
    uint32_t values = 1;
    while (values <= PERMUTATION_TEST_MAX && permutation_test_best(values, values) > chance)
        values++;
    return values;
}

SORTED_COMPARE(permutation_test_compare, double, *it)

/* How far each is below the median of all, in so many levels; -1: too far above it to say more.
 * They are stored with levels added; none is 0, so that all below the median are above all others.
 */
static void fill_scores(const double *values, uint32_t count, uint32_t levels, uint32_t *scores)
{
    double sorted[VALUES_MAX];
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, permutation_test_compare);
    const double middle = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    const double width = PERMUTATION_TEST_WIDTH * (middle - sorted[count > 5]);
    for (uint32_t i = 0; i < count; i++) {
        const double below = middle - values[i];
        const double part = below >= width ? 1 : below >= -width ? below / width : 0;
        const uint32_t size = 1 + (uint32_t)((levels - 1) * fabs(part) + 0.5);
        scores[i] = below >= 0 ? levels + size : levels - size;
    }
}

/* Of all choices of m scores the part that have at least such a sum: row m of a table that grows
 * score by score. */
static double chance_of(const uint32_t *scores, uint32_t m, uint32_t n, uint32_t most, uint32_t sum)
{
    double *counts = calloc((m + (size_t)1) * (most + (size_t)1), sizeof *counts), choices = 0;
    if (!counts)
        return PERMUTATION_TEST_FAILED;
    counts[0] = 1;
    for (uint32_t i = 0; i < m + n; i++)
        for (uint32_t chosen = i + 1 < m ? i + 1 : m; chosen > 0; chosen--) {
            double *to = counts + (size_t)chosen * (most + 1), *from = to - (most + 1);
            for (uint32_t s = scores[i]; s <= most; s++)
                to[s] += from[s - scores[i]];
        }
    for (uint32_t s = sum; s <= most; s++)
        choices += counts[(size_t)m * (most + 1) + s];
    free(counts);
    return choices / all_orders(m, n);
}

double permutation_test_chance(const uint64_t *less, uint32_t m, const uint64_t *more, uint32_t n,
                               double factor)
{
    enum { WORK = 480, LEVELS_LEAST = 4, LEVELS_MOST = 24 };
    double values[VALUES_MAX];
    uint32_t scores[VALUES_MAX], sum = 0;
    if (m == 0 || n == 0 || m > PERMUTATION_TEST_MAX || n > PERMUTATION_TEST_MAX)
        return 1;
    uint32_t levels = WORK / (m + n);
    levels = levels < LEVELS_LEAST ? LEVELS_LEAST : levels > LEVELS_MOST ? LEVELS_MOST : levels;
    for (uint32_t i = 0; i < m + n; i++)
        values[i] = i < m ? factor * (double)less[i] : (double)more[i - m];
    fill_scores(values, m + n, levels, scores);
    for (uint32_t i = 0; i < m; i++)
        sum += scores[i];
    return chance_of(scores, m, n, 2 * levels * m, sum);
}
