/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_json.h - members of the JSON that pages have inside.
 *
 * A number above 2^53, which a script would round, is written as a string. Histograms have four
 * buckets for each power of two: bucket b holds about from 2^(b/4) on.
 */
#ifndef PAGE_JSON_H
#define PAGE_JSON_H

#include "histogram.h"
#include "out.h"
#include "trace_text.h"

void page_comma(struct out *out);
void page_exact(struct out *out, uint64_t value);
void page_number(struct out *out, const char *key, uint64_t value);
void page_text(struct out *out, const char *key, struct trace_text text);
/* The last member, and the object's end. */
void page_end(struct out *out, const char *key, uint64_t value);
void page_begin_list(struct out *out, const char *key);
void page_end_list(struct out *out);
/* A list in a list; more: not the first one. */
void page_numbers(struct out *out, bool more, const uint64_t *numbers, unsigned count);
/* A share, 0 to 1, in 64 steps: "A" is 0, '/' is 1. */
char page_share_letter(double share);
/* [first bucket, count, count, ...]; NULL is one without any. */
void page_histogram(struct out *out, const char *key, const struct histogram *histogram);

#endif /* PAGE_JSON_H */
