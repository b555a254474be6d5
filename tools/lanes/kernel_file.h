/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_file.h - a profile that is made of what kernels noted: the tables lane_span and
 * device_event, and nothing else.
 */
#ifndef KERNEL_FILE_H
#define KERNEL_FILE_H

#include "command.h"
#include "kernel_tables.h"
#include "rbwp_writer.h"

#include <stdint.h>

struct kernel_file {
    const char *name; /* for messages */
    int fd;
    struct rbwp_writer *writer;
    struct rbwp_row_encoder *encoder; /* of the one table */
    uint32_t table, columns;
    uint64_t next_row, rows; /* rows: in the encoder */
    char **names;            /* numbered from 1 */
    uint32_t name_count, name_room, written_names;
    bool failed; /* the user was told */
};

/* fd is empty, stays the caller's. schema: one of kernel_tables.h. False with the message given. */
bool kernel_file_begin(struct kernel_file *file, int fd, const char *name,
                       const struct rbwp_schema *schema);
/* The number of a terminated name; the same for the same name. */
uint64_t kernel_file_name(struct kernel_file *file, const char *name);
/* False: it failed, which the user was told. */
bool kernel_file_add(struct kernel_file *file, const uint64_t *cells);
/* Tables and trailer; dropped: events that the kernels had no room for. Frees all. */
bool kernel_file_end(struct kernel_file *file, uint64_t dropped);

#endif /* KERNEL_FILE_H */
