/* SPDX-License-Identifier: Apache-2.0 */
#include "limit_text.h"

#include <string.h>

struct unit {
    char name[4];
    uint64_t times;
};

static const struct unit sizes[] = {
    {"K", UINT64_C(1) << 10}, {"M", UINT64_C(1) << 20}, {"G", UINT64_C(1) << 30}, {"", 0}};
static const struct unit durations[] = {{"ns", 1},
                                        {"us", 1000},
                                        {"ms", 1000000},
                                        {"s", 1000000000},
                                        {"min", UINT64_C(60000000000)},
                                        {"h", UINT64_C(3600000000000)},
                                        {"", 0}};

static bool limit_text_take(const char *text, size_t count, const struct unit *units,
                            uint64_t *value_out)
{
    uint64_t number = 0;
    size_t digits = 0;
    for (; digits < count && text[digits] >= '0' && text[digits] <= '9'; digits++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[digits] - '0'), &number))
            return false;
    for (; digits && number && units->times; units++)
        if (strlen(units->name) == count - digits &&
            !memcmp(units->name, text + digits, count - digits))
            return !__builtin_mul_overflow(number, units->times, value_out);
    return false;
}

bool limit_text_bytes(const char *text, size_t count, uint64_t *bytes_out)
{
    return limit_text_take(text, count, sizes, bytes_out);
}

bool limit_text_ns(const char *text, size_t count, uint64_t *ns_out)
{
    return limit_text_take(text, count, durations, ns_out);
}
