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
#include "result_table.h"

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
/* Members of a row as result_json_members has them, for a script: whole numbers beyond its doubles
 * and reals are text, times count from zero_ns, and what has a form of its own is omitted. */
void page_members(struct out *out, const struct result_column *columns, const struct result_at *at,
                  int64_t zero_ns);
/* "KEY":[["KEY" or "PART.KEY","TITLE","FORM"],...] of the columns with a title, by which the page
 * shows those that it has no place of its own for. */
void page_titles(struct out *out, const char *key, const struct result_column *columns,
                 const void *all);
/* A share, 0 to 1, in 64 steps: "A" is 0, '/' is 1. */
char page_share_letter(double share);
/* [first bucket, count, count, ...]; NULL is one without any. */
void page_histogram(struct out *out, const char *key, const struct histogram *histogram);

#endif /* PAGE_JSON_H */
