/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flags.h - command-line flags from tables.
 *
 * One table entry per flag says its name, type, range and the field it sets.
 * Flags are read from the environment variable RBWP_FLAGS (words separated by
 * blanks), then from argv, so that argv wins. Each name works with "-", "--",
 * "-ll:" and "--ll:" before it; its value is the next word, or what follows a
 * "=". What is recognised is taken out of argv; everything else stays in order.
 * RBWP_FLAGS is the library's alone: what none of its tables knows is refused, and so is
 * in argv what begins with -bgworkprof. A wrong value or word is one line of text and changes
 * nothing.
 */
#ifndef FLAGS_H
#define FLAGS_H

#include "rbwp_format.h"

enum flag_type {
    FLAG_INT,   /* int */
    FLAG_I64,   /* int64_t */
    FLAG_U32,   /* uint32_t */
    FLAG_U64,   /* uint64_t */
    FLAG_BOOL,  /* bool, 0 or 1 */
    FLAG_ENUM,  /* int-sized enum, a number in the range */
    FLAG_STRING /* const char *, any text but empty */
};

struct flag {
    const char *name; /* without the dash */
    enum flag_type type;
    size_t field_offset; /* in the config struct */
    int64_t min, max;    /* of the value as written */
    uint64_t scale;      /* value is multiplied by it; 0 = 1 */
    const char *meaning; /* for messages: "megabytes", "microseconds" ... */
};

struct flag_table {
    const struct flag *flag;
    size_t count;
    size_t file_offset; /* of the field with the name of a file that has flags, too; 0: none */
    /* What more is to be made of the values, or why they are refused; NULL: nothing. */
    enum rbwp_status (*finish)(void *config, struct rbwp_error *error);
};

/* The library's tables: who reads one of them passes over the flags of the others. */
extern const struct flag_table session_flags, work_flags;

/*
 * Applies the table to config (config_bytes long). argc/argv may be NULL.
 * RBWP_OK, or RBWP_E_USAGE / RBWP_E_MEMORY with error filled; config and argv are then unchanged.
 */
enum rbwp_status flags_apply(const struct flag_table *table, void *config, size_t config_bytes,
                             int *argc, char **argv, struct rbwp_error *error);

#endif /* FLAGS_H */
