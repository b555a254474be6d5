/* SPDX-License-Identifier: Apache-2.0 */
/* Names are compared piece by piece: digits as a number, all else byte by byte. */
#include "track_order.h"
#include "sorted.h"
#include "trace_track.h"

#include <stdlib.h>
#include <string.h>

/* One past the digits that begin at at. */
static uint32_t digits_end(struct trace_text text, uint32_t at)
{
    while (at < text.bytes && trace_is_digit(text.text[at]))
        at++;
    return at;
}

static uint32_t skip_zeros(struct trace_text text, uint32_t at, uint32_t end)
{
    while (at + 1 < end && text.text[at] == '0')
        at++;
    return at;
}

/* Of the numbers at *i and *j, which are passed. */
static int track_order_compare_numbers(struct trace_text a, uint32_t *i, struct trace_text b,
                                       uint32_t *j)
{
    uint32_t a_end = digits_end(a, *i), b_end = digits_end(b, *j);
    uint32_t a_at = skip_zeros(a, *i, a_end), b_at = skip_zeros(b, *j, b_end);
    *i = a_end;
    *j = b_end;
    if (a_end - a_at != b_end - b_at)
        return a_end - a_at < b_end - b_at ? -1 : 1;
    return memcmp(a.text + a_at, b.text + b_at, a_end - a_at);
}

static int compare_names(struct trace_text a, struct trace_text b)
{
    uint32_t i = 0, j = 0;
    while (i < a.bytes && j < b.bytes) {
        int order;
        if (trace_is_digit(a.text[i]) && trace_is_digit(b.text[j]))
            order = track_order_compare_numbers(a, &i, b, &j);
        else
            order = (unsigned char)a.text[i++] - (unsigned char)b.text[j++];
        if (order)
            return order;
    }
    return (i < a.bytes) - (j < b.bytes);
}

int track_order(const struct trace_track *a, const struct trace_track *b)
{
    SORTED_BY(a, b, process);
    SORTED_BY(a, b, kind);
    int order = compare_names(a->name, b->name);
    return order ? order : a->number < b->number ? -1 : a->number > b->number;
}

struct tracks {
    const char *first;
    size_t bytes;
};

static int track_order_compare(const void *a, const void *b, void *context)
{
    const struct tracks *tracks = context;
    const char *left = tracks->first + *(const uint32_t *)a * tracks->bytes;
    const char *right = tracks->first + *(const uint32_t *)b * tracks->bytes;
    return track_order((const void *)left, (const void *)right);
}

uint32_t *track_order_all(const void *tracks, size_t bytes, uint32_t count)
{
    struct tracks all = {tracks, bytes};
    uint32_t *order = malloc((count + 1) * sizeof *order);
    for (uint32_t i = 0; order && i < count; i++)
        order[i] = i;
    if (order && count)
        qsort_r(order, count, sizeof *order, track_order_compare, &all);
    return order;
}
