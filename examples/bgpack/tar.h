/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.h - tar headers, out and in: ustar with pax records for what ustar cannot hold.
 */
#ifndef TAR_H
#define TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TAR_BLOCK_BYTES = 512,
    TAR_PATH_BYTES_MAX = 4096,       /* of a path or link target, with its NUL */
    TAR_HEADER_BYTES_MAX = 10 * 1024 /* of all headers of one member */
};

enum tar_type {
    TAR_FILE = '0',
    TAR_SYMLINK = '2',
    TAR_CHARACTER = '3',
    TAR_BLOCK = '4',
    TAR_DIRECTORY = '5',
    TAR_FIFO = '6'
};

struct tar_member {
    char path[TAR_PATH_BYTES_MAX];
    char link[TAR_PATH_BYTES_MAX]; /* TAR_SYMLINK */
    enum tar_type type;
    uint32_t mode; /* 07777 */
    uint64_t user, group;
    uint64_t bytes; /* TAR_FILE */
    int64_t modified_s;
    uint32_t major, minor; /* TAR_CHARACTER, TAR_BLOCK */
};

/* Writes the member's headers; returns their size, a multiple of TAR_BLOCK_BYTES. */
size_t tar_write_headers(const struct tar_member *member, uint8_t out[TAR_HEADER_BYTES_MAX]);

/* Bytes of zeros after so many bytes of data. */
static inline size_t tar_padding(uint64_t bytes)
{
    return (size_t)(-bytes % TAR_BLOCK_BYTES);
}

/* Reads a stream of tar bytes in pieces of any size. Begins all 0. */
struct tar_reader {
    struct tar_member member;
    uint8_t block[TAR_BLOCK_BYTES];
    size_t block_bytes;
    char pax[2 * TAR_HEADER_BYTES_MAX]; /* records for the next member */
    size_t pax_bytes;
    uint64_t data_left, padding_left;
    bool data_is_pax, member_open;
    unsigned zero_blocks;
};

enum tar_event {
    TAR_MORE,   /* all bytes were used, give the next ones */
    TAR_MEMBER, /* reader->member is the next member */
    TAR_DATA,   /* *data_out holds bytes of its contents */
    TAR_DONE,   /* the member is complete */
    TAR_END,    /* end of archive; what follows is not looked at */
    TAR_BAD     /* not tar; *reason_out says why */
};

struct tar_piece {
    const uint8_t *bytes;
    size_t count;
};

/* Takes bytes from the front of *input and says what they are. */
enum tar_event tar_read(struct tar_reader *reader, struct tar_piece *input,
                        struct tar_piece *data_out, const char **reason_out);

#endif /* TAR_H */
