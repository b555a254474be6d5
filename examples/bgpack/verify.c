/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - check an archive against the tree it was made of.
 *
 * One work item: read a piece of the archive, inflate it, take the tar apart,
 * compare with the original. It shares nothing with the stages that packed
 * but the tar format, so a mistake there shows here. After every piece it
 * looks at its deadline.
 */
#include "verify.h"
#include "rbwp_record.h"
#include "tar.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT_BYTES = 65536, PLAIN_BYTES = 32768, VERIFY_GZIP_WINDOW_BITS = 15 + 16 };

struct verify {
    int archive, root;
    struct verify_totals totals;
    unsigned inflate_sub_item, compare_sub_item;

    z_stream stream;
    uint64_t offset; /* in the archive, of what comes after input */
    bool input_ended, between_members, tar_ended;
    uint8_t input[INPUT_BYTES];
    uint8_t plain[PLAIN_BYTES];
    uint8_t original[PLAIN_BYTES];

    struct tar_reader tar;
    int file;          /* original of the present member, -1 if none */
    uint64_t file_at;  /* bytes of it compared */
    const char *wrong; /* why the present member differs, NULL if it does not */

    pthread_mutex_t lock; /* guards the two below; nothing is taken inside */
    pthread_cond_t ended_changed;
    bool ended;
    struct rbwp_error error;
};

/* ---- members against originals ------------------------------------------------------ */

static mode_t type_of(enum tar_type type)
{
    switch (type) {
    case TAR_FILE:
        return S_IFREG;
    case TAR_SYMLINK:
        return S_IFLNK;
    case TAR_CHARACTER:
        return S_IFCHR;
    case TAR_BLOCK:
        return S_IFBLK;
    case TAR_DIRECTORY:
        return S_IFDIR;
    case TAR_FIFO:
        return S_IFIFO;
    }
    return 0;
}

static const char *compare_link(const struct verify *verify, const struct tar_member *member)
{
    char target[TAR_PATH_BYTES_MAX];
    const ssize_t length = readlinkat(verify->root, member->path, target, sizeof target);
    if (length < 0)
        return strerror(errno);
    const bool same =
        (size_t)length == strlen(member->link) && memcmp(target, member->link, (size_t)length) == 0;
    return same ? NULL : "the link points elsewhere";
}

