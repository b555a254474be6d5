/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_test.h - whether the values of one sample are greater than those of another, by ranks
 * (Mann and Whitney): nothing is assumed of how they are distributed.
 *
 * The sum of ranks is counted in pairs: of m values and n others, how many of the m x n pairs have
 * the greater value on the second side. Where both come from one distribution each order of the
 * values is as likely as any other, so that the chance of at least so many pairs is exact.
 */
#ifndef RANK_TEST_H
#define RANK_TEST_H

#include <stdbool.h>
#include <stdint.h>

enum { RANK_TEST_MAX = 64 }; /* values of a side */

/* At least so many pairs come with a chance of at most this; m x n + 1: no number does. */
uint32_t rank_test_pairs(uint32_t m, uint32_t n, double chance);

/* The least number of values a side for which rank_test_pairs finds some; RANK_TEST_MAX + 1: there
 * is none. */
uint32_t rank_test_values(double chance);

/* Pairs in which the second is greater than factor x the first. Values that are equal are none. */
uint32_t rank_test_count(const uint64_t *less, uint32_t m, const uint64_t *more, uint32_t n,
                         double factor);

#endif /* RANK_TEST_H */
