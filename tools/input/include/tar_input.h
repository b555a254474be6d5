/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_input.h - RBWP files that come in a tar archive on standard input.
 *
 * The archive stands for the RBWP files named *.bin and *.rbwa in it, sorted by name, like a
 * folder: others of that name are named and skipped. Each is then a file whose name begins with
 * "-:", which tar_input_file opens; for all others they are names that do not exist.
 *
 * The archive is copied to an unlinked temporary file, unless it is a file itself, and so is each
 * file when it is opened. POSIX (ustar, pax) and GNU archives; not packed ones.
 */
#ifndef TAR_INPUT_H
#define TAR_INPUT_H

#include "command.h"

/* Whether a tar archive comes from the file or pipe, of which nothing is taken. */
bool tar_is(int fd);

/* Appends its files. False with the message given. */
bool tar_input_add(struct operands *files);
void tar_input_close(void);

/* Whether the word is one of its files; then *fd_out is it, at its beginning, or -1 with the
 * message given. */
bool tar_input_file(const char *word, int *fd_out);

#endif /* TAR_INPUT_H */
