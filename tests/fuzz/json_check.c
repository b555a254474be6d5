/* SPDX-License-Identifier: Apache-2.0 */
/* json_check.c - a strict reader of JSON (RFC 8259) that only says yes or no. */
#include "json_check.h"

#include "fuzz.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64

struct text {
    const unsigned char *next, *end;
};

static bool take(struct text *text, const char *literal)
{
    size_t count = strlen(literal);
    if ((size_t)(text->end - text->next) < count || memcmp(text->next, literal, count) != 0)
        return false;
    text->next += count;
    return true;
}

static void skip_blanks(struct text *text)
{
    while (text->next < text->end && strchr(" \t\r\n", *text->next) && *text->next)
        text->next++;
}

static size_t take_digits(struct text *text)
{
    const unsigned char *begin = text->next;
    while (text->next < text->end && *text->next >= '0' && *text->next <= '9')
        text->next++;
    return (size_t)(text->next - begin);
}

static bool take_number(struct text *text)
{
    take(text, "-");
    bool zero = take(text, "0");
    if (!zero && take_digits(text) == 0)
        return false;
    if (take(text, ".") && take_digits(text) == 0)
        return false;
    if (take(text, "e") || take(text, "E")) {
        if (!take(text, "-"))
            take(text, "+");
        return take_digits(text) > 0;
    }
    return true;
}

static bool take_escape(struct text *text)
{
    if (text->next == text->end)
        return false;
    unsigned char letter = *text->next++;
    if (letter != 'u')
        return letter && strchr("\"\\/bfnrt", letter);
    if (text->end - text->next < 4)
        return false;
    for (int i = 0; i < 4; i++)
        if (!strchr("0123456789abcdefABCDEF", *text->next) || !*text->next++)
            return false;
    return true;
}

static bool take_string(struct text *text)
{
    if (!take(text, "\""))
        return false;
    while (text->next < text->end && *text->next != '"') {
        if (*text->next < ' ')
            return false;
        if (take(text, "\\")) {
            if (!take_escape(text))
                return false;
            continue;
        }
        size_t length = utf8_length(text->next, (size_t)(text->end - text->next));
        if (length == 0)
            return false;
        text->next += length;
    }
    return take(text, "\"");
}

static bool take_value(struct text *text, int depth);

/* Elements or members up to the bracket. */
static bool take_list(struct text *text, bool members, const char *close, int depth)
{
    skip_blanks(text);
    if (take(text, close))
        return true;
    do {
        skip_blanks(text);
        if (members) {
            if (!take_string(text))
                return false;
            skip_blanks(text);
            if (!take(text, ":"))
                return false;
        }
        if (!take_value(text, depth + 1))
            return false;
        skip_blanks(text);
    } while (take(text, ","));
    return take(text, close);
}

static bool take_value(struct text *text, int depth)
{
    skip_blanks(text);
    if (text->next == text->end || depth > DEPTH_MAX)
        return false;
    switch (*text->next) {
    case '{':
        text->next++;
        return take_list(text, true, "}", depth);
    case '[':
        text->next++;
        return take_list(text, false, "]", depth);
    case '"':
        return take_string(text);
    default:
        return take(text, "true") || take(text, "false") || take(text, "null") || take_number(text);
    }
}

static char *load(int fd, size_t *size_out)
{
    struct stat status;
    REQUIRE(fstat(fd, &status) == 0);
    size_t size = (size_t)status.st_size;
    char *bytes = malloc(size + 1);
    REQUIRE(bytes && pread(fd, bytes, size, 0) == (ssize_t)size);
    *size_out = size;
    return bytes;
}

bool json_file_is_valid(int fd)
{
    size_t size;
    char *bytes = load(fd, &size);
    struct text text = {(unsigned char *)bytes, (unsigned char *)bytes + size};
    bool good = true;
    skip_blanks(&text);
    while (good && text.next < text.end) {
        good = take_value(&text, 0);
        skip_blanks(&text);
    }
    free(bytes);
    return good;
}

bool text_is_visible(const char *text, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t at = 0, length; at < count; at += length) {
        length = utf8_length(bytes + at, count - at);
        bool control = bytes[at] < ' ' || bytes[at] == 0x7f ||
                       (length == 2 && bytes[at] == 0xc2 && bytes[at + 1] < 0xa0);
        if (length == 0 || control)
            return false;
    }
    return true;
}

bool text_file_is_visible(int fd)
{
    size_t size, count;
    char *bytes = load(fd, &size);
    bool good = true;
    for (size_t at = 0; good && at < size; at += count + 1) {
        const char *end = memchr(bytes + at, '\n', size - at);
        count = end ? (size_t)(end - bytes) - at : size - at;
        good = text_is_visible(bytes + at, count);
    }
    free(bytes);
    return good;
}
