/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_test.h"

#include <string.h>

/* How many of all orders of m and n values have so few pairs, by their number: the coefficients of
 * the product of (1 - q^(m+i)) / (1 - q^i), i from 1 to n. */
static void count_orders(uint32_t m, uint32_t n, double *counts, uint32_t pairs)
{
    memset(counts, 0, (pairs + (size_t)1) * sizeof *counts);
    counts[0] = 1;
    for (uint32_t i = 1; i <= n; i++) {
        for (uint32_t k = pairs; k + 1 > m + i; k--)
            counts[k] -= counts[k - m - i];
        for (uint32_t k = i; k <= pairs; k++)
            counts[k] += counts[k - i];
    }
}

static double all_orders(uint32_t m, uint32_t n)
{
    double orders = 1;
    for (uint32_t i = 1; i <= n; i++)
        orders = orders * (m + i) / i;
    return orders;
}

/* Few pairs on one side are many on the other. */
uint32_t rank_test_pairs(uint32_t m, uint32_t n, double chance)
{
    double counts[RANK_TEST_MAX * RANK_TEST_MAX + 1];
    const uint32_t all = m * n;
    const double most = chance * all_orders(m, n);
    double sum = 0;
    uint32_t few = 0;
    if (all == 0 || m > RANK_TEST_MAX || n > RANK_TEST_MAX)
        return all + 1;
    count_orders(m, n, counts, all);
    while (few <= all && (sum += counts[few]) <= most)
        few++;
    return all + 1 - few;
}

uint32_t rank_test_values(double chance)
{
    uint32_t values = 1;
    while (values <= RANK_TEST_MAX && 1 / all_orders(values, values) > chance)
        values++;
    return values;
}

uint32_t rank_test_count(const uint64_t *less, uint32_t m, const uint64_t *more, uint32_t n,
                         double factor)
{
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++)
            pairs += (double)more[j] > factor * (double)less[i];
    return pairs;
}
