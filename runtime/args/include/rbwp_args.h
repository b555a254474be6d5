/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_args.h - what a call of a work item was about: values that lie beside its record.
 *
 *     uint64_t bytes = rbwp_arg_key("bytes"), path = rbwp_arg_key("path");      once
 *
 *     rbwp_begin(slot);
 *     rbwp_arg_u64(bytes, job->bytes);              at level 2; any number of them
 *     rbwp_arg_text(path, job->path);
 *     do_work(job);
 *     rbwp_end();
 *
 * An argument belongs to the calling thread's open work item (rbwp_begin, or what the work manager
 * calls do_work in), whatever sub-items are open in it, and may be given any time until its end.
 * Each is a row of the table "argument" (SPEC.md, 9.3), at level 2 alone. The tools show it with
 * the call everywhere; `rbwp stats --by arg:bytes` adds up the calls by its values.
 *
 * Without an open item nothing is recorded, and none is counted as lost. The arguments of an item
 * that leaves no trace (rbwp_set_worked) have rows that belong to nothing: say them when there is
 * work. Rows survive a kill and take memory as those of rbwp_rows.h do; one that there is no room
 * for is lost and counted (RBWP_LOSS_ROWS).
 *
 * Without a session at level 2 a call is one predicted branch, with RBWP_DISABLE no code at all.
 * Threads: each for itself, as rbwp_begin. Not from signal handlers.
 */
#ifndef RBWP_ARGS_H
#define RBWP_ARGS_H

#include "rbwp_rows.h"

RBWP_C_BEGIN_

/* Bytes of a text; what is longer is cut. */
#define RBWP_ARG_TEXT_BYTES_MAX 64u

/* What a row of the table holds (its column "type"). */
enum rbwp_arg_type {
    RBWP_ARG_U64 = 1,
    RBWP_ARG_I64 = 2,
    RBWP_ARG_F64 = 3,
    RBWP_ARG_NAME = 4,     /* number of a name */
    RBWP_ARG_TEXT = 5,     /* its first 8 bytes, the first one lowest; zeros behind its end */
    RBWP_ARG_TEXT_MORE = 6 /* the next 8 of the text in the row before */
};

/* The number of a key, as rbwp_name_intern; 0 where that fails: the argument has no name then. */
RBWP_API uint64_t rbwp_arg_key(const char *name);

/* Inside the library; behind the test for a session. */
RBWP_API void rbwp_arg_(uint64_t key, unsigned type, uint64_t bits);
RBWP_API void rbwp_arg_text_(uint64_t key, const char *text);

#ifndef RBWP_DISABLE

static inline void rbwp_arg_u64(uint64_t key, uint64_t value)
{
    if (rbwp_is_on_(2))
        rbwp_arg_(key, RBWP_ARG_U64, value);
}

static inline void rbwp_arg_i64(uint64_t key, int64_t value)
{
    if (rbwp_is_on_(2))
        rbwp_arg_(key, RBWP_ARG_I64, (uint64_t)value);
}

static inline void rbwp_arg_f64(uint64_t key, double value)
{
    if (rbwp_is_on_(2))
        rbwp_arg_(key, RBWP_ARG_F64, rbwp_cell_f64(value));
}

/* A text that recurs, as its number (rbwp_name_intern): as cheap as an integer. */
static inline void rbwp_arg_name(uint64_t key, uint64_t name)
{
    if (rbwp_is_on_(2))
        rbwp_arg_(key, RBWP_ARG_NAME, name);
}

/* Any other: copied, a row for each 8 bytes. NULL is no argument. */
static inline void rbwp_arg_text(uint64_t key, const char *text)
{
    if (rbwp_is_on_(2))
        rbwp_arg_text_(key, text);
}

#else /* RBWP_DISABLE: the same calls, no code */

static inline void rbwp_arg_u64(uint64_t key, uint64_t value)
{
    (void)key, (void)value;
}
static inline void rbwp_arg_i64(uint64_t key, int64_t value)
{
    (void)key, (void)value;
}
static inline void rbwp_arg_f64(uint64_t key, double value)
{
    (void)key, (void)value;
}
static inline void rbwp_arg_name(uint64_t key, uint64_t name)
{
    (void)key, (void)name;
}
static inline void rbwp_arg_text(uint64_t key, const char *text)
{
    (void)key, (void)text;
}

#endif /* RBWP_DISABLE */

RBWP_C_END_
#endif /* RBWP_ARGS_H */
