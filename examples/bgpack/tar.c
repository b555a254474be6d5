/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.c - tar headers, out and in: ustar with pax records for what ustar cannot hold.
 *
 * A name that does not fit in 100 bytes, and a number that does not fit in its
 * octal field, goes into a pax header before the member's own. The reader
 * knows what this writer writes, plus the prefix field of ustar.
 */
#include "tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Places of the ustar header. */
enum {
    NAME = 0,
    NAME_BYTES = 100,
    MODE = 100,
    USER = 108,
    GROUP = 116,
    ID_BYTES = 8,
    SIZE = 124,
    TIME = 136,
    SIZE_BYTES = 12,
    CHECKSUM = 148,
    TYPE = 156,
    LINK = 157,
    MAGIC = 257,
    MAJOR = 329,
    MINOR = 337,
    PREFIX = 345,
    PREFIX_BYTES = 155
};

#define ID_MAX 07777777u
#define SIZE_MAX_OCTAL 077777777777u

/* ---- out ---------------------------------------------------------------------- */

static void put_octal(uint8_t *block, unsigned at, unsigned field_bytes, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%0*llo", (int)field_bytes - 1, (unsigned long long)value);
    memcpy(block + at, text, field_bytes);
}

static unsigned checksum(const uint8_t block[TAR_BLOCK_BYTES])
{
    unsigned sum = 0;
    for (unsigned i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += i >= CHECKSUM && i < CHECKSUM + 8 ? ' ' : block[i];
    return sum;
}

static void put_text(uint8_t *block, unsigned at, const char *text)
{
    const size_t length = strlen(text);
    memcpy(block + at, text, length < NAME_BYTES ? length : NAME_BYTES);
}

static void put_block(uint8_t block[TAR_BLOCK_BYTES], const struct tar_member *member, char type)
{
    memset(block, 0, TAR_BLOCK_BYTES);
    put_text(block, NAME, member->path);
    put_text(block, LINK, member->link);
    put_octal(block, MODE, ID_BYTES, member->mode);
    put_octal(block, USER, ID_BYTES, member->user <= ID_MAX ? member->user : 0);
    put_octal(block, GROUP, ID_BYTES, member->group <= ID_MAX ? member->group : 0);
    put_octal(block, SIZE, SIZE_BYTES, member->bytes <= SIZE_MAX_OCTAL ? member->bytes : 0);
    const bool time_fits =
        member->modified_s >= 0 && (uint64_t)member->modified_s <= SIZE_MAX_OCTAL;
    put_octal(block, TIME, SIZE_BYTES, time_fits ? (uint64_t)member->modified_s : 0);
    block[TYPE] = (uint8_t)type;
    memcpy(block + MAGIC, "ustar\00000", 8);
    put_octal(block, MAJOR, ID_BYTES, member->major & ID_MAX);
    put_octal(block, MINOR, ID_BYTES, member->minor & ID_MAX);
    char sum[8];
    snprintf(sum, sizeof sum, "%06o", checksum(block));
    memcpy(block + CHECKSUM, sum, 7);
    block[CHECKSUM + 7] = ' ';
}

/* A pax record is "LENGTH KEY=VALUE\n", and LENGTH counts itself. */
static size_t put_record(char *out, const char *key, const char *value)
{
    const size_t rest = strlen(key) + strlen(value) + 3;
    size_t length = rest + 1;
    for (size_t digits = 1, limit = 10; length >= limit; limit *= 10)
        length = rest + ++digits;
    return (size_t)sprintf(out, "%zu %s=%s\n", length, key, value);
}

static size_t put_number_record(char *out, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return put_record(out, key, text);
}

static size_t put_records(const struct tar_member *member, char *out)
{
    size_t count = 0;
    if (strlen(member->path) > NAME_BYTES)
        count += put_record(out + count, "path", member->path);
    if (strlen(member->link) > NAME_BYTES)
        count += put_record(out + count, "linkpath", member->link);
    if (member->user > ID_MAX)
        count += put_number_record(out + count, "uid", (int64_t)member->user);
    if (member->group > ID_MAX)
        count += put_number_record(out + count, "gid", (int64_t)member->group);
    if (member->bytes > SIZE_MAX_OCTAL)
        count += put_number_record(out + count, "size", (int64_t)member->bytes);
    if (member->modified_s < 0 || (uint64_t)member->modified_s > SIZE_MAX_OCTAL)
        count += put_number_record(out + count, "mtime", member->modified_s);
    return count;
}

size_t tar_write_headers(const struct tar_member *member, uint8_t out[TAR_HEADER_BYTES_MAX])
{
    size_t at = 0;
    const size_t records = put_records(member, (char *)out + TAR_BLOCK_BYTES);
    if (records > 0) {
        const struct tar_member pax = {.path = "././@PaxHeader", .mode = 0644, .bytes = records};
        put_block(out, &pax, 'x');
        memset(out + TAR_BLOCK_BYTES + records, 0, tar_padding(records));
        at = TAR_BLOCK_BYTES + records + tar_padding(records);
    }
    put_block(out + at, member, (char)member->type);
    return at + TAR_BLOCK_BYTES;
}

/* ---- in ----------------------------------------------------------------------- */

static uint64_t get_octal(const uint8_t *block, unsigned at, unsigned field_bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < field_bytes && block[at + i] >= '0' && block[at + i] <= '7'; i++)
        value = value * 8 + (uint64_t)(block[at + i] - '0');
    return value;
}

