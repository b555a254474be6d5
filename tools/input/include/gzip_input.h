/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip_input.h - inputs that are gzip, as files that can be read from anywhere.
 *
 * What a file is, its first two bytes say, not its name. It is unpacked into
 * a temporary file: blocks are found by their offsets.
 */
#ifndef GZIP_INPUT_H
#define GZIP_INPUT_H

#include <stdbool.h>

/* False of a pipe, too: what it begins with cannot be looked at and kept. */
bool gzip_is(int fd);

/* The unpacked bytes in a temporary file, at its beginning; -1 with the message given. name is for
 * messages. *problem_out: why they end too early, static text; NULL: they do not. */
int gzip_unpack(int fd, const char *name, const char **problem_out);

#endif /* GZIP_INPUT_H */
