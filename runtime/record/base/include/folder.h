/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - the folder of FILE, held from the session's start to its end.
 *
 * What lies beside FILE is made, renamed and removed relative to it. So nothing changes for a
 * session when the process goes to another directory or root, or when the folder is renamed.
 */
#ifndef FOLDER_H
#define FOLDER_H

#include "held.h"

#include <stddef.h>
#include <stdint.h>

struct folder {
    struct held held;
    char *path; /* from the root, for when the descriptor has been closed; NULL: not known */
};

/* The folder that the file of this path is in. False, with errno, if there is none. */
bool folder_open(struct folder *folder, const char *path);
void folder_close(struct folder *folder);

/* The last part of a path. */
const char *folder_name(const char *path);

/* Where a name stands, for openat(2) and the like. */
struct place {
    int folder; /* -1: it is gone, as errno says */
    const char *name;
};
/* Of a path beside FILE, in the folder; of another one, where the process is. */
struct place folder_place(struct folder *folder, const char *file, const char *path);
/* A file by its path, if that began with the folder's when the session began: where it is now. The
 * path as it is, unless it leads elsewhere by now. */
void folder_path_now(struct folder *folder, const char *path, char *path_out, size_t room);

/* ---- the files that a recording is cut into (rotate.h) ---- */

/* The first number behind those of the parts that are in the folder; by the same two names. */
uint32_t folder_first_part(struct folder *folder, const char *with_0, const char *with_1);

/* The path of a part: of the two names with 0 and 1 where the number stands, or FILE.part-N where
 * they are the same. False: too long. */
bool folder_part_path(const char *with_0, const char *with_1, uint32_t part, char *path_out,
                      size_t room);

#endif /* FOLDER_H */
