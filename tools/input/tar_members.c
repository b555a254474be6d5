/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers are walked one after the other. A name or size that does not fit into a header stands in
 * an entry before it: GNU's long name ('L'), or a list of "LENGTH KEY=VALUE\n" (pax, 'x').
 */
#include "tar_members.h"
#include "temporary_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void tar_members_name_of(const struct header *header, char *name, size_t room)
{
    int prefix = memcmp(header->magic, "ustar", 6) == 0
                     ? (int)strnlen(header->prefix, sizeof header->prefix)
                     : 0; /* GNU has other things there */
    snprintf(name, room, "%.*s%s%.*s", prefix, header->prefix, prefix ? "/" : "",
             (int)strnlen(header->name, sizeof header->name), header->name);
}

static bool is_extension(char type)
{
    return type == 'L' || type == 'x' || type == 'K' || type == 'g';
}

static bool take_plain(const struct header *header, struct extension *extension, uint64_t offset,
                       uint64_t bytes, bool (*take)(void *context, const struct tar_member *member),
                       void *context)
{
    if (!extension->has_name)
        tar_members_name_of(header, extension->name, sizeof extension->name);
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
