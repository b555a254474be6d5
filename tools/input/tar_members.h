/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_members.h - what lies where in a tar archive.
 *
 * Nothing in an archive is believed: sums of headers, sizes and names are checked, and lie inside
 * the file.
 */
#ifndef TAR_MEMBERS_H
#define TAR_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif /* TAR_MEMBERS_H */
