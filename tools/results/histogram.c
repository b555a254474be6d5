/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear buckets in one array that grows at both ends. */
#include "histogram.h"

#include <stdlib.h>
#include <string.h>

enum { GROW = HISTOGRAM_PARTS }; /* buckets gained at a time: one power of two */

uint64_t histogram_low(uint32_t bucket)
{
    if (bucket < HISTOGRAM_EXACT)
        return bucket;
    uint32_t above = bucket - HISTOGRAM_EXACT;
    return (uint64_t)(HISTOGRAM_PARTS + above % HISTOGRAM_PARTS) << (above / HISTOGRAM_PARTS + 1);
}

uint64_t histogram_high(uint32_t bucket)
{
    return bucket + 1 < HISTOGRAM_BUCKETS ? histogram_low(bucket + 1) - 1 : UINT64_MAX;
}

bool histogram_cover(struct histogram *histogram, uint32_t low, uint32_t high)
{
    uint32_t end = histogram->first + histogram->buckets;
    if (histogram->buckets && low >= histogram->first && high < end)
        return true;
    low -= low % GROW;
    high += GROW - high % GROW;
    if (histogram->buckets) {
        low = low < histogram->first ? low : histogram->first;
        high = high > end ? high : end;
    }
    uint64_t *counts = calloc(high - low, sizeof *counts);
    if (!counts)
        return false;
    if (histogram->buckets)
        memcpy(counts + (histogram->first - low), histogram->counts,
               histogram->buckets * sizeof *counts);
    free(histogram->counts);
    histogram->counts = counts;
    histogram->first = low;
    histogram->buckets = high - low;
    return true;
}

bool histogram_merge(struct histogram *histogram, const struct histogram *from)
{
    if (from->buckets == 0)
        return true;
    if (!histogram_cover(histogram, from->first, from->first + from->buckets - 1))
        return false;
    for (uint32_t i = 0; i < from->buckets; i++)
        histogram->counts[from->first + i - histogram->first] += from->counts[i];
    histogram->total += from->total;
    return true;
}

void histogram_free(struct histogram *histogram)
{
    free(histogram->counts);
    *histogram = (struct histogram){0};
}

uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille)
{
    uint64_t whole = histogram->total / 1000, part = histogram->total % 1000, seen = 0;
    uint64_t rank = whole * permille + (part * permille + 999) / 1000;
    for (uint32_t i = 0; i < histogram->buckets; i++) {
        seen += histogram->counts[i];
        if (seen >= rank && seen > 0) {
            uint64_t low = histogram_low(histogram->first + i);
            return low + (histogram_high(histogram->first + i) - low) / 2;
        }
    }
    return 0;
}
