/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of raw memory. NumPy's head is a line of Python: {'descr': '<u8', 'fortran_order': False,
 * 'shape': (17,), }, where descr is a list of ('name', '<i4') for records. Of it only what NumPy
 * itself writes is read.
 */
#include "dump_bytes.h"
#include "bytes.h"
#include "message.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- NumPy's head ------------------------------------------------------------ */

struct text {
    const char *at, *end;
};

static void skip_blanks(struct text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == ','))
        text->at++;
}

static bool take_character(struct text *text, char wanted)
{
    skip_blanks(text);
    if (text->at == text->end || *text->at != wanted)
        return false;
    text->at++;
    return true;
}

/* 'word', cut to room. False: there is none. */
static bool dump_bytes_take_word(struct text *text, char *word, size_t room)
{
    if (!take_character(text, '\''))
        return false;
    const char *quote = memchr(text->at, '\'', (size_t)(text->end - text->at));
    if (!quote || (size_t)(quote - text->at) >= room)
        return false;
    memcpy(word, text->at, (size_t)(quote - text->at));
    word[quote - text->at] = '\0';
    text->at = quote + 1;
    return true;
}

static bool dump_bytes_take_number(struct text *text, uint64_t *number_out)
{
    uint64_t number = 0;
    skip_blanks(text);
    const char *from = text->at;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text->at - '0'), &number))
            return false;
    *number_out = number;
    return text->at > from;
}

/* "<u8": bytes of a little-endian integer; 0: another type. */
static uint32_t type_bytes(const char *type)
{
    static const char *const known[] = {"<u8", "<i8", "<u4", "<i4", "|u1", "|i1", "<u2", "<i2"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(type, known[i]) == 0)
            return (uint32_t)(type[2] - '0');
    return 0;
}

static bool take_fields(struct dump_bytes *dump, struct text *text)
{
    char type[16];
    while (take_character(text, '(')) {
        struct dump_field *field = &dump->fields[dump->field_count];
        if (dump->field_count == DUMP_FIELDS_MAX ||
            !dump_bytes_take_word(text, field->name, sizeof field->name) ||
            !dump_bytes_take_word(text, type, sizeof type) || !take_character(text, ')'))
            return false;
        field->bytes = type_bytes(type);
        field->offset = dump->record_bytes;
        dump->record_bytes += field->bytes;
        dump->field_count++;
        if (!field->bytes)
            return false;
    }
    return dump->field_count && take_character(text, ']');
}

static bool take_type(struct dump_bytes *dump, struct text *text)
{
    char type[16];
    if (take_character(text, '['))
        return take_fields(dump, text);
    if (!dump_bytes_take_word(text, type, sizeof type))
        return false;
    dump->record_bytes = type_bytes(type);
    return dump->record_bytes != 0;
}

/* How many elements. */
static bool take_shape(struct text *text, uint64_t *count_out)
{
    uint64_t number, count = 1;
    if (!take_character(text, '('))
        return false;
    while (dump_bytes_take_number(text, &number))
        if (__builtin_mul_overflow(count, number, &count))
            return false;
    *count_out = count;
    return take_character(text, ')');
}

/* The line of Python. */
static const char *read_line(struct dump_bytes *dump, struct text text, uint64_t *elements)
{
    char key[32];
    static const char no_order[] = "False";
    if (!take_character(&text, '{'))
        return "its head is no dictionary";
    for (*elements = 0; dump_bytes_take_word(&text, key, sizeof key);) {
        bool good = take_character(&text, ':');
        skip_blanks(&text);
        if (good && strcmp(key, "descr") == 0)
            good = take_type(dump, &text);
        else if (good && strcmp(key, "shape") == 0)
            good = take_shape(&text, elements);
        else if (good && (size_t)(text.end - text.at) >= sizeof no_order - 1 &&
                 memcmp(text.at, no_order, sizeof no_order - 1) == 0)
            text.at += sizeof no_order - 1;
        else
            return "it is in Fortran's order, or damaged; save it with numpy.ascontiguousarray";
        if (!good)
            return "its elements are neither little-endian integers nor records of them";
    }
    return dump->record_bytes ? NULL : "its head says no type";
}

bool dump_bytes_take(struct dump_bytes *dump, const uint8_t *bytes, size_t count,
                     const char **reason_out)
{
    uint64_t elements, wanted;
    dump->bytes = bytes;
    dump->count = count;
    if (count < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return true;
    size_t head = bytes[6] == 1 ? 10 : 12;
    *reason_out = "it is cut inside its head";
    if (count < head)
        return false;
    size_t length = bytes[6] == 1 ? load_le16(bytes + 8) : load_le32(bytes + 8);
    if (length > count - head)
        return false;
    dump->is_numpy = true;
    const char *text = (const char *)bytes + head;
    *reason_out = read_line(dump, (struct text){text, text + length}, &elements);
    if (*reason_out)
        return false;
    dump->bytes = bytes + head + length;
    dump->count = count - head - length;
    dump->cut =
        __builtin_mul_overflow(elements, dump->record_bytes, &wanted) || wanted > dump->count;
    if (!dump->cut)
        dump->count = (size_t)wanted;
    return true;
}

/* ---- files -------------------------------------------------------------------- */

bool dump_bytes_read(struct dump_bytes *dump, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t count = 0;
    const char *reason = NULL;
    *dump = (struct dump_bytes){.name = is_stdin ? "standard input" : path};
    bool good = fd >= 0 && (dump->memory = (uint8_t *)read_to_end(fd, SIZE_MAX, &count));
    if (!good)
        message("%s: cannot be read: %s", dump->name, strerror(errno));
    if (fd >= 0 && !is_stdin)
        close(fd);
    if (good && !dump_bytes_take(dump, dump->memory, count, &reason)) {
        message("%s: is a NumPy file, but %s", dump->name, reason);
        good = false;
    }
    if (!good)
        dump_bytes_free(dump);
    return good;
}

void dump_bytes_free(struct dump_bytes *dump)
{
    free(dump->memory);
    *dump = (struct dump_bytes){0};
}
