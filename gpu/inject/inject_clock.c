/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_session.h"

#include "rbwp_record.h"
#include "read_clock.h"

#include <stdbool.h>

/* Looks that are kept are at least so far apart. Calls of before them all lie on the first line,
 * made longer. */
enum { CLOCK_KEPT = 1024, APART_NS = 100000000, TRIES = 4 };

static struct look {
    uint64_t ticks, ns;
} clock_looks[CLOCK_KEPT]; /* a ring */
static unsigned look_count;

static struct look *clock_look_at(unsigned number)
{
    return &clock_looks[number % CLOCK_KEPT];
}

uint64_t inject_now_ns(void)
{
    return (uint64_t)read_clock_ns(CLOCK_MONOTONIC);
}

/* One clock is read between two readings of the other: the closest of some counts. */
static struct look clock_look(void)
{
    struct look best = {0, 0};
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t before = rbwp_now_ticks(), ns = inject_now_ns(), after = rbwp_now_ticks();
        if (after - before < closest) {
            closest = after - before;
            best = (struct look){before + closest / 2, ns};
        }
    }
    return best;
}

void inject_ticks_open(void)
{
    (void)rbwp_ticks_per_second(); /* which clock's is known from here on */
    inject_ticks_look();
}

void inject_ticks_look(void)
{
    const bool is_near =
        look_count > 1 &&
        clock_look_at(look_count - 1)->ns - clock_look_at(look_count - 2)->ns < APART_NS;
    look_count += !is_near; /* else the last one is moved */
    *clock_look_at(look_count - 1) = clock_look();
}

uint64_t inject_ticks_ns(uint64_t ticks)
{
    const unsigned oldest = look_count > CLOCK_KEPT ? look_count - CLOCK_KEPT : 0;
    unsigned at = look_count - 1; /* where the line ends */
    while (at > oldest + 1 && (int64_t)(ticks - clock_look_at(at - 1)->ticks) < 0)
        at--;
    const struct look *from = clock_look_at(at - 1), *to = clock_look_at(at);
    const int64_t length = (int64_t)(to->ticks - from->ticks);
    const double slope = length > 0 ? (double)(int64_t)(to->ns - from->ns) / (double)length : 0;
    return from->ns + (uint64_t)(int64_t)((double)(int64_t)(ticks - from->ticks) * slope);
}
