/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_job.h - what the stages of packing share.
 *
 * Each stage is a work item that runs until it has no chunk to work on, and is
 * made active by whoever gives it one. No stage ever waits inside its do_work:
 * a worker that finds nothing to do returns. Making an item active while it
 * runs is remembered, so no hand-over is missed.
 */
#ifndef PACK_JOB_H
#define PACK_JOB_H

#include "chunks.h"
#include "pack.h"
#include "rbwp_channel.h"
#include "rbwp_record.h"
#include "tar.h"

#include <stdatomic.h>
#include <zlib.h>

enum { PACKERS_MAX = 64 };

/* What the reader does next. */
enum read_state { READ_WALK, READ_HEADERS, READ_BODY, READ_ARRIVING, READ_ZEROS, READ_ENDED };

struct read_stage {
    struct rbwp_work_handle item;
    struct rbwp_channel *channel; /* file to chunk */
    unsigned walk_sub_item;
    enum read_state state;
    struct chunk *chunk; /* being filled, NULL if none */
    uint64_t chunks;     /* begun so far */
    struct tar_member member;
    uint8_t headers[TAR_HEADER_BYTES_MAX];
    size_t headers_bytes, headers_done;
    int file;            /* of the member, -1 if none */
    uint64_t body_left;  /* bytes of it still to come */
    uint64_t zeros_left; /* to the end of the member, or of the archive */
    bool tree_ended;
    struct rbwp_transfer_result arrival; /* written by the channel before arrived is set */
    atomic_bool arrived;
};

struct pack_stage { /* one of several */
    struct pack_job *job;
    struct rbwp_work_handle item;
    unsigned deflate_sub_item;
    z_stream stream;
    struct chunk *chunk; /* being compressed, NULL if none */
};

struct write_stage {
    struct rbwp_work_handle item;
    struct rbwp_channel *channel; /* chunk to archive */
    unsigned queue_sub_item;
    uint64_t number; /* of the chunk that comes next in the archive */
    uint64_t offset; /* where it goes */
};

struct pack_job {
    struct rbwp_work_manager *manager;
    struct tree *tree;
    const struct pack_options *options;
    dev_t archive_device; /* the archive is not packed into itself */
    ino_t archive_inode;
    struct chunks chunks;
    struct read_stage read;
    struct write_stage write;
    struct pack_stage packers[PACKERS_MAX];
    struct pack_totals totals; /* writer: the read stage; packed_bytes: the write stage */

    atomic_bool failed, read_ended;
    pthread_mutex_t end_lock; /* guards the two below; nothing is taken inside */
    pthread_cond_t ended_changed;
    bool ended;
    struct rbwp_error error; /* the first failure */
};

bool read_stage_run(void *job, struct rbwp_deadline deadline);
bool pack_stage_run(void *stage, struct rbwp_deadline deadline);
bool write_stage_run(void *job, struct rbwp_deadline deadline);

/* Notes the first failure; the stages then let their chunks go. */
void pack_job_fail(struct pack_job *job, enum rbwp_status status, const char *what, int os_errno);
/* Gives a chunk back, lets the reader know, and ends the job if it was the last. */
void pack_job_release(struct pack_job *job, struct chunk *chunk);
/* Ends the job if the reader has ended and every chunk is free. */
void pack_job_check_end(struct pack_job *job);

#endif /* PACK_JOB_H */
