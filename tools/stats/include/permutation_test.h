/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permutation_test.h - whether the values of one sample are greater than those of another: nothing
 * is assumed of how they are distributed.
 *
 * Each value has a score, how far it is below the median of all values, and the sum of those of the
 * lesser sample is judged. What disturbs a run makes it slower, and how much slower says little: a
 * value that is further above the median than about the lowest ones are below it counts as if it
 * were next to it (docs/design/diff.md). Where both samples come from one distribution each choice
 * of the values is as likely as any other, so that the chance of at least such a sum is exact.
 */
#ifndef PERMUTATION_TEST_H
#define PERMUTATION_TEST_H

#include <stdint.h>

enum { PERMUTATION_TEST_MAX = 64 }; /* values of a sample */

/* What counts, in distances of the median from the second lowest value. */
#define PERMUTATION_TEST_WIDTH 1.5

/* The chance that m values of m + n are at least as low as less are, times factor, beside more.
 * 1 where one of them has none, or too many; PERMUTATION_TEST_FAILED, which is no chance, without
 * memory.
 */
#define PERMUTATION_TEST_FAILED 2.0
double permutation_test_chance(const uint64_t *less, uint32_t m, const uint64_t *more, uint32_t n,
                               double factor);

/* The least chance that there is of so many values: all of one sample are less than all others. */
double permutation_test_best(uint32_t m, uint32_t n);

/* The least number of values a side that can have such a chance; PERMUTATION_TEST_MAX + 1: there is
 * none. */
uint32_t permutation_test_values(double chance);

#endif /* PERMUTATION_TEST_H */
