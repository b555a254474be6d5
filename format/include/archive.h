/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive.h - a finished file as an archive (SPEC.md, section 16), and back.
 *
 * What is written goes to a sink and is whole when the call returns RBWP_OK; otherwise the sink has
 * a part of it, for the caller to throw away. Memory is bounded by the largest block, the
 * trailer, and the chunks that are at work at the same time. Threads: as rbwp_reader.h.
 */
#ifndef ARCHIVE_H
#define ARCHIVE_H

#include "job_queue.h"
#include "rbwp_writer.h"

struct rbwp_reader;

struct archive_result {
    uint64_t bytes_before, bytes; /* of what was read and written */
    uint64_t blocks, opaque_blocks, records;
    uint64_t packed_blocks; /* compressed in the version-1 file; 0: unpacking gives its bytes */
};

/* What a caller with threads gives. Results are the same bytes whatever it gives. */
struct archive_help {
    const struct job_queues *queues; /* NULL: chunks are made one after the other */
    void *context;
    /* Called with the reader of fd before its first block, and before it is closed: who reads ahead
     * of it may do so between. NULL: nobody does. */
    void (*begin)(void *context, struct rbwp_reader *reader, int fd);
    void (*end)(void *context);
};

/*
 * fd is a regular file at any position, and stays the caller's. It must be finalised, without
 * problems, and its index must agree with its blocks: an archive holds nothing else, so that what
 * is wrong is found before the original is thrown away. Each chunk is decoded again, and compared,
 * before it is written. help may be NULL. RBWP_OK; RBWP_E_INVALID: it is an archive already, or no
 * regular file; RBWP_E_STATE: not finalised; RBWP_E_CORRUPT, and what rbwp_reader_open and sinks
 * return.
 */
RBWP_MUST_USE enum rbwp_status archive_pack(int fd, const struct rbwp_sink *sink,
                                            const struct archive_help *help,
                                            struct archive_result *result_out,
                                            struct rbwp_error *error);

/* The same way back: blocks that were compressed before are so again. RBWP_E_INVALID: no archive.
 */
RBWP_MUST_USE enum rbwp_status archive_unpack(int fd, const struct rbwp_sink *sink,
                                              const struct archive_help *help,
                                              struct archive_result *result_out,
                                              struct rbwp_error *error);

/* Whether one begins in this file or block device. Of a pipe nobody can say. */
bool archive_is(int fd);

#endif /* ARCHIVE_H */
