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
#include "protobuf.h"

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
