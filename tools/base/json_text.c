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
    if (count) /* what a trailer does not tell has no text: NULL */
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

static void hex_string(struct out *out, const char *text, size_t count)
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
    hex_string(out, text, count);
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

/* ---- structs ---------------------------------------------------------------------------- */

static void json_field(struct out *out, const struct field *field, const void *from)
{
    const uint64_t number = field_number(field, from);
    char key[64];
    switch (field->type) {
    case FIELD_TEXT:
        json_name(out, field->key, member_pointer(from, field->text), (size_t)number);
        break;
    case FIELD_BYTES:
        json_key(out, field->key);
        hex_string(out, (const char *)from + field->member, field->bytes);
        break;
    case FIELD_SIGNED:
        json_i64(out, field->key, (int64_t)number);
        break;
    default:
        json_u64(out, field->key, number);
    }
    if (field->value_name) {
        snprintf(key, sizeof key, "%s_name", field->key);
        json_plain(out, key, field->value_name((unsigned)number));
    }
}

void json_members(struct out *out, const struct layout *layout, const void *from)
{
    for (size_t i = 0; i < layout->count; i++)
        if (layout->fields[i].key)
            json_field(out, &layout->fields[i], from);
}

void json_elements(struct out *out, const struct layout *layout, const void *from,
                   size_t element_bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_open_line(out);
        json_members(out, layout, (const char *)from + i * element_bytes);
        out_text(out, "}");
    }
}

void json_array(struct out *out, const char *key, const struct layout *layout, const void *from,
                size_t element_bytes, size_t count)
{
    json_open(out, key, '[');
    json_elements(out, layout, from, element_bytes, count);
    out_text(out, "]");
}
