/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - which records and pairs are wanted.
 *
 * A struct filter is the filter_options, resolved against one file (its zero
 * time, its names).
 *
 * An end record carries no slot, so the filter remembers per thread whether
 * the open call is wanted; it must therefore see all records of a thread, in
 * order, when slots are filtered (filter_block says when a block may be left
 * out).
 */
#ifndef FILTER_H
#define FILTER_H

#include "name_lookup.h"
#include "options.h"
#include "record_pairs.h"

/* What the command line said of the records and spans that are wanted.
 *
 * Different kinds of condition must all hold; of several conditions of one
 * kind any will do. */

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

/* ---- what filters met, and why they left nothing --------------------------------------------- */

/* What the conditions met, in all files together: it says why nothing was taken. */
struct filter_found {
    uint64_t threads, slots; /* bit i: pattern i fits one that is there */
    bool any;                /* records, of whatever kind; from first_ns to last_ns */
    int64_t first_ns, last_ns, zero_ns;
    uint64_t taken; /* records and spans */
};

/*
 * After the last file, when found->taken says that conditions left nothing, or taken says so: one
 * line on standard error for each pattern that fits nothing, else one that says why. Nothing is
 * said of patterns as long as something was taken. place is the file, NULL: several.
 */
void filter_tell_nothing(const struct filter_options *options, const char *place);
/* The patterns that fit something, as a mask like filter_found's; name may be NULL. */
uint64_t filter_patterns_fit(const struct filter_patterns *patterns, uint64_t number,
                             const char *name, size_t name_bytes);
/* Something lay there, whether wanted or not. */
void filter_found_time(struct filter_found *found, int64_t first_ns, int64_t last_ns,
                       int64_t zero_ns);

/* ---- filter ---------------------------------------------------------------------------------- */

/* Does not move while it is in use. */
struct filter {
    const struct filter_options *options;
    struct names *names;
    int64_t from_ns, to_ns, zero_ns;
    int64_t shift_ns;           /* added to times for found */
    bool resolved;              /* the times are known */
    struct filter_found *found; /* the options' or own_found */
    struct filter_found own_found;
    struct thread_map threads;
    uint8_t *open_calls; /* by thread: enum open_call */
    uint32_t open_capacity;
    uint8_t *open_call; /* of the current block's thread */
    uint8_t spare_call; /* for threads that found no room */
};

/* names may be NULL unless filter_needs_names. Both must outlive the filter. */
void filter_start(struct filter *filter, const struct filter_options *options,
                  const struct rbwp_reader *reader, struct names *names);
void filter_stop(struct filter *filter);
/* Behind it are blocks of another file of the same recording, with these names. */
void filter_use_names(struct filter *filter, struct names *names);

/*
 * Fixes the times that are relative: a file without a zero time counts from its first record,
 * which is at first_ns. Calls after the first do nothing; filter_block does it by itself.
 */
void filter_resolve(struct filter *filter, int64_t first_ns);

/* For who enters blocks without filter_block: notes what there is. After filter_resolve. */
void filter_see_block(struct filter *filter, const struct rbwp_block *block);
/* The same of the times of blocks that are not entered. */
void filter_see_times(struct filter *filter, int64_t first_ns, int64_t last_ns);
/* True when the thread is wanted. */
bool filter_takes_thread(struct filter *filter, uint64_t thread_id, int64_t time_ns);
/* Enters a block; false when none of its records is wanted and none needs to be seen. */
bool filter_block(struct filter *filter, const struct rbwp_block *block);
/* True when this record of that block is wanted. */
bool filter_record(struct filter *filter, const struct rbwp_record *record);

/* After filter_resolve. A row of a table is of no work item and of no kind. */
bool filter_takes_pair(struct filter *filter, const struct record_pair *pair);
bool filter_takes_row(struct filter *filter, uint64_t thread_id, int64_t start_ns, int64_t stop_ns);

#endif /* FILTER_H */
