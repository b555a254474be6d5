/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_rows.h - a launch as rows of gpu_activity and kernel_block (SPEC.md, section 9.3), and its
 * GPU_WORK record.
 */
#ifndef PTX_ROWS_H
#define PTX_ROWS_H

#include "ptx_folder.h"
#include "ptx_launches.h"
#include "ptx_map.h"
#include "ptx_matrix.h"
#include "rows_file.h"

/* Threads that launched, with what a file tells of them. */
struct ptx_thread {
    uint64_t tid, records;
    uint32_t sequence;
    char name[64];
};

struct ptx_rows {
    struct rows_file file;
    struct rbwp_block_encoder *records;
    struct ptx_thread *threads;
    uint32_t thread_count, thread_room;
    uint64_t *devices; /* that have a row */
    uint32_t device_count, device_room;
    int64_t shift_ns; /* from CLOCK_MONOTONIC to the times of the file */
    uint64_t launches, pid;
    bool pids; /* of several processes */
    int64_t first_ns, last_ns;
    struct ptx_folder_told *told;
};

/* False with the message given; ptx_rows_end in any case. */
bool ptx_rows_begin(struct ptx_rows *rows, int fd, const char *name, struct ptx_folder_told *told);
/* matrix and map: NULL for a launch whose buffer was refused. False: the file cannot be written. */
bool ptx_rows_add(struct ptx_rows *rows, const struct ptx_launch *launch, const struct ptx_map *map,
                  const struct ptx_matrix *matrix);
bool ptx_rows_end(struct ptx_rows *rows, const struct ptx_process *process, bool good);

#endif /* PTX_ROWS_H */
