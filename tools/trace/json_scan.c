/* SPDX-License-Identifier: Apache-2.0 */
/* A scanner with a stack of one flag a level. */
#include "json_scan.h"

#include <inttypes.h>
#include <stdio.h>

bool json_scan_start(struct json_scan *scan, int fd)
{
    *scan = (struct json_scan){0};
    return unpack_start(&scan->bytes, fd);
}

void json_scan_stop(struct json_scan *scan)
{
    unpack_stop(&scan->bytes);
}

static enum json_token json_scan_wrong(struct json_scan *scan, const char *what)
{
    if (!*scan->problem)
        snprintf(scan->problem, sizeof scan->problem, "%s at byte %" PRIu64, what,
                 unpack_offset(&scan->bytes));
    return JSON_END;
}

static enum json_token end_of_text(struct json_scan *scan)
{
    scan->open_ended = scan->depth > 0;
    if (scan->bytes.problem && !*scan->problem)
        snprintf(scan->problem, sizeof scan->problem, "%s", scan->bytes.problem);
    return JSON_END;
}

/* The next byte that is not blank, not taken; -1 at the end. */
static int peek_solid(struct json_scan *scan)
{
    for (;;) {
        int byte = unpack_peek(&scan->bytes);
        if (byte != ' ' && byte != '\n' && byte != '\t' && byte != '\r')
            return byte;
        scan->bytes.next++;
    }
}

/* ---- strings --------------------------------------------------------------------- */

static void put_byte(struct json_scan *scan, unsigned byte)
{
    if (scan->text_bytes < JSON_TEXT_MAX)
        scan->text[scan->text_bytes++] = (char)byte;
    else
        scan->text_cut = true;
}

static void put_utf8(struct json_scan *scan, uint32_t code)
{
    if (scan->text_bytes + 4 > JSON_TEXT_MAX) {
        scan->text_cut = true;
        return;
    }
    if (code < 0x80) {
        put_byte(scan, code);
        return;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    put_byte(scan, (0xff00u >> (more + 1) & 0xff) | code >> 6 * more);
    while (more-- > 0)
        put_byte(scan, 0x80 | (code >> 6 * more & 0x3f));
}

static int hex_digit(int byte)
{
    return byte >= '0' && byte <= '9'                     ? byte - '0'
           : (byte | 0x20) >= 'a' && (byte | 0x20) <= 'f' ? (byte | 0x20) - 'a' + 10
                                                          : -1;
}

/* Four digits; -1 if they are not. */
static int32_t hex_number(struct json_scan *scan)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(unpack_peek(&scan->bytes));
        if (digit < 0)
            return -1;
        scan->bytes.next++;
        code = code << 4 | digit;
    }
    return code;
}

