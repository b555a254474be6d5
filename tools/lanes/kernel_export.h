/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_export.h - what kernels noted, as a profile, or by way of one as anything that is exported
 * from profiles.
 */
#ifndef KERNEL_EXPORT_H
#define KERNEL_EXPORT_H

#include "kernel_dumps.h"
#include "kernel_tables.h"
#include "rbwp_durations.h"
#include "rows_file.h"

struct kernel_maker {
    const struct rbwp_schema *schema;
    void *context;
    /* Adds all rows. False: some are missing, with a message. */
    bool (*fill)(void *context, struct rows_file *file);
    uint64_t dropped; /* that the kernels had no room for */
    /* Times of rows count from 0 to last_ns. zero_ns: CLOCK_MONOTONIC at 0, on the machine where
     * they were noted; 0: not known. */
    int64_t zero_ns, last_ns;
};

enum exit_code kernel_export(const struct kernel_options *options, struct operands files,
                             const struct kernel_maker *maker);

/* Is the table of durations asked for? */
bool kernel_wants_durations(const struct kernel_options *options);
/* Is it this form? */
bool kernel_wants(const struct kernel_options *options, const char *form);

/* ---- durations report ------------------------------------------------------------------------ */
/* The durations of kernels' spans as a result table. */

/* `all` of the rows. */
struct durations_report {
    const void *context;
    bool by_block; /* the upper half of a group's number is its block */
    /* Into text of 256 bytes, or static; terminated. */
    const char *(*group)(const void *context, uint64_t group, char *text);
    const char *(*event)(const void *context, int64_t event, char *text);
    bool (*fill)(const void *context, struct rbwp_durations *durations); /* false without memory */
    const struct result_column *json; /* the document, of the context */
    struct rbwp_durations *durations; /* the following are the report's own */
    char *text;
};

extern const struct result_table durations_table;
struct result_rows durations_rows(const struct result_at *at);
/* files: that no output may replace. */
enum exit_code durations_show(struct durations_report *report, const struct kernel_options *options,
                              struct operands files);

/* The column of a document. */
#define DURATIONS                                                                                  \
    {                                                                                              \
        "durations", NULL, 0, RESULT_LIST, .list = &durations_table, .rows = durations_rows,       \
                                           .closed = true                                          \
    }

/* ---- id names -------------------------------------------------------------------------------- */
/*
 * Names that the command line gives to numbers: "load,mma,7=store".
 *
 * A name alone belongs to the number behind the one before it, from 0.
 */

#define ID_NAMES_MAX 4096
#define ID_NAME_BYTES 256

struct id_name {
    int64_t id;
    const char *text; /* not terminated */
    uint32_t bytes;
};
struct id_names {
    struct id_name *names;
    uint32_t count, room;
};

/* text may be NULL; names point into it. False with the message given: option is its name. */
bool id_names_parse(struct id_names *names, const char *option, const char *text);
/* The name, or "what_id" in text. Terminated, and cut to fit. */
const char *id_names_get(const struct id_names *names, const char *what, int64_t id,
                         char text[ID_NAME_BYTES]);
void id_names_free(struct id_names *names);

#endif /* KERNEL_EXPORT_H */
