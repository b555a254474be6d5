/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.h - strings of any bytes as JSON.
 *
 * Output is always valid JSON in UTF-8. Quotes, backslashes and what a terminal
 * would obey (utf8.h) are escaped; a byte that is no part of valid UTF-8 becomes \u00NN
 * with its value. That alone could be mistaken for the character U+00NN, so a
 * name that is not UTF-8 is followed by a second member KEY_hex with all of
 * its bytes in hexadecimal. Nothing is lost, and ordinary names stay readable.
 *
 * A member or element that begins where a value has ended gets the comma between them; who wants it
 * on a line of its own writes comma and line feed itself.
 */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include "out.h"

/* "text", quotes included. */
void json_string(struct out *out, const char *text, size_t count);
/* Bytes as a string of hexadecimal digits. */
void json_hex(struct out *out, const char *bytes, size_t count);
/* It stands in JSON as it is. */
bool json_is_plain(const char *text, size_t count);

/* "KEY":"text", and ,"KEY_hex":"..." if text is not UTF-8. */
void json_name(struct out *out, const char *key, const char *text, size_t count);

/* A comma, if a value stands before. */
static inline void json_separate(struct out *out)
{
    const char last = out_last(out);
    if (last == '"' || last == '}' || last == ']' || last == 'e' || last == 'l' ||
        (last >= '0' && last <= '9'))
        out_bytes(out, ",", 1);
}
/* The next element of an array, an object on a line of its own. */
static inline void json_open_line(struct out *out)
{
    json_separate(out);
    out_bytes(out, "\n  {", 4);
}

/* "KEY": to be followed by a value. The key is plain text, a literal: hence inline. */
static inline void json_key(struct out *out, const char *key)
{
    json_separate(out);
    out_bytes(out, "\"", 1);
    out_text(out, key);
    out_bytes(out, "\":", 2);
}
/* "KEY":{ or "KEY":[ */
static inline void json_open(struct out *out, const char *key, char bracket)
{
    json_key(out, key);
    out_bytes(out, &bracket, 1);
}
/* "KEY":null */
static inline void json_null(struct out *out, const char *key)
{
    json_key(out, key);
    out_bytes(out, "null", 4);
}
static inline void json_u64(struct out *out, const char *key, uint64_t value)
{
    json_key(out, key);
    out_u64(out, value);
}
static inline void json_i64(struct out *out, const char *key, int64_t value)
{
    json_key(out, key);
    out_i64(out, value);
}
/* The same; "KEY":null of what is not known. */
static inline void json_known_u64(struct out *out, const char *key, bool known, uint64_t value)
{
    if (known)
        json_u64(out, key, value);
    else
        json_null(out, key);
}
static inline void json_known_i64(struct out *out, const char *key, bool known, int64_t value)
{
    if (known)
        json_i64(out, key, value);
    else
        json_null(out, key);
}
static inline void json_bool(struct out *out, const char *key, bool value)
{
    json_key(out, key);
    out_text(out, value ? "true" : "false");
}
/* A number as JSON has it; what it has not as text: "NaN", "Infinity". */
void json_f64(struct out *out, double value);
/* value is plain text. */
void json_plain(struct out *out, const char *key, const char *value);

#endif /* JSON_TEXT_H */
