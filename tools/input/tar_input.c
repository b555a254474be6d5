/* SPDX-License-Identifier: Apache-2.0 */
/* There is one standard input, so there is one archive. */
#include "tar_input.h"
#include "grow.h"
#include "input_folder.h"
#include "message.h"
#include "rbwp_format.h"
#include "tar_members.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 64 << 10 };

struct file {
    char *word;
    uint64_t offset, bytes;
};

static struct {
    int fd; /* valid if there is a file */
    struct file *files;
    size_t count, room;
} archive;

/* ---- is it one? --------------------------------------------------------------------------- */

/* Bytes of a pipe that stay in it. Less than a block are looked at once: who writes an archive
 * writes blocks. */
static size_t peek_pipe(int fd, uint8_t *head)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    ssize_t count = tee(fd, ends[1], TAR_BLOCK_BYTES, 0);
    size_t bytes = count > 0 && read(ends[0], head, (size_t)count) == count ? (size_t)count : 0;
    close(ends[0]);
    close(ends[1]);
    return bytes;
}

bool tar_is(int fd)
{
    struct stat status;
    uint8_t head[TAR_BLOCK_BYTES];
    size_t bytes = 0;
    if (fstat(fd, &status) != 0)
        return false;
    if (S_ISREG(status.st_mode)) {
        off_t at = lseek(fd, 0, SEEK_CUR);
        bytes = at >= 0 && read_all_at(fd, head, sizeof head, (uint64_t)at) ? sizeof head : 0;
    } else if (S_ISFIFO(status.st_mode)) {
        bytes = peek_pipe(fd, head);
    }
    return tar_recognises(head, bytes);
}

/* ---- what is in it -------------------------------------------------------------------------- */

static bool tar_input_has_magic(const struct tar_member *member)
{
    char magic[sizeof RBWP_MAGIC - 1];
    return member->bytes >= sizeof magic &&
           read_all_at(archive.fd, magic, sizeof magic, member->offset) &&
           memcmp(magic, RBWP_MAGIC, sizeof magic) == 0;
}

static bool take_member(void *context, const struct tar_member *member)
{
    const char *slash = strrchr(member->name, '/');
    (void)context;
    if (!input_folder_takes(slash ? slash + 1 : member->name))
        return true;
    if (!tar_input_has_magic(member)) {
        message_plain("standard input: %s: skipped: no RBWP file", member->name);
        return true;
    }
    char *word;
    if (!grow_array(&archive.files, &archive.room, archive.count + 1, sizeof *archive.files) ||
        asprintf(&word, "-:%s", member->name) < 0)
        return message_fail("out of memory");
    archive.files[archive.count++] = (struct file){word, member->offset, member->bytes};
    return true;
}

static int by_word(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->word, ((const struct file *)b)->word);
}

static bool list_files(struct operands *files)
{
    const char *why = tar_members(archive.fd, take_member, NULL);
    if (why)
        return message_fail("standard input: the tar archive cannot be read: %s", why);
    if (archive.count == 0)
        return message_fail(
            "standard input: is a tar archive without RBWP files named *.bin or *.rbwa");
    qsort(archive.files, archive.count, sizeof *archive.files, by_word);
    bool good = true;
    for (size_t i = 0; i < archive.count && good; i++) {
        if (i > 0 && by_word(&archive.files[i - 1], &archive.files[i]) == 0)
            return message_fail("standard input: %s is twice in the tar archive",
                                archive.files[i].word + 2);
        good = input_words_copy(files, archive.files[i].word);
    }
    return good;
}

bool tar_input_add(struct operands *files)
{
    struct stat status;
    tar_input_close();
    bool whole = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode) &&
                 lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
    int fd = whole ? dup(STDIN_FILENO) : temporary_copy(STDIN_FILENO, "standard input");
    if (fd < 0) {
        if (whole)
            message("standard input: cannot be read: %s", strerror(errno));
        return false;
    }
    archive.fd = fd;
    bool good = list_files(files);
    if (archive.count == 0)
        close(fd);
    return good;
}

void tar_input_close(void)
{
    if (archive.count > 0)
        close(archive.fd);
    for (size_t i = 0; i < archive.count; i++)
        free(archive.files[i].word);
    free(archive.files);
    archive.files = NULL;
    archive.count = archive.room = 0;
}

/* ---- a file of it -----------------------------------------------------------------------------
 */

static bool tar_input_copy_part(int to, uint64_t offset, uint64_t bytes)
{
    char buffer[COPY_BYTES];
    while (bytes > 0) {
        size_t count = bytes < sizeof buffer ? (size_t)bytes : sizeof buffer;
        if (!read_all_at(archive.fd, buffer, count, offset) || !write_all(to, buffer, count))
            return false;
        offset += count;
        bytes -= count;
    }
    return lseek(to, 0, SEEK_SET) == 0;
}

bool tar_input_file(const char *word, int *fd_out)
{
    const struct file key = {.word = (char *)(uintptr_t)word};
    const struct file *file =
        archive.count ? bsearch(&key, archive.files, archive.count, sizeof key, by_word) : NULL;
    if (!file)
        return false;
    *fd_out = temporary_file();
    if (*fd_out >= 0 && !tar_input_copy_part(*fd_out, file->offset, file->bytes)) {
        message("%s: cannot be copied to a temporary file: %s", word,
                errno ? strerror(errno) : "the archive was cut");
        close(*fd_out);
        *fd_out = -1;
    }
    return true;
}
