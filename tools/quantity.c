/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as text. */
#include "quantity.h"
#include "digits.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

char *quantity_grouped(char text[QUANTITY_BYTES], uint64_t value)
{
    char digits[DIGITS_MAX];
    int count = (int)(put_u64(digits, value) - digits), used = 0;
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

char *quantity_duration(char text[QUANTITY_BYTES], uint64_t ns)
{
    uint64_t unit = ns < 1000000 ? 1000 : ns < 1000000000 ? 1000000 : 1000000000;
    const char *name = ns < 1000000 ? "us" : ns < 1000000000 ? "ms" : "s";
    if (ns < 1000)
        snprintf(text, QUANTITY_BYTES, "%" PRIu64 " ns", ns);
    else
        snprintf(text, QUANTITY_BYTES, "%" PRIu64 ".%03" PRIu64 " %s", ns / unit,
                 ns % unit / (unit / 1000), name);
    return text;
}

char *quantity_time(char text[QUANTITY_BYTES], int64_t time_ns, int64_t zero_ns)
{
    bool before = time_ns < zero_ns;
    uint64_t ns =
        before ? (uint64_t)zero_ns - (uint64_t)time_ns : (uint64_t)time_ns - (uint64_t)zero_ns;
    snprintf(text, QUANTITY_BYTES, "%c%" PRIu64 ".%09" PRIu64 "s", before ? '-' : '+',
             ns / 1000000000, ns % 1000000000);
    return text;
}
