/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_figure.h"

#include <math.h>
#include <stdio.h>

/* Behind the point, so that four digits are significant. */
static int digits(double value)
{
    int count = 3;
    for (value = fabs(value); value >= 10 && count > 0; value /= 10)
        count--;
    return count;
}

static void print(const char *kind, const char *name, double value, const char *unit)
{
    printf("%-8s %s: %.*f%s%s", kind, name, digits(value), value, *unit ? " " : "", unit);
}

/* The larger one should not be above the smaller one. */
static void judge(const char *side, double target, double larger, double smaller)
{
    printf("; %s %.6g: ", side, target);
    if (larger <= smaller)
        printf("met\n");
    else if (target <= 0 || smaller <= 0)
        printf("missed\n");
    else if (larger >= 2 * smaller)
        printf("missed by a factor of %.1f\n", larger / smaller);
    else
        printf("missed by %.1f %%\n", 100 * (larger - smaller) / target);
    fflush(stdout);
}

void figure(const char *name, double value, const char *unit)
{
    print("figure", name, value, unit);
    printf("\n");
    fflush(stdout);
}

void figure_at_most(const char *name, double value, const char *unit, double target)
{
    print("target", name, value, unit);
    judge("at most", target, value, target);
}

void figure_at_least(const char *name, double value, const char *unit, double target)
{
    print("target", name, value, unit);
    judge("at least", target, target, value);
}
