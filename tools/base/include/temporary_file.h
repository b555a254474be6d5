/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temporary_file.h - unlinked files for what does not fit into memory, and reading and writing all
 * of a descriptor.
 *
 * Temporary files are made in $TMPDIR, else /tmp, and vanish with their descriptor.
 */
#ifndef TEMPORARY_FILE_H
#define TEMPORARY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A descriptor of an empty temporary file, -1 with the message given. */
int temporary_file(void);

/* A copy of what fd gives until its end, at its beginning; -1 with the message given. name is for
 * messages. */
int temporary_copy(int fd, const char *name);

/* count bytes from offset on; false with errno set, to 0 where the file ends before. */
bool read_all_at(int fd, void *bytes, size_t count, uint64_t offset);

/* What it gives until its end, at most bytes_max, with a zero byte behind, in memory that the
 * caller frees. NULL with errno set, EFBIG where there is more. */
char *read_to_end(int fd, size_t bytes_max, size_t *count_out);

/* All of it, through interruptions and short writes; false with errno set. */
bool write_all(int fd, const char *bytes, size_t count);

#endif /* TEMPORARY_FILE_H */
