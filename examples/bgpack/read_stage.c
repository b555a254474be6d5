/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_stage.c - first stage: turn the tree into a stream of tar bytes in chunks.
 *
 * A state machine that can stop between any two steps. Contents of files come
 * through a transfer channel straight into the chunk, so that no slice of
 * this item waits for a disk; it is made active again when they have arrived.
 * A file that got shorter, or fails half-way, is completed with zeros, because
 * its size is already in the archive; it counts as skipped.
 */
#include "pack_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum step { STEP_ON, STEP_WAIT };

static void skip(struct pack_job *job, const char *path, const char *reason)
{
    job->totals.skipped++;
    if (!job->options->quiet)
        fprintf(stderr, "bgpack: %s: %s\n", path, reason);
}

/* ---- entries ---------------------------------------------------------------------- */

/* NULL if the entry goes into the archive; "" if it is dropped silently; or why it is skipped. */
static const char *fill_member(struct pack_job *job, struct tar_member *member,
                               const struct stat *info)
{
    member->mode = info->st_mode & 07777;
    member->user = info->st_uid;
    member->group = info->st_gid;
    member->modified_s = info->st_mtime;
    switch (info->st_mode & S_IFMT) {
    case S_IFREG:
        if (info->st_dev == job->archive_device && info->st_ino == job->archive_inode)
            return "";
        member->type = TAR_FILE;
        return NULL;
    case S_IFDIR:
        member->type = TAR_DIRECTORY;
        return NULL;
    case S_IFLNK: {
        const ssize_t length =
            readlinkat(tree_root(job->tree), member->path, member->link, sizeof member->link - 1);
        member->type = TAR_SYMLINK;
        return length < 0 ? strerror(errno) : NULL;
    }
    case S_IFCHR:
    case S_IFBLK:
        member->type = S_ISCHR(info->st_mode) ? TAR_CHARACTER : TAR_BLOCK;
        member->major = major(info->st_rdev);
        member->minor = minor(info->st_rdev);
        return NULL;
    case S_IFIFO:
        member->type = TAR_FIFO;
        return NULL;
    default:
        return "skipped: tar has no way to keep a socket";
    }
}

