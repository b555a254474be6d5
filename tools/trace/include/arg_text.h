/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arg_text.h - arguments of spans as texts.
 *
 * The arguments of one span outlive the trace so: for the few spans that are kept, and the values
 * that are added up.
 */
#ifndef ARG_TEXT_H
#define ARG_TEXT_H

#include "trace_text.h"

struct trace_arg;
struct trace_detail;

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

#endif /* ARG_TEXT_H */
