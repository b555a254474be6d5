/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_test.h - whether the values of one sample are greater than those of another, by ranks:
 * nothing is assumed of how they are distributed.
 *
 * Each rank of all values has a score, and the sum of those of the lesser sample is judged. Scores
 * fall with the square of the rank, so that the lowest values count most: what disturbs a run makes
 * it slower, and how much slower the disturbed ones of either side are says little
 * (docs/design/diff.md). Where both samples come from one distribution each order of the values is
 * as likely as any other, so that the chance of at least such a sum is exact.
 */
#ifndef RANK_TEST_H
#define RANK_TEST_H

#include <stdbool.h>
#include <stdint.h>

enum { RANK_TEST_MAX = 64 }; /* values of a sample */

/* The greatest sum of m lesser values beside n others: all of them are less. */
uint32_t rank_test_most(uint32_t m, uint32_t n);

/* At least such a sum comes with a chance of at most this; one more than the greatest: none does.
 * RANK_TEST_FAILED, which is no sum, without memory. */
#define RANK_TEST_FAILED UINT32_MAX
uint32_t rank_test_least(uint32_t m, uint32_t n, double chance);

/* The least number of values a side for which rank_test_least finds some; RANK_TEST_MAX + 1: there
 * is none. */
uint32_t rank_test_values(double chance);

/* The sum, with the lesser values times factor. Of values that are equal the lesser one is taken to
 * be the greater. */
uint32_t rank_test_sum(const uint64_t *less, uint32_t m, const uint64_t *more, uint32_t n,
                       double factor);

#endif /* RANK_TEST_H */
