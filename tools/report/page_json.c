/* SPDX-License-Identifier: Apache-2.0 */
#include "page_json.h"

#include "json_text.h"

enum { QUARTERS = 4 };

void page_comma(struct out *out)
{
    out_text(out, ",");
}

void page_exact(struct out *out, uint64_t value)
{
    const char *quote = value >> 53 ? "\"" : "";
    out_text(out, quote);
    out_u64(out, value);
    out_text(out, quote);
}

void page_number(struct out *out, const char *key, uint64_t value)
{
    json_key(out, key);
    page_exact(out, value);
}

void page_text(struct out *out, const char *key, struct trace_text text)
{
    json_key(out, key);
    json_string(out, text.text, text.bytes);
}

void page_end(struct out *out, const char *key, uint64_t value)
{
    json_u64(out, key, value);
    out_text(out, "}");
}

void page_begin_list(struct out *out, const char *key)
{
    json_key(out, key);
    out_text(out, "[");
}

void page_end_list(struct out *out)
{
    out_text(out, "],\n");
}

void page_numbers(struct out *out, bool more, const uint64_t *numbers, unsigned count)
{
    out_text(out, more ? ",[" : "[");
    for (unsigned i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        page_exact(out, numbers[i]);
    }
    out_text(out, "]");
}

/* ---- histograms ------------------------------------------------------------------ */

/* By the first five bits behind the highest one: 2^(1/4), 2^(2/4) and 2^(3/4) in 32nds. */
static unsigned quarter_of(uint64_t value)
{
    if (value < 2)
        return 0;
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    unsigned part = (unsigned)(power < 5 ? value << (5 - power) : value >> (power - 5)) & 31;
    return power * QUARTERS + (part >= 6) + (part >= 13) + (part >= 22);
}

/* [first bucket, count, count, ...] */
void page_histogram(struct out *out, const char *key, const struct histogram *histogram)
{
    uint64_t counts[64 * QUARTERS] = {0};
    unsigned first = 64 * QUARTERS, last = 0;
    for (uint32_t i = 0; histogram && i < histogram->buckets; i++) {
        if (histogram->counts[i] == 0)
            continue;
        unsigned quarter = quarter_of(histogram_low(histogram->first + i));
        counts[quarter] += histogram->counts[i];
        first = quarter < first ? quarter : first;
        last = quarter > last ? quarter : last;
    }
    page_begin_list(out, key);
    if (first <= last)
        out_u64(out, first);
    for (unsigned i = first; i <= last; i++) {
        page_comma(out);
        page_exact(out, counts[i]);
    }
    out_text(out, "],");
}

char page_share_letter(double share)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return letters[share >= 1 ? 63 : (int)(share * 63 + 0.5)];
}
