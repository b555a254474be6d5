/* SPDX-License-Identifier: Apache-2.0 */
/* JSON strings. Nearly all are plain and copied whole; the rest goes one character at a time. */
#include "json_text.h"
#include "plain_text.h"
#include "utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char hex_digits[] = "0123456789abcdef";

static char short_escape(unsigned char byte)
{
    switch (byte) {
    case '"':
    case '\\':
        return (char)byte;
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

/* Of a character of at most 3 bytes; of a byte that is no character its value. */
static unsigned code_point(const unsigned char *bytes, size_t length)
{
    if (length < 2)
        return bytes[0];
    if (length == 2)
        return (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3fu);
    return (bytes[0] & 0xfu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
}

static char *put_unicode(char *at, unsigned code)
{
    *at++ = '\\';
    *at++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *at++ = hex_digits[code >> shift & 15];
    return at;
}

/* Writes the character at bytes, at most 6 bytes of text. Sets *taken to its length. */
static char *put_char(char *at, const unsigned char *bytes, size_t count, size_t *taken)
{
    size_t length = utf8_length(bytes, count);
    *taken = length ? length : 1;
    char escape = short_escape(bytes[0]);
    if (escape) {
        *at++ = '\\';
        *at++ = escape;
        return at;
    }
    if (length == 0 || utf8_is_control(bytes, length))
        return put_unicode(at, code_point(bytes, length));
    memcpy(at, bytes, length);
    return at + length;
}

bool json_is_plain(const char *text, size_t count)
{
    static const char special[3] = {'"', '\\', '\\'};
    return text_is_plain(text, count, special);
}

static void plain_string(struct out *out, const char *text, size_t count)
{
    out_bytes(out, "\"", 1);
    if (count) /* what a trailer does not say has no text: NULL */
        out_bytes(out, text, count);
    out_bytes(out, "\"", 1);
}

static void escaped_string(struct out *out, const char *text, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)text;
    out_bytes(out, "\"", 1);
    for (size_t at = 0, taken; at < count; at += taken)
        out_end(out, put_char(out_room(out, 6), bytes + at, count - at, &taken));
    out_bytes(out, "\"", 1);
}

void json_string(struct out *out, const char *text, size_t count)
{
    if (json_is_plain(text, count))
        plain_string(out, text, count);
    else
        escaped_string(out, text, count);
}

void json_hex(struct out *out, const char *text, size_t count)
{
    out_bytes(out, "\"", 1);
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)text[i];
        char *at = out_room(out, 2);
        at[0] = hex_digits[byte >> 4];
        at[1] = hex_digits[byte & 15];
        out_end(out, at + 2);
    }
    out_bytes(out, "\"", 1);
}

void json_name(struct out *out, const char *key, const char *text, size_t count)
{
    json_key(out, key);
    if (json_is_plain(text, count)) {
        plain_string(out, text, count);
        return;
    }
    escaped_string(out, text, count);
    if (utf8_valid(text, count))
        return;
    out_text(out, ",\"");
    out_text(out, key);
    out_text(out, "_hex\":");
    json_hex(out, text, count);
}

void json_plain(struct out *out, const char *key, const char *value)
{
    json_key(out, key);
    json_string(out, value, strlen(value));
}

void json_f64(struct out *out, double value)
{
    char text[40];
    if (!isfinite(value)) {
        out_text(out, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    /* As few digits as read back to the same. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    out_text(out, text);
    if (!strpbrk(text, ".e"))
        out_text(out, ".0");
}
