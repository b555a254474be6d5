/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h - durations counted in buckets that grow with them.
 *
 * Values below 64 have a bucket each; above, every power of two is divided
 * into 32 equal buckets. A quantile is the middle of its bucket and so at
 * most 1/64 (1.6 %) away from the value that was counted, whatever came.
 * Only the buckets between the least and the greatest one in use are kept, at
 * most HISTOGRAM_BUCKETS of them.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HISTOGRAM_EXACT = 64,
    HISTOGRAM_PART_BITS = 5,
    HISTOGRAM_PARTS = 32,
    HISTOGRAM_BUCKETS = 64 + 58 * 32
};

struct histogram {
    uint64_t *counts; /* of the buckets from first on */
    uint32_t first, buckets;
    uint64_t total; /* values */
};

/* Counts all that from counted, too. */
bool histogram_merge(struct histogram *histogram, const struct histogram *from);
void histogram_free(struct histogram *histogram);

/* The least value that at least permille of 1000 values do not exceed; 0 without values. */
uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille);

/* A bucket holds low <= value <= high. */
static inline uint32_t histogram_bucket(uint64_t value)
{
    if (value < HISTOGRAM_EXACT)
        return (uint32_t)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    uint32_t part = (uint32_t)(value >> (power - HISTOGRAM_PART_BITS)) - HISTOGRAM_PARTS;
    return HISTOGRAM_EXACT + (power - HISTOGRAM_PART_BITS - 1) * HISTOGRAM_PARTS + part;
}
uint64_t histogram_low(uint32_t bucket);
uint64_t histogram_high(uint32_t bucket);

/* Makes room for the buckets from low to high. False when out of memory. */
bool histogram_cover(struct histogram *histogram, uint32_t low, uint32_t high);
/* Zero is an empty histogram. False when out of memory; the value is then not counted. */
static inline bool histogram_add(struct histogram *histogram, uint64_t value)
{
    const uint32_t bucket = histogram_bucket(value);
    if (bucket - histogram->first >= histogram->buckets &&
        !histogram_cover(histogram, bucket, bucket))
        return false;
    histogram->counts[bucket - histogram->first]++;
    histogram->total++;
    return true;
}
/* Takes back a value that was added. */
static inline void histogram_remove(struct histogram *histogram, uint64_t value)
{
    histogram->counts[histogram_bucket(value) - histogram->first]--;
    histogram->total--;
}

#endif /* HISTOGRAM_H */
