/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arg_sums.h - spans added up by the value that they have for one key.
 *
 * Numbers of few values have a row each; of more than ARG_SUMS_EXACT, one for each power of two
 * (with its sign, and 0). Texts have a row each, up to ARG_SUMS_TEXTS; what comes beyond shares
 * one. A span with several values for the key counts for each. With fold_literals, texts that
 * differ in numbers and quoted strings alone are one: "SELECT * FROM t WHERE id = ?".
 */
#ifndef ARG_SUMS_H
#define ARG_SUMS_H

#include "arg_text.h"
#include "index_map.h"
#include "stats_row.h"

struct trace_detail;
struct trace_span;

#define ARG_SUMS_EXACT 32u
#define ARG_SUMS_TEXTS (64u << 10)

struct arg_sum {
    struct stats_row row; /* its name is the value */
    uint8_t class;
    bool quoted;
    double least; /* of numbers: the value, or the one nearest to 0 */
    uint64_t bits;
};

/* Zero but for key is an empty one. */
struct arg_sums {
    const char *key; /* NULL: nobody asked */
    bool fold_literals;
    uint32_t key_name; /* its number + 1; 0: it has not come */
    struct arg_sum *list;
    uint32_t count, room;
    uint32_t exact, texts;   /* of these */
    bool ranges;             /* there were more numbers than have a row each */
    struct index_map places; /* of list */
    uint64_t without;        /* calls that have no value */
    bool failed;
};

/* Of names as they come. */
void arg_sums_name(struct arg_sums *sums, uint32_t number, struct trace_text name);
void arg_sums_span(struct arg_sums *sums, const struct trace_span *span,
                   const struct trace_detail *detail, const struct trace_text *names,
                   uint32_t name_count);
/* After the last: rows that are shown, numbers ascending, then texts by their total. */
void arg_sums_finish(struct arg_sums *sums);
void arg_sums_free(struct arg_sums *sums);

#endif /* ARG_SUMS_H */
