/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_walk.h - through the launches of a folder (ptx_folder.h), one after the other.
 *
 * What a launch names is a plain file of the folder; what is none, is cut or of another kernel is
 * reported and refused.
 */
#ifndef PTX_WALK_H
#define PTX_WALK_H

#include "ptx_matrix.h"

#define PTX_TIME_MAX ((INT64_C(1) << 62) - 1)
#define PTX_ANCHORS_MAX 16 /* further ones are passed over */
#define PTX_FILE_NAME 256
#define PTX_KERNEL_NAME 1024

/* One instant on both clocks; the host's may be wrong by bound_ns. */
struct ptx_anchor {
    int64_t device_ns, host_ns, bound_ns;
};

/* Texts that a line lacks are empty, numbers 0; a grid's sizes are 1 at least. */
struct ptx_launch {
    char raw[PTX_FILE_NAME], map[PTX_FILE_NAME]; /* plain names in the folder */
    char kernel[PTX_KERNEL_NAME];
    char skipped[32]; /* why there is no buffer: capture, limit, memory; empty: there is one */
    uint64_t count;   /* of launches that were skipped */
    char thread[64], device_name[128];
    uint64_t pid, tid, device, stream, sms, clock_hz, dropped;
    uint64_t block[3];                       /* threads of a block */
    int64_t launch_ns, launched_ns, done_ns; /* CLOCK_MONOTONIC */
    int64_t start_ns, stop_ns;               /* the device's globaltimer */
    struct ptx_anchor anchors[PTX_ANCHORS_MAX];
    uint32_t anchor_count;
};

/* What one line says of its process and the host's clocks. */
struct ptx_process {
    uint64_t pid;
    int64_t monotonic_ns, wall_ns; /* the same instant */
    char command[1024], host[256], title[256];
};

struct ptx_launches {
    void *context;
    void (*process)(void *context, const struct ptx_process *process);
    /* False: stop. */
    bool (*launch)(void *context, const struct ptx_launch *launch);
};

/* Zero but for path, context and the functions. */
struct ptx_walk {
    const char *path;
    void *context;
    /* map and matrix NULL: the buffer was refused. False: stop. */
    bool (*launch)(void *context, const struct ptx_launch *launch, const struct ptx_map *map,
                   const struct ptx_matrix *matrix);
    void (*skipped)(void *context, const struct ptx_launch *launch);   /* or NULL */
    void (*process)(void *context, const struct ptx_process *process); /* or NULL */
    bool refused; /* something was, with a message */

    char **files; /* of launches */
    uint32_t count, room;
    struct ptx_map map;
    char map_name[PTX_FILE_NAME]; /* of map; empty: none is read */
};

/* False with the message given: no folder, or nothing was recorded. ptx_walk_end in any case. */
bool ptx_walk_begin(struct ptx_walk *walk);
void ptx_walk_launches(struct ptx_walk *walk);
void ptx_walk_end(struct ptx_walk *walk);

#endif /* PTX_WALK_H */
