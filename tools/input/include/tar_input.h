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

/* ---- tar members ----------------------------------------------------------------------------- */
/*
 * What lies where in a tar archive.
 *
 * Nothing in an archive is believed: sums of headers, sizes and names are checked, and lie inside
 * the file.
 */

#define TAR_BLOCK_BYTES 512u
#define TAR_NAME_BYTES_MAX 4096u
#define TAR_MEMBERS_MAX (1u << 20)

struct tar_member {
    const char *name; /* valid during the call */
    uint64_t offset, bytes;
};

/* Whether the first bytes, a block of them at least, are those of an archive. */
bool tar_recognises(const uint8_t *head, size_t bytes);

/*
 * Calls take for each plain file of the archive in fd, until it returns false. NULL: all was read;
 * else why it could not be, for people (of a take that returned false: "stopped").
 */
const char *tar_members(int fd, bool (*take)(void *context, const struct tar_member *member),
                        void *context);

#endif /* TAR_INPUT_H */
