/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.h - what running programs do now, again and again: which items, how often, how long.
 *
 * Their files are read, FILE.live with them, from so long ago on: they get no word of it and do
 * nothing for it.
 */
#ifndef TOP_H
#define TOP_H

#include "result_print.h"

enum top_order { TOP_BUSY, TOP_CALLS, TOP_MEAN, TOP_MAX, TOP_OPEN, TOP_NAME };

struct top_options {
    bool once, json;
    const char *csv;      /* one of the lists of --json */
    uint32_t times;       /* 0: until interrupted */
    uint64_t interval_ns; /* 0: two seconds */
    uint32_t order;       /* enum top_order */
    uint32_t lines;       /* of items; 0: what the terminal has, all where there is none */
    struct terminal_options terminal;
};

extern const struct result_column top_columns[]; /* a document a line, of its first list */

/* words: files, folders and process ids; none: all processes of this user that record. */
enum exit_code top_show(const struct top_options *options, struct operands words);

#endif /* TOP_H */