static void get_name(const uint8_t *block, char *path)
{
    const char *name = (const char *)block + NAME, *prefix = (const char *)block + PREFIX;
    if (prefix[0])
        snprintf(path, TAR_PATH_BYTES_MAX, "%.*s/%.*s", PREFIX_BYTES, prefix, NAME_BYTES, name);
    else
        snprintf(path, TAR_PATH_BYTES_MAX, "%.*s", NAME_BYTES, name);
}

static const char *apply_record(struct tar_member *member, const char *key, const char *value,
                                size_t value_bytes)
{
    char *text = strcmp(key, "path") == 0       ? member->path
                 : strcmp(key, "linkpath") == 0 ? member->link
                                                : NULL;
    if (text) {
        if (value_bytes >= TAR_PATH_BYTES_MAX)
            return "a name is longer than 4095 bytes";
        memcpy(text, value, value_bytes);
        text[value_bytes] = 0;
        return NULL;
    }
    const long long number = strtoll(value, NULL, 10); /* ends at the newline */
    if (strcmp(key, "size") == 0)
        member->bytes = (uint64_t)number;
    else if (strcmp(key, "uid") == 0)
        member->user = (uint64_t)number;
    else if (strcmp(key, "gid") == 0)
        member->group = (uint64_t)number;
    else if (strcmp(key, "mtime") == 0)
        member->modified_s = number;
    return NULL;
}

static const char *apply_records(struct tar_reader *reader)
{
    char *at = reader->pax, *const end = reader->pax + reader->pax_bytes;
    *end = 0;
    while (at < end) {
        char *key;
        const unsigned long length = strtoul(at, &key, 10);
        if (length < 5 || length > (size_t)(end - at) || *key != ' ' || at[length - 1] != '\n')
            return "a pax record is malformed";
        char *equals = memchr(key, '=', (size_t)(at + length - key));
        if (!equals)
            return "a pax record has no value";
        *equals = 0;
        const char *reason = apply_record(&reader->member, key + 1, equals + 1,
                                          (size_t)(at + length - 1 - (equals + 1)));
        if (reason)
            return reason;
        at += length;
    }
    reader->pax_bytes = 0;
    return NULL;
}

static bool known_type(uint8_t type)
{
    return type != 0 && strchr("023456x", type);
}

