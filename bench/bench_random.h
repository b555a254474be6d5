/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_random.h - random numbers, the same in each run of a program.
 */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

double random_uniform(void); /* 0 to below 1 */
/* exp of a normal number. */
double random_log_normal(double mean, double deviation);

#endif /* BENCH_RANDOM_H */
