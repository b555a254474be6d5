/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_source.h - a file of PTX, read and parsed, and errors in it as the user sees them. */
#ifndef PTX_SOURCE_H
#define PTX_SOURCE_H

#include "ptx.h"

/* All of a file ("-": standard input), at most bytes_max, and a zero byte, in memory that
 * the caller frees; NULL with the message given. */
char *ptx_read_file(const char *path, size_t bytes_max, size_t *bytes_out);

struct ptx_source {
    const char *path;
    char *text;
    size_t bytes;
    struct ptx_module module;
};

/* False with the message given; ptx_source_close only after true. */
bool ptx_source_open(struct ptx_source *source, const char *path);
void ptx_source_close(struct ptx_source *source);

/* "path:line:column: reason", the line and a caret. */
void ptx_source_error(const struct ptx_source *source, const struct ptx_error *error);

#endif /* PTX_SOURCE_H */
