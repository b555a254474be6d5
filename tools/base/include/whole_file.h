/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_file.h - a file that appears under its name when it is whole and on the disk.
 *
 * It is written under another name in the same folder. Who is killed leaves that one at most.
 */
#ifndef WHOLE_FILE_H
#define WHOLE_FILE_H

#include <stdbool.h>

struct whole_file {
    const char *path;
    char *temporary;
    int fd;
    bool force; /* takes the place of one that is there */
};

/* False with the message given. path must outlive it. */
bool whole_file_begin(struct whole_file *file, const char *path, bool force);

/*
 * Gives it its name; for no more people to read than `like` is for, or else (NULL, or it is not
 * there) also_like, or else for its owner alone. False with the message given: then there is none.
 */
bool whole_file_publish(struct whole_file *file, const char *like, const char *also_like);

/* Throws it away. */
void whole_file_drop(struct whole_file *file);

#endif /* WHOLE_FILE_H */
