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

#include "index_map.h"
#include "stats_row.h"

struct trace_arg;
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

/* The arguments of one span as a text that outlives the trace: for the few spans that
 * are kept, and the values that are added up. */

#define ARG_LIST_MOST 12u        /* arguments that are kept */
#define ARG_LIST_TEXT_BYTES 250u /* of a key or a value; longer ones are cut */

/* A value as text; false for one that is none (an object of JSON). quoted: it is no number, nor
 * true or false. names: by number. made: room for what is no text of the trace's own. */
struct arg_text {
    struct trace_text text;
    bool quoted;
    char made[32];
};
bool arg_text_make(struct arg_text *made, const struct trace_detail *detail,
                   const struct trace_arg *arg, const struct trace_text *names,
                   uint32_t name_count);

/* In memory of its own (free), of no bytes without arguments. False without memory. */
bool arg_list_make(const struct trace_detail *detail, const struct trace_text *names,
                   uint32_t name_count, struct trace_text *list_out);

struct arg_list_item {
    struct trace_text key, value;
    bool quoted;
};
/* The next of a list, which is what is left of it then. False at its end, or where it is broken. */
bool arg_list_next(struct trace_text *left, struct arg_list_item *item_out);

#endif /* ARG_SUMS_H */