static const char *compare_facts(const struct verify *verify, const struct tar_member *member)
{
    struct stat info;
    if (fstatat(verify->root, member->path, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return strerror(errno);
    if ((info.st_mode & S_IFMT) != type_of(member->type))
        return "it is of another type";
    if (member->type == TAR_SYMLINK)
        return compare_link(verify, member);
    if ((info.st_mode & 07777) != member->mode)
        return "the permissions differ";
    if (info.st_uid != member->user || info.st_gid != member->group)
        return "the owner differs";
    if ((member->type == TAR_CHARACTER || member->type == TAR_BLOCK) &&
        (major(info.st_rdev) != member->major || minor(info.st_rdev) != member->minor))
        return "the device number differs";
    if (member->type != TAR_FILE)
        return NULL;
    if ((uint64_t)info.st_size != member->bytes)
        return "the size differs";
    return info.st_mtime == member->modified_s ? NULL : "the time of its last change differs";
}

static void begin_member(struct verify *verify)
{
    const struct tar_member *member = &verify->tar.member;
    verify->totals.members++;
    verify->wrong = compare_facts(verify, member);
    if (verify->wrong || member->type != TAR_FILE)
        return;
    verify->file_at = 0;
    verify->file = openat(verify->root, member->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (verify->file < 0)
        verify->wrong = strerror(errno);
}

static void compare_data(struct verify *verify, struct tar_piece data)
{
    while (data.count > 0 && !verify->wrong) {
        const ssize_t got =
            pread(verify->file, verify->original, data.count, (off_t)verify->file_at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            verify->wrong = got < 0 ? strerror(errno) : "it is shorter now";
        else if (memcmp(verify->original, data.bytes, (size_t)got) != 0)
            verify->wrong = "the contents differ";
        else {
            data.bytes += got;
            data.count -= (size_t)got;
            verify->file_at += (uint64_t)got;
            verify->totals.bytes += (uint64_t)got;
        }
    }
}

static void end_member(struct verify *verify)
{
    if (verify->file >= 0)
        close(verify->file);
    verify->file = -1;
    if (!verify->wrong)
        return;
    verify->totals.wrong++;
    fprintf(stderr, "bgpack: %s: not as in the archive: %s\n", verify->tar.member.path,
            verify->wrong);
    verify->wrong = NULL;
}

/* ---- the archive ---------------------------------------------------------------------- */

static enum rbwp_status damaged(struct verify *verify, const char *reason)
{
    verify->error.status = RBWP_E_CORRUPT;
    verify->error.offset = verify->offset - verify->stream.avail_in;
    snprintf(verify->error.text, sizeof verify->error.text,
             "the archive is damaged near byte %llu: %s", (unsigned long long)verify->error.offset,
             reason);
    return RBWP_E_CORRUPT;
}

static enum rbwp_status read_input(struct verify *verify)
{
    const ssize_t got = pread(verify->archive, verify->input, INPUT_BYTES, (off_t)verify->offset);
    if (got < 0 && errno == EINTR)
        return RBWP_AGAIN;
    if (got < 0) {
        verify->error.status = RBWP_E_IO;
        snprintf(verify->error.text, sizeof verify->error.text, "reading the archive: %s",
                 strerror(errno));
        return RBWP_E_IO;
    }
    verify->input_ended = got == 0;
    verify->offset += (uint64_t)got;
    verify->stream.next_in = verify->input;
    verify->stream.avail_in = (uInt)got;
    return RBWP_AGAIN;
}

/* Takes a piece of plain tar apart. */
static enum rbwp_status take_plain(struct verify *verify, size_t count)
{
    struct tar_piece input = {.bytes = verify->plain, .count = count}, data;
    const char *reason = "";
    for (;;)
        switch (tar_read(&verify->tar, &input, &data, &reason)) {
        case TAR_MORE:
            return RBWP_AGAIN;
        case TAR_MEMBER:
            begin_member(verify);
            break;
        case TAR_DATA:
            compare_data(verify, data);
            break;
        case TAR_DONE:
            end_member(verify);
            break;
        case TAR_END:
            verify->tar_ended = true;
            return RBWP_AGAIN;
        case TAR_BAD:
            return damaged(verify, reason);
        }
}

static enum rbwp_status at_end(struct verify *verify)
{
    if (!verify->between_members)
        return damaged(verify, "it stops inside a gzip member");
    return verify->tar_ended ? RBWP_OK : damaged(verify, "it stops before the end of the tar");
}

/* RBWP_AGAIN until the archive is read. */
static enum rbwp_status verify_step(struct verify *verify)
{
    z_stream *const stream = &verify->stream;
    if (stream->avail_in == 0 && !verify->input_ended)
        return read_input(verify);
    if (stream->avail_in == 0)
        return at_end(verify);
    stream->next_out = verify->plain;
    stream->avail_out = PLAIN_BYTES;
    rbwp_fine_begin(verify->inflate_sub_item);
    const int answer = inflate(stream, Z_NO_FLUSH);
    rbwp_fine_end();
    verify->between_members = answer == Z_STREAM_END;
    if (answer != Z_OK && answer != Z_STREAM_END)
        return damaged(verify, stream->msg ? stream->msg : "not the data of a gzip file");
    if (answer == Z_STREAM_END)
        (void)inflateReset(stream);
    rbwp_fine_begin(verify->compare_sub_item);
    const enum rbwp_status status = take_plain(verify, PLAIN_BYTES - stream->avail_out);
    rbwp_fine_end();
    return status;
}

static bool verify_run(void *argument, struct rbwp_deadline deadline)
{
    struct verify *const verify = argument;
    enum rbwp_status status;
    do
        status = verify_step(verify);
    while (status == RBWP_AGAIN && !rbwp_deadline_passed(deadline));
    if (status == RBWP_AGAIN)
        return true;
    pthread_mutex_lock(&verify->lock);
    verify->ended = true;
    pthread_cond_signal(&verify->ended_changed);
    pthread_mutex_unlock(&verify->lock);
    return false;
}

static enum rbwp_status verify_set_up(struct verify *verify, struct rbwp_work_manager *manager,
                                      struct rbwp_work_handle *item)
{
    if (inflateInit2(&verify->stream, VERIFY_GZIP_WINDOW_BITS) != Z_OK)
        return RBWP_E_MEMORY;
    enum rbwp_sub_item_type step;
    enum rbwp_status status = rbwp_sub_item_kind_register("step", 0, &step);
    if (status == RBWP_OK)
        status = rbwp_sub_item_register(step, "bgpack inflate", &verify->inflate_sub_item);
    if (status == RBWP_OK)
        status =
            rbwp_sub_item_register(step, "bgpack compare with original", &verify->compare_sub_item);
    if (status == RBWP_OK)
        status = rbwp_work_add(manager, "bgpack verify", verify_run, verify, -1, item);
    return status;
}

enum rbwp_status verify_archive(struct rbwp_work_manager *manager, int archive, int root,
                                struct verify_totals *totals_out, struct rbwp_error *error)
{
    struct rbwp_work_handle item = {0};
    struct verify *verify = calloc(1, sizeof *verify);
    *totals_out = (struct verify_totals){0};
    *error = (struct rbwp_error){.status = RBWP_E_MEMORY, .text = "no memory to verify with"};
    if (!verify)
        return RBWP_E_MEMORY;
    verify->archive = archive;
    verify->root = root;
    verify->file = -1;
    pthread_mutex_init(&verify->lock, NULL);
    pthread_cond_init(&verify->ended_changed, NULL);
    enum rbwp_status status = verify_set_up(verify, manager, &item);
    if (status == RBWP_OK) {
        (void)rbwp_work_make_active(manager, item);
        pthread_mutex_lock(&verify->lock);
        while (!verify->ended)
            pthread_cond_wait(&verify->ended_changed, &verify->lock);
        pthread_mutex_unlock(&verify->lock);
        (void)rbwp_work_remove(manager, item);
        *totals_out = verify->totals;
        *error = verify->error;
        status = verify->error.status;
    }
    if (verify->file >= 0)
        close(verify->file);
    (void)inflateEnd(&verify->stream);
    pthread_cond_destroy(&verify->ended_changed);
    pthread_mutex_destroy(&verify->lock);
    free(verify);
    return status;
}
