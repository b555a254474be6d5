/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_options.h - what the command line said of the records and spans that are wanted.
 *
 * Different kinds of condition must all hold; of several conditions of one
 * kind any will do.
 */
#ifndef FILTER_OPTIONS_H
#define FILTER_OPTIONS_H

#include "options.h"
#include "rbwp_format.h"

#include <stdbool.h>
#include <stdint.h>

struct filter_found;

#define FILTER_PATTERNS_MAX 64

struct filter_time {
    bool set, relative; /* relative to the file's zero time */
    int64_t ns;
};

/* A number, or a glob over names. */
struct filter_pattern {
    const char *text;
    bool is_number;
    uint64_t number;
};
struct filter_patterns {
    struct filter_pattern list[FILTER_PATTERNS_MAX];
    unsigned count;
};

enum filter_kind {
    FILTER_COARSE_BEGIN = 1,
    FILTER_COARSE_END = 2,
    FILTER_FINE_BEGIN = 4,
    FILTER_FINE_END = 8,
    FILTER_GPU_WORK = 16
};

struct filter_options {
    struct filter_time from, to; /* from <= time < to */
    struct filter_patterns threads, slots;
    unsigned kinds;                /* enum filter_kind, 0 = all */
    struct filter_time duration;   /* least duration of a span */
    struct filter_patterns labels; /* of rows of tables: names, or their numbers */
    struct filter_found *found;    /* added to; not of the command line. NULL: nobody asks */
};
extern const struct option filter_option_table[]; /* of struct filter_options */
/* The same for commands whose --to is a format: the end of a range is --until. */
#define FILTER_OPTIONS_UNTIL (filter_option_table + 1)

/* Of struct filter_options, too: what rows of tables can be asked for. */
extern const struct option filter_row_option_table[];

/* A time without sign, as the options take it: "12", "1.5ms". Digits below a nanosecond are
 * refused, not rounded. */
bool filter_parse_duration(const char *text, int64_t *ns_out, struct option_error *error);

/* On the axis on which zero_ns is the zero time; otherwise_ns if it was not given. */
int64_t filter_time_ns(const struct filter_time *time, int64_t zero_ns, int64_t otherwise_ns);
/* Makes times that are relative absolute. */
void filter_count_from(struct filter_options *options, int64_t zero_ns);
/* True when the names must be known before the first record is looked at. */
bool filter_needs_names(const struct filter_options *options);
/* True when any condition is set. */
bool filter_is_set(const struct filter_options *options);
/* True when any but the times is: of what is left nobody can say who was idle. */
bool filter_is_choice(const struct filter_options *options);

#endif /* FILTER_OPTIONS_H */
