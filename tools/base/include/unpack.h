/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.h - the bytes of a file, from the first to the last, unpacked if it is gzip.
 *
 * Several gzip members behind each other are one text, as gzip itself has it.
 * Memory is two buffers. A file that is cut or damaged gives what comes before
 * the damage, and problem says what it was; who reads on gets the end.
 */
#ifndef UNPACK_H
#define UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

struct unpack {
    int fd;           /* stays the caller's; its position is neither used nor changed */
    bool packed;      /* gzip */
    bool ended;       /* nothing more comes */
    uint64_t file_at; /* where the file is read next */
    z_stream stream;
    uint8_t *in;  /* packed bytes */
    uint8_t *out; /* what is handed out */
    size_t next, end;
    uint64_t offset;     /* of out[end] in the unpacked text */
    const char *problem; /* why it ended too early; NULL: it did not */
};

/* False when out of memory; unpack_stop is needed only after true. */
bool unpack_start(struct unpack *unpack, int fd);
void unpack_stop(struct unpack *unpack);

/* Fills the buffer, which must be used up. False at the end. */
bool unpack_fill(struct unpack *unpack);

/* Of the next byte that is handed out. */
static inline uint64_t unpack_offset(const struct unpack *unpack)
{
    return unpack->offset - (unpack->end - unpack->next);
}

/* The next byte, -1 at the end. */
static inline int unpack_byte(struct unpack *unpack)
{
    if (unpack->next == unpack->end && !unpack_fill(unpack))
        return -1;
    return unpack->out[unpack->next++];
}
/* The same, without taking it. */
static inline int unpack_peek(struct unpack *unpack)
{
    if (unpack->next == unpack->end && !unpack_fill(unpack))
        return -1;
    return unpack->out[unpack->next];
}

/* False when the end comes first; what came before it is taken. to may be NULL. */
bool unpack_slow(struct unpack *unpack, uint8_t *to, uint64_t count);
static inline bool unpack_bytes(struct unpack *unpack, uint8_t *to, size_t count)
{
    if (unpack->end - unpack->next < count)
        return unpack_slow(unpack, to, count);
    memcpy(to, unpack->out + unpack->next, count);
    unpack->next += count;
    return true;
}
static inline bool unpack_skip(struct unpack *unpack, uint64_t count)
{
    return unpack_slow(unpack, NULL, count);
}

#endif /* UNPACK_H */
