/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.h - strings of any bytes as JSON.
 *
 * Output is always valid JSON in UTF-8. Quotes, backslashes and what a terminal
 * would obey (utf8.h) are escaped; a byte that is no part of valid UTF-8 becomes \u00NN
 * with its value. That alone could be mistaken for the character U+00NN, so a
 * name that is not UTF-8 is followed by a second member KEY_hex with all of
 * its bytes in hexadecimal. Nothing is lost, and ordinary names stay readable.
 */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include "out.h"

/* "text", quotes included. */
void json_string(struct out *out, const char *text, size_t count);
/* It stands in JSON as it is. */
bool json_is_plain(const char *text, size_t count);

/* "KEY":"text", and ,"KEY_hex":"..." if text is not UTF-8. */
void json_name(struct out *out, const char *key, const char *text, size_t count);

/* "KEY":value, with no comma. The key is plain text, a literal: hence inline. */
static inline void json_key(struct out *out, const char *key)
{
    out_bytes(out, "\"", 1);
    out_text(out, key);
    out_bytes(out, "\":", 2);
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
