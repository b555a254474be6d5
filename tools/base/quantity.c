/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as text. */
#include "quantity.h"
#include "out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

char *quantity_rough(char text[QUANTITY_BYTES], uint64_t ns, int digits)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    uint64_t unit = 1, most = digits == 3 ? 1000 : 10000;
    int name = 0, decimals = 0;
    uint64_t scale = 1; /* ns are rounded to it */
    while (ns / scale >= most)
        scale *= 10;
    ns = ns + scale / 2 < ns ? ns : (ns + scale / 2) / scale * scale;
    for (; name < 3 && ns / unit >= 1000; name++)
        unit *= 1000;
    for (uint64_t value = ns / unit, room = most / 10; value < room && decimals < 3 && unit > 1;
         room /= 10)
        decimals++;
    char *at = put_u64(text, ns / unit);
    uint64_t rest = ns % unit;
    for (int i = 0; i < decimals; i++) {
        if (i == 0)
            *at++ = '.';
        unit /= 10;
        *at++ = (char)('0' + rest / unit);
        rest %= unit;
    }
    *at++ = ' ';
    strcpy(at, units[name]);
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
