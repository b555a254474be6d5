/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_job.h - some blocks that follow each other, on their way into a chunk of an archive or
 * out of one. Jobs see nothing of each other, so any thread may run any of them (job_queue.h).
 */
#ifndef ARCHIVE_JOB_H
#define ARCHIVE_JOB_H

#include "block.h"
#include "chunk_code.h"

#define ARCHIVE_JOB_RECORDS 65536u   /* a chunk ends behind the block that brings it there */
#define ARCHIVE_JOB_BYTES (1u << 20) /* the same of bytes */
/* A job that unpacks has so many times as much, as it learns anew what compresses well. */
#define ARCHIVE_JOB_UNPACKS 4u

enum archive_job_status { ARCHIVE_JOB_DONE, ARCHIVE_JOB_NO_MEMORY, ARCHIVE_JOB_DIFFERS };

/* Zeros are a valid start. */
struct archive_job {
    /* What the owner fills, by archive_job_begin and archive_job_add. */
    uint64_t place;       /* of the first block in the plain file */
    struct buffer plain;  /* the blocks, stored as they are */
    struct buffer packed; /* a byte for each: whether it is compressed in the version-1 file */
    uint32_t records;

    /* What came of it. Packed: the payload of the chunk. Unpacked: the blocks, compressed where
     * they were. ARCHIVE_JOB_DIFFERS: the payload does not give these blocks again, by a defect of
     * this program. */
    enum archive_job_status status;
    struct buffer out;

    bool begun; /* for packing, or unpacking */
    struct chunk_encoder encoder;
    struct chunk_decoder decoder;
    struct buffer decoded;
    struct deflater *of_records, *of_tables;
    uint32_t *unit;
    size_t unit_room;
};

void archive_job_begin(struct archive_job *job, uint64_t place);
/* False without memory. stored_bytes of the header is ignored. */
bool archive_job_add(struct archive_job *job, const struct rbwp_block *block, bool packed);
/* Whether it has so many times the records or bytes of a chunk. */
bool archive_job_is_full(const struct archive_job *job, unsigned chunks);

/* What a queue runs: job is a struct archive_job, which is used for one of the two alone. */
void archive_job_pack(void *job);
void archive_job_unpack(void *job);
void archive_job_stop(void *job);

#endif /* ARCHIVE_JOB_H */
