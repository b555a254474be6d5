/* SPDX-License-Identifier: Apache-2.0 */
/* There is one standard input, so there is one archive. */
#include "tar_input.h"
#include "grow.h"
#include "input_folder.h"
#include "message.h"
#include "rbwp_format.h"
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

/* ---- tar members ----------------------------------------------------------------------------- */
/*
 * Headers are walked one after the other. A name or size that does not fit into a header stands in
 * an entry before it: GNU's long name ('L'), or a list of "LENGTH KEY=VALUE\n" (pax, 'x').
 */

enum { EXTENSION_BYTES_MAX = 64 << 10 };

/* As it lies in the file. */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
    char type;
    char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155];
    char unused[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK_BYTES, "a header is a block");

/* What an entry said of the next one. */
struct extension {
    bool has_name, has_size;
    char name[TAR_NAME_BYTES_MAX];
    uint64_t bytes;
};

/* ---- numbers --------------------------------------------------------------------------- */

/* Octal digits; or, where the first bit is set, the bytes of a number (GNU). */
static bool tar_members_number(const char *field, size_t bytes, uint64_t *number_out)
{
    uint64_t value = (unsigned char)field[0] & 0x80 ? (unsigned char)field[0] & 0x7f : 0;
    size_t at = value || (unsigned char)field[0] & 0x80 ? 1 : 0;
    bool binary = at == 1;
    while (!binary && at < bytes && field[at] == ' ')
        at++;
    for (; at < bytes && (binary || (field[at] >= '0' && field[at] <= '7')); at++) {
        if (value >> (binary ? 55 : 60))
            return false;
        value = binary ? value << 8 | (unsigned char)field[at]
                       : value << 3 | (uint64_t)(field[at] - '0');
    }
    *number_out = value;
    return binary || at == bytes || field[at] == ' ' || field[at] == '\0';
}

static bool tar_members_sum_is_right(const uint8_t *head)
{
    struct header header;
    uint64_t said, sum = 0;
    memcpy(&header, head, sizeof header);
    if (!tar_members_number(header.sum, sizeof header.sum, &said))
        return false;
    for (size_t i = 0; i < sizeof header; i++) {
        bool of_sum = i >= offsetof(struct header, sum) &&
                      i < offsetof(struct header, sum) + sizeof header.sum;
        sum += of_sum ? ' ' : head[i];
    }
    return sum == said;
}

bool tar_recognises(const uint8_t *head, size_t bytes)
{
    return bytes >= TAR_BLOCK_BYTES &&
           memcmp(head + offsetof(struct header, magic), "ustar", 5) == 0 &&
           tar_members_sum_is_right(head);
}

/* ---- what stands before a header ------------------------------------------------------- */

static void tar_members_on_record(struct extension *extension, const char *key, size_t key_bytes,
                                  const char *value, size_t bytes)
{
    if (key_bytes == 4 && memcmp(key, "path", 4) == 0 && bytes < sizeof extension->name) {
        memcpy(extension->name, value, bytes);
        extension->name[bytes] = '\0';
        extension->has_name = true;
    } else if (key_bytes == 4 && memcmp(key, "size", 4) == 0) {
        extension->bytes = 0;
        extension->has_size = bytes > 0 && bytes < 19;
        for (size_t i = 0; i < bytes && extension->has_size; i++) {
            extension->has_size = value[i] >= '0' && value[i] <= '9';
            extension->bytes = extension->bytes * 10 + (uint64_t)(value[i] - '0');
        }
    }
}

/* False: it is no such list. */
static bool take_records(struct extension *extension, const char *list, size_t bytes)
{
    while (bytes > 0) {
        size_t length = 0, digits = 0;
        for (; digits < bytes && digits < 7 && list[digits] >= '0' && list[digits] <= '9'; digits++)
            length = length * 10 + (size_t)(list[digits] - '0');
        const char *equals = digits < bytes ? memchr(list + digits, '=', bytes - digits) : NULL;
        if (length > bytes || length < digits + 2 || list[digits] != ' ' || !equals ||
            equals >= list + length)
            return false;
        const char *key = list + digits + 1, *value = equals + 1;
        tar_members_on_record(extension, key, (size_t)(equals - key), value,
                              (size_t)(list + length - value) - (value < list + length));
        list += length;
        bytes -= length;
    }
    return true;
}

static bool take_extension(struct extension *extension, int fd, char type, uint64_t offset,
                           uint64_t bytes)
{
    char *list = bytes <= EXTENSION_BYTES_MAX ? malloc((size_t)bytes + 1) : NULL;
    bool good = list && read_all_at(fd, list, (size_t)bytes, offset);
    if (good && type == 'L') {
        list[bytes] = '\0';
        size_t name_bytes = strlen(list);
        good = name_bytes < sizeof extension->name;
        if (good)
            memcpy(extension->name, list, name_bytes + 1);
        extension->has_name = good;
    } else if (good) {
        good = take_records(extension, list, (size_t)bytes);
    }
    free(list);
    return good;
}

/* ---- the walk ---------------------------------------------------------------------------- */

static bool is_extension(char type)
{
    return type == 'L' || type == 'x' || type == 'K' || type == 'g';
}

static bool take_plain(const struct header *header, struct extension *extension, uint64_t offset,
                       uint64_t bytes, bool (*take)(void *context, const struct tar_member *member),
                       void *context)
{
    if (!extension->has_name) {
        int prefix = memcmp(header->magic, "ustar", 6) == 0
                         ? (int)strnlen(header->prefix, sizeof header->prefix)
                         : 0; /* GNU has other things there */
        snprintf(extension->name, sizeof extension->name, "%.*s%s%.*s", prefix, header->prefix,
                 prefix ? "/" : "", (int)strnlen(header->name, sizeof header->name), header->name);
    }
    struct tar_member member = {extension->name, offset, bytes};
    return (header->type != '0' && header->type != '\0') || take(context, &member);
}

const char *tar_members(int fd, bool (*take)(void *context, const struct tar_member *member),
                        void *context)
{
    static const uint8_t end[TAR_BLOCK_BYTES];
    uint8_t head[TAR_BLOCK_BYTES];
    struct header header;
    struct extension extension = {0};
    off_t size = lseek(fd, 0, SEEK_END);
    for (uint64_t at = 0, members = 0; at + sizeof head <= (uint64_t)size; members++) {
        uint64_t bytes, offset = at + sizeof head;
        if (!read_all_at(fd, head, sizeof head, at))
            return errno ? strerror(errno) : "it was cut while it was read";
        if (memcmp(head, end, sizeof end) == 0)
            return NULL;
        memcpy(&header, head, sizeof header);
        if (!tar_members_sum_is_right(head) ||
            !tar_members_number(header.size, sizeof header.size, &bytes))
            return "a header in it is damaged";
        if (extension.has_size && !is_extension(header.type))
            bytes = extension.bytes;
        if (bytes > (uint64_t)size - offset)
            return "it is cut";
        if (members == TAR_MEMBERS_MAX)
            return "it has too many files";
        if (header.type == 'L' || header.type == 'x') {
            if (!take_extension(&extension, fd, header.type, offset, bytes))
                return "a long name in it is damaged";
        } else if (!is_extension(header.type)) {
            if (!take_plain(&header, &extension, offset, bytes, take, context))
                return "stopped";
            extension.has_name = extension.has_size = false;
        }
        at = offset + (bytes + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
    }
    return "it is cut"; /* an archive ends in blocks of zeros */
}