static bool put_named(struct json_scan *scan, int byte)
{
    static const char named[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const char *found = byte > 0 ? strchr(named, byte) : NULL;
    if (found)
        put_byte(scan, (unsigned char)bytes[found - named]);
    return found;
}

/* Behind \u. Half of a pair alone becomes the replacement character. */
static bool read_unicode(struct json_scan *scan)
{
    int32_t code = hex_number(scan);
    if (code >= 0xd800 && code < 0xdc00 && unpack_peek(&scan->bytes) == '\\') {
        scan->bytes.next++;
        int byte = unpack_byte(&scan->bytes);
        int32_t low = byte == 'u' ? hex_number(scan) : 0;
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else {
            put_utf8(scan, 0xfffd);
            if (byte != 'u')
                return put_named(scan, byte);
            code = low;
        }
    }
    if (code < 0)
        return false;
    put_utf8(scan, code >= 0xd800 && code < 0xe000 ? 0xfffd : (uint32_t)code);
    return true;
}

static bool read_escape(struct json_scan *scan)
{
    int byte = unpack_byte(&scan->bytes);
    return byte == 'u' ? read_unicode(scan) : put_named(scan, byte);
}

/* Behind the opening quote. Control characters, which writers forget to escape, are let pass. */
static bool read_string(struct json_scan *scan)
{
    scan->text_bytes = 0;
    scan->text_cut = false;
    for (int byte; (byte = unpack_byte(&scan->bytes)) != '"';) {
        if (byte < 0)
            return false;
        if (byte != '\\')
            put_byte(scan, (unsigned)byte);
        else if (!read_escape(scan))
            return false;
    }
    return true;
}

/* ---- values ---------------------------------------------------------------------- */

static enum json_token ended(struct json_scan *scan, enum json_token token)
{
    scan->value_ended = true;
    scan->key_ended = false;
    return token;
}

static enum json_token open_level(struct json_scan *scan, bool object)
{
    if (scan->depth == JSON_DEPTH_MAX)
        return json_scan_wrong(scan, "values are nested too deep");
    scan->in_object[scan->depth++] = object;
    scan->value_ended = scan->key_ended = false;
    return object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token close_level(struct json_scan *scan, bool object)
{
    if (scan->depth == 0 || scan->in_object[scan->depth - 1] != object || scan->key_ended)
        return json_scan_wrong(scan, "a bracket closes what is not open");
    scan->depth--;
    return ended(scan, object ? JSON_OBJECT_END : JSON_ARRAY_END);
}

/* Digits and letters up to what can follow a value; true, NaN and -1e5 alike. */
static enum json_token read_plain(struct json_scan *scan, int first)
{
    bool number = first == '-' || (first >= '0' && first <= '9');
    scan->text_bytes = 0;
    scan->text_cut = false;
    for (;;) {
        int byte = unpack_peek(&scan->bytes);
        bool part = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                    (byte >= 'A' && byte <= 'Z') || byte == '.' || byte == '-' || byte == '+';
        if (!part)
            break;
        put_byte(scan, (unsigned)byte);
        scan->bytes.next++;
    }
    if (scan->text_bytes == 0)
        return json_scan_wrong(scan, "a character that begins no value");
    if (unpack_peek(&scan->bytes) < 0)
        return end_of_text(scan); /* more of it may be missing */
    return ended(scan, number ? JSON_NUMBER : JSON_WORD);
}

static enum json_token read_key(struct json_scan *scan, int byte)
{
    if (byte != '"')
        return json_scan_wrong(scan, "a member without a name");
    scan->bytes.next++;
    if (!read_string(scan))
        return unpack_peek(&scan->bytes) < 0 ? end_of_text(scan)
                                             : json_scan_wrong(scan, "a broken string");
    int colon = peek_solid(scan);
    if (colon < 0)
        return end_of_text(scan);
    if (colon != ':')
        return json_scan_wrong(scan, "a name without its value");
    scan->bytes.next++;
    scan->key_ended = true;
    return JSON_KEY;
}

static enum json_token read_value(struct json_scan *scan, int byte)
{
    if (byte == '"') {
        scan->bytes.next++;
        if (read_string(scan))
            return ended(scan, JSON_TEXT);
        return unpack_peek(&scan->bytes) < 0 ? end_of_text(scan)
                                             : json_scan_wrong(scan, "a broken string");
    }
    if (byte != '{' && byte != '[')
        return read_plain(scan, byte);
    scan->bytes.next++;
    return open_level(scan, byte == '{');
}

enum json_token json_scan_next(struct json_scan *scan)
{
    int byte = peek_solid(scan);
    if (*scan->problem)
        return JSON_END;
    if (byte == ',' && scan->value_ended && scan->depth) {
        scan->bytes.next++;
        scan->value_ended = false;
        byte = peek_solid(scan);
    }
    if (byte < 0)
        return end_of_text(scan);
    if (byte == '}' || byte == ']') {
        scan->bytes.next++;
        return close_level(scan, byte == '}');
    }
    if (scan->value_ended)
        return json_scan_wrong(scan,
                               scan->depth ? "no comma between two values" : "something follows");
    if (scan->depth && scan->in_object[scan->depth - 1] && !scan->key_ended)
        return read_key(scan, byte);
    return read_value(scan, byte);
}

void json_scan_skip(struct json_scan *scan, enum json_token token)
{
    if (token != JSON_OBJECT && token != JSON_ARRAY)
        return;
    uint32_t depth = scan->depth - 1;
    while (scan->depth > depth && json_scan_next(scan) != JSON_END)
        continue;
}