/* Opens the member and takes its size from the descriptor. NULL, or why it is skipped. */
static const char *open_file(struct pack_job *job, struct tar_member *member)
{
    struct stat info;
    struct read_stage *const read = &job->read;
    read->file =
        openat(tree_root(job->tree), member->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (read->file < 0)
        return strerror(errno);
    if (fstat(read->file, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(read->file);
        read->file = -1;
        return "skipped: it was replaced meanwhile";
    }
    member->bytes = (uint64_t)info.st_size;
    return NULL;
}

static void count_member(struct pack_totals *totals, enum tar_type type)
{
    *(type == TAR_FILE        ? &totals->files
      : type == TAR_DIRECTORY ? &totals->directories
      : type == TAR_SYMLINK   ? &totals->links
                              : &totals->others) += 1;
}

static void begin_entry(struct pack_job *job, const char *path)
{
    struct read_stage *const read = &job->read;
    struct tar_member *const member = &read->member;
    struct stat info;
    if (strlen(path) + 1 >= sizeof member->path) { /* 1: for a directory's slash */
        skip(job, path, "skipped: its path is longer than 4094 bytes");
        return;
    }
    if (fstatat(tree_root(job->tree), path, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        skip(job, path, strerror(errno));
        return;
    }
    *member = (struct tar_member){.type = TAR_FILE};
    strcpy(member->path, path);
    const char *reason = fill_member(job, member, &info);
    if (!reason && member->type == TAR_FILE)
        reason = open_file(job, member);
    if (reason) {
        if (*reason)
            skip(job, path, reason);
        return;
    }
    if (member->type == TAR_DIRECTORY) {
        tree_enter(job->tree);
        strcat(member->path, "/");
    }
    count_member(&job->totals, member->type);
    read->headers_bytes = tar_write_headers(member, read->headers);
    read->headers_done = 0;
    read->body_left = member->bytes;
    read->zeros_left = tar_padding(member->bytes);
    read->state = READ_HEADERS;
}

static enum step walk(struct pack_job *job)
{
    struct read_stage *const read = &job->read;
    const char *path;
    switch (tree_next(job->tree, &path)) {
    case TREE_ENTRY:
        begin_entry(job, path);
        break;
    case TREE_BUSY:
        break;
    case TREE_SKIP:
        skip(job, path, strerror(errno));
        break;
    case TREE_MEMORY:
        pack_job_fail(job, RBWP_E_MEMORY, "the names in a directory", ENOMEM);
        break;
    case TREE_END:
        read->tree_ended = true;
        read->zeros_left = 2 * TAR_BLOCK_BYTES;
        read->state = READ_ZEROS;
        break;
    }
    return STEP_ON;
}

/* ---- chunks ------------------------------------------------------------------------ */

static void read_stage_pass_on(struct pack_job *job)
{
    job->totals.plain_bytes += job->read.chunk->plain_bytes;
    chunks_put_full(&job->chunks, job->read.chunk);
    job->read.chunk = NULL;
    for (unsigned i = 0; i < job->options->packers; i++)
        (void)rbwp_work_make_active(job->manager, job->packers[i].item);
}

/* Makes sure that there is a chunk with room. */
static bool have_room(struct pack_job *job)
{
    struct read_stage *const read = &job->read;
    if (read->chunk && read->chunk->plain_bytes == CHUNK_BYTES)
        read_stage_pass_on(job);
    if (!read->chunk && (read->chunk = chunks_take_free(&job->chunks))) {
        read->chunk->number = read->chunks++;
        read->chunk->plain_bytes = 0;
    }
    return read->chunk != NULL;
}

/* Bytes of left that fit into the chunk. */
static size_t fitting(const struct chunk *chunk, uint64_t left)
{
    const size_t room = CHUNK_BYTES - chunk->plain_bytes;
    return left < room ? (size_t)left : room;
}

static enum step put_headers(struct pack_job *job)
{
    struct read_stage *const read = &job->read;
    if (read->headers_done == read->headers_bytes) {
        read->state = READ_BODY;
        return STEP_ON;
    }
    if (!have_room(job))
        return STEP_WAIT;
    const size_t count = fitting(read->chunk, read->headers_bytes - read->headers_done);
    memcpy(read->chunk->plain + read->chunk->plain_bytes, read->headers + read->headers_done,
           count);
    read->chunk->plain_bytes += count;
    read->headers_done += count;
    return STEP_ON;
}

static enum step put_zeros(struct pack_job *job)
{
    struct read_stage *const read = &job->read;
    if (read->zeros_left == 0) {
        read->state = read->tree_ended ? READ_ENDED : READ_WALK;
        return STEP_ON;
    }
    if (!have_room(job))
        return STEP_WAIT;
    const size_t count = fitting(read->chunk, read->zeros_left);
    memset(read->chunk->plain + read->chunk->plain_bytes, 0, count);
    read->chunk->plain_bytes += count;
    read->zeros_left -= count;
    return STEP_ON;
}

/* ---- contents ------------------------------------------------------------------------- */

static void note_arrival(void *argument, const struct rbwp_transfer_result *result)
{
    struct pack_job *const job = argument;
    job->read.arrival = *result;
    atomic_store_explicit(&job->read.arrived, true, memory_order_release); /* pairs: take_arrival */
    (void)rbwp_work_make_active(job->manager, job->read.item);
}

static void end_body(struct read_stage *read)
{
    if (read->file >= 0)
        close(read->file);
    read->file = -1;
    read->state = READ_ZEROS;
}

static enum step request_body(struct pack_job *job)
{
    struct read_stage *const read = &job->read;
    if (read->body_left == 0) {
        end_body(read);
        return STEP_ON;
    }
    if (!have_room(job))
        return STEP_WAIT;
    const uint64_t at = read->member.bytes - read->body_left;
    const struct rbwp_transfer transfer = {
        .size = sizeof transfer,
        .kind = RBWP_TRANSFER_COPY,
        .dimensions = 1,
        .element_bytes = 1,
        .extent = {fitting(read->chunk, read->body_left)},
        .source = {.is_file = true, .fd = read->file, .offset_bytes = at},
        .target.memory = read->chunk->plain + read->chunk->plain_bytes,
        .done = note_arrival,
        .argument = job};
    struct rbwp_error error;
    read->state = READ_ARRIVING;
    if (rbwp_channel_submit(read->channel, &transfer, NULL, &error) != RBWP_OK) {
        read->state = READ_BODY;
        pack_job_fail(job, error.status, error.text, 0);
    }
    return STEP_ON;
}

static enum step take_arrival(struct pack_job *job)
{
    struct read_stage *const read = &job->read;
    if (!atomic_load_explicit(&read->arrived, memory_order_acquire))
        return STEP_WAIT;
    atomic_store_explicit(&read->arrived, false, memory_order_relaxed);
    read->chunk->plain_bytes += (size_t)read->arrival.bytes;
    read->body_left -= read->arrival.bytes;
    read->state = READ_BODY;
    if (read->arrival.status == RBWP_OK)
        return STEP_ON;
    skip(job, read->member.path,
         read->arrival.status == RBWP_E_TRUNCATED
             ? "it got shorter while it was packed: zeros added"
             : strerror(read->arrival.os_errno));
    read->zeros_left += read->body_left;
    read->body_left = 0;
    return STEP_ON;
}

/* ---- the stage -------------------------------------------------------------------------- */

static void end_stage(struct pack_job *job)
{
    struct read_stage *const read = &job->read;
    end_body(read);
    read->state = READ_ENDED;
    if (read->chunk && !atomic_load(&job->failed)) {
        read_stage_pass_on(job);
    } else if (read->chunk) {
        pack_job_release(job, read->chunk);
        read->chunk = NULL;
    }
    atomic_store(&job->read_ended, true);
    pack_job_check_end(job);
}

static enum step read_stage_step(struct pack_job *job)
{
    switch (job->read.state) {
    case READ_WALK:
        return walk(job);
    case READ_HEADERS:
        return put_headers(job);
    case READ_BODY:
        return request_body(job);
    case READ_ARRIVING:
        return take_arrival(job);
    case READ_ZEROS:
        return put_zeros(job);
    case READ_ENDED:
        break;
    }
    return STEP_WAIT;
}

bool read_stage_run(void *argument, struct rbwp_deadline deadline)
{
    struct pack_job *const job = argument;
    if (atomic_load(&job->read_ended)) {
        rbwp_set_worked(false);
        return false;
    }
    bool on = true, over = false;
    unsigned steps = 0;
    rbwp_fine_begin(job->read.walk_sub_item);
    while (on && !over) {
        on = read_stage_step(job) == STEP_ON;
        steps += on;
        /* A chunk that a channel is filling cannot be let go. */
        if (job->read.state == READ_ENDED ||
            (atomic_load(&job->failed) && job->read.state != READ_ARRIVING)) {
            rbwp_fine_end();
            end_stage(job);
            return false;
        }
        over = rbwp_deadline_passed(deadline);
    }
    rbwp_fine_end();
    if (steps == 0)
        rbwp_set_worked(false);
    return on;
}
