/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_export.h - what kernels noted, as a profile, or by way of one as anything that is exported
 * from profiles.
 */
#ifndef KERNEL_EXPORT_H
#define KERNEL_EXPORT_H

#include "kernel_dumps.h"
#include "kernel_tables.h"
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

#endif /* KERNEL_EXPORT_H */
