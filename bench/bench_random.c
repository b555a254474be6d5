/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_random.h"

#include <math.h>
#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

double random_uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

double random_log_normal(double mean, double deviation)
{
    const double turn = 6.283185307179586;
    double radius = sqrt(-2 * log(random_uniform() + 1e-300));
    return exp(mean + deviation * radius * cos(turn * random_uniform()));
}
