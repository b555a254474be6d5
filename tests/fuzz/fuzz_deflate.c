/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflater: whatever the data are and wherever units begin, zlib's inflate gives the data
 * back from a stream that is smaller than they are.
 *
 * The input begins with two bytes that say how far apart units are and how often the data are
 * repeated (so that more than one window of them is met).
 */
#include "deflater.h"
#include "fuzz.h"
#include "inflater.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define DATA_BYTES_MAX 400000u

static struct deflater *states[3]; /* for all: the first remembers costs */

static size_t make_units(struct supply supply, unsigned apart, size_t size, uint32_t *unit)
{
    size_t units = 0;
    for (size_t at = apart % 7; at < size;
         at += 3 + (size_t)supply_number(&supply, 1) % (apart + 1))
        unit[units++] = (uint32_t)at;
    return units;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct supply supply = {data, size};
    unsigned apart = (unsigned)supply_number(&supply, 1);
    size_t times = 1 + (size_t)supply_number(&supply, 1), count = supply.left * times;
    if (count > DATA_BYTES_MAX)
        count = DATA_BYTES_MAX;
    struct deflater **state = &states[apart % 3];
    if (!*state)
        *state = deflater_new(apart % 3 == 1);
    deflater_hurry(*state, apart % 3 == 2);
    uint8_t *in = malloc(count + DEFLATER_SLACK), *out = malloc(count + DEFLATER_SLACK);
    uint8_t *back = malloc(count + 1);
    uint32_t *unit = malloc((count / 3 + 1) * sizeof *unit);
    REQUIRE(*state && in && out && back && unit);
    for (size_t i = 0; i < count; i++) /* repeated with a slow change */
        in[i] = (uint8_t)(supply.next[i % supply.left] + (i / supply.left & 4 ? i >> 12 : 0));
    memset(in + count, 0xa5, DEFLATER_SLACK);
    size_t units = make_units(supply, apart, count, unit);
    size_t stream = deflater_run(*state, in, count, unit, units, out);
    REQUIRE(stream < count || stream == 0);
    REQUIRE(adler_of(in, count) == adler_portable(in, count));
    if (stream) {
        uLongf got = count + 1;
        REQUIRE(uncompress(back, &got, out, stream) == Z_OK && got == count);
        REQUIRE(memcmp(back, in, count) == 0);
    }
    free(unit);
    free(back);
    free(out);
    free(in);
    return 0;
}