static enum tar_event take_header(struct tar_reader *reader, const char **reason_out)
{
    const uint8_t *block = reader->block;
    if (get_octal(block, CHECKSUM, 7) != checksum(block)) {
        *reason_out = "a header's checksum is wrong";
        return TAR_BAD;
    }
    if (!known_type(block[TYPE])) {
        *reason_out = "a member is of a type that bgpack does not write";
        return TAR_BAD;
    }
    reader->data_left = get_octal(block, SIZE, SIZE_BYTES);
    reader->data_is_pax = block[TYPE] == 'x';
    if (reader->data_is_pax) {
        reader->padding_left = tar_padding(reader->data_left);
        *reason_out = "a pax header is larger than bgpack writes";
        return reader->data_left < sizeof reader->pax - reader->pax_bytes ? TAR_MORE : TAR_BAD;
    }
    struct tar_member *const member = &reader->member;
    *member = (struct tar_member){.type = (enum tar_type)block[TYPE]};
    get_name(block, member->path);
    snprintf(member->link, sizeof member->link, "%.*s", NAME_BYTES, (const char *)block + LINK);
    member->mode = (uint32_t)get_octal(block, MODE, ID_BYTES);
    member->user = get_octal(block, USER, ID_BYTES);
    member->group = get_octal(block, GROUP, ID_BYTES);
    member->bytes = reader->data_left;
    member->modified_s = (int64_t)get_octal(block, TIME, SIZE_BYTES);
    member->major = (uint32_t)get_octal(block, MAJOR, ID_BYTES);
    member->minor = (uint32_t)get_octal(block, MINOR, ID_BYTES);
    *reason_out = apply_records(reader);
    reader->data_left = member->bytes;
    reader->padding_left = tar_padding(member->bytes);
    reader->member_open = true;
    return *reason_out ? TAR_BAD : TAR_MEMBER;
}

static struct tar_piece take(struct tar_piece *input, uint64_t most)
{
    const struct tar_piece taken = {.bytes = input->bytes,
                                    .count = input->count < most ? input->count : (size_t)most};
    input->bytes += taken.count;
    input->count -= taken.count;
    return taken;
}

static enum tar_event take_data(struct tar_reader *reader, struct tar_piece *input,
                                struct tar_piece *data_out)
{
    const struct tar_piece taken = take(input, reader->data_left);
    reader->data_left -= taken.count;
    if (!reader->data_is_pax) {
        *data_out = taken;
        return TAR_DATA;
    }
    memcpy(reader->pax + reader->pax_bytes, taken.bytes, taken.count);
    reader->pax_bytes += taken.count;
    return TAR_MORE;
}

/* Collects a block; TAR_MORE while it is not whole, or was a block of zeros. */
static enum tar_event take_block(struct tar_reader *reader, struct tar_piece *input,
                                 const char **reason_out)
{
    static const uint8_t zeros[TAR_BLOCK_BYTES];
    const struct tar_piece taken = take(input, TAR_BLOCK_BYTES - reader->block_bytes);
    memcpy(reader->block + reader->block_bytes, taken.bytes, taken.count);
    reader->block_bytes += taken.count;
    if (reader->block_bytes < TAR_BLOCK_BYTES)
        return TAR_MORE;
    reader->block_bytes = 0;
    if (memcmp(reader->block, zeros, sizeof zeros) == 0)
        return ++reader->zero_blocks == 2 ? TAR_END : TAR_MORE;
    reader->zero_blocks = 0;
    return take_header(reader, reason_out);
}

enum tar_event tar_read(struct tar_reader *reader, struct tar_piece *input,
                        struct tar_piece *data_out, const char **reason_out)
{
    if (reader->zero_blocks == 2)
        return TAR_END;
    enum tar_event event = TAR_MORE;
    while (event == TAR_MORE) {
        if (reader->member_open && reader->data_left == 0) {
            reader->member_open = false;
            return TAR_DONE;
        }
        if (input->count == 0)
            return TAR_MORE;
        if (reader->data_left > 0)
            event = take_data(reader, input, data_out);
        else if (reader->padding_left > 0)
            reader->padding_left -= take(input, reader->padding_left).count;
        else
            event = take_block(reader, input, reason_out);
    }
    return event;
}
