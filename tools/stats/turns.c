/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_diff.h"

#include <stdbool.h>

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
