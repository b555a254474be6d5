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

#endif /* FOLDER_H */
