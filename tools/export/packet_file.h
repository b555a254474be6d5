/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet_file.h - the packets of a Perfetto trace on their way into the file.
 *
 * Packets are put one behind the other into chunks. Full chunks are
 * compressed, on several threads if there are, and written in order as
 * compressed_packets. What shall come last although it is known early goes
 * into a stream of packets of its own, which waits in a temporary file.
 *
 * The encoder (deflater.h) looks for repetitions where it is told that
 * they can begin: where a packet begins, and where its time does, which
 * therefore is the last field.
 */
#ifndef PACKET_FILE_H
#define PACKET_FILE_H

#include "ordered_jobs.h"
#include "out.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- the wire form of protocol buffers, as far as it is written here ------------------------- */
/*
 * Every call writes at a place that has room and returns the end. A message
 * inside a message is written behind pb_open and closed with pb_close, which
 * puts its length into three bytes; ones that are small and many, whose length
 * is known, begin with pb_head. Header only:
 * the calls are in the inner loop of an exporter.
 */

#define PB_VARINT_MAX 10
#define PB_HEAD_MAX (2 * PB_VARINT_MAX)
#define PB_MESSAGE_MAX ((1u << 21) - 1) /* behind pb_open */

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2 };

static inline uint8_t *pb_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *pb_tag(uint8_t *at, unsigned field, enum pb_type type)
{
    return pb_varint(at, field << 3 | type);
}

static inline uint8_t *pb_u64(uint8_t *at, unsigned field, uint64_t value)
{
    return pb_varint(pb_tag(at, field, PB_VARINT), value);
}

static inline uint8_t *pb_fixed64(uint8_t *at, unsigned field, uint64_t value)
{
    at = pb_tag(at, field, PB_FIXED64);
    for (int i = 0; i < 8; i++)
        *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

/* What stands before a message, text or bytes of known length. */
static inline uint8_t *pb_head(uint8_t *at, unsigned field, size_t bytes)
{
    return pb_varint(pb_tag(at, field, PB_BYTES), bytes);
}

static inline uint8_t *pb_bytes(uint8_t *at, unsigned field, const void *data, size_t bytes)
{
    at = pb_head(at, field, bytes);
    if (bytes)
        memcpy(at, data, bytes);
    return at + bytes;
}

static inline uint8_t *pb_text(uint8_t *at, unsigned field, const char *text)
{
    return pb_bytes(at, field, text, strlen(text));
}

/* Begins a message; what is returned is its inside and goes to pb_close. */
static inline uint8_t *pb_open(uint8_t *at, unsigned field)
{
    return pb_tag(at, field, PB_BYTES) + 3;
}
/* A varint may have more bytes than it needs. */
static inline uint8_t *pb_close(uint8_t *inside, uint8_t *end)
{
    size_t bytes = (size_t)(end - inside);
    inside[-3] = (uint8_t)(bytes | 0x80);
    inside[-2] = (uint8_t)(bytes >> 7 | 0x80);
    inside[-1] = (uint8_t)(bytes >> 14);
    return end;
}

/* ---- packet file ----------------------------------------------------------------------------- */

#define PACKET_CHUNK_BYTES (320u << 10) /* viewers take less than 512 KiB at once */
#define PACKET_BYTES_MAX (224u << 10)   /* a name has at most 64 KiB, thrice that if no text */

struct packet_chunk;

/* A stream of packets. */
struct packets {
    struct packet_file *file;
    struct packet_chunk *chunk;    /* being filled */
    uint8_t *start, *next, *limit; /* of it */
    uint32_t *mark;                /* the next one, see packet_mark */
};

struct packet_file {
    struct out *out;
    struct ordered_jobs *jobs;
    struct packets packets, last;
    int last_fd; /* of what packets of last are written; -1 none yet */
    bool deflate, failed;
};

/* False when out of memory. */
bool packet_file_start(struct packet_file *file, struct out *out, struct job_threads *threads,
                       bool deflate);
/* Writes all that was put, last ones last. False, with the message given, when packets are
 * missing; a failure of the output is its owner's to tell. */
bool packet_file_finish(struct packet_file *file);

/* Makes room; see packet_room. */
void packet_flush(struct packets *packets);

/* Where a packet of at most bytes may be written; PACKET_BYTES_MAX at most. */
static inline uint8_t *packet_room(struct packets *packets, size_t bytes)
{
    if ((size_t)(packets->limit - packets->next) < bytes)
        packet_flush(packets);
    return packets->next;
}

/* Says that repetitions may begin at this place of the packet being written: in ascending order,
 * at most two a packet, which then has at least PACKET_MARKED_BYTES_MIN bytes. */
#define PACKET_MARKED_BYTES_MIN 8
static inline void packet_mark(struct packets *packets, const uint8_t *at)
{
    *packets->mark++ = (uint32_t)(at - packets->start);
}

/* The packet ends here. */
static inline void packet_put(struct packets *packets, uint8_t *end)
{
    packets->next = end;
}

#endif /* PACKET_FILE_H */
