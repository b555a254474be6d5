/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_walk.h - through the launches of a folder (ptx_folder.h), one after the other.
 *
 * What a launch names is a plain file of the folder; what is none, is cut or of another kernel is
 * reported and refused.
 */
#ifndef PTX_WALK_H
#define PTX_WALK_H

#include "ptx_launches.h"
#include "ptx_matrix.h"

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
