/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - the length of one UTF-8 sequence.
 *
 * Names in RBWP files are any bytes. Everything that shows them asks here, so
 * that all agree on what is text (no overlong forms, no surrogates, nothing
 * above U+10FFFF) and on which characters are obeyed instead of shown.
 */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Names of any bytes for formats that want text.
 *
 * Each byte that is no part of valid UTF-8 becomes U+FFFD. What it was is lost
 * there, and names that differ in such bytes alone look alike; dump and the
 * NDJSON export keep them. */

#define UTF8_REPLACEMENT "\xef\xbf\xbd"
enum { UTF8_REPAIR_GROWTH = 3 }; /* a byte becomes at most so many */

/* Writes at most UTF8_REPAIR_GROWTH * count bytes to repaired; how many it were. zero is what
 * stands for a zero byte, at most UTF8_REPAIR_GROWTH bytes; NULL: it stays. */
size_t utf8_repair(const char *text, size_t count, const char *zero, char *repaired);

static inline bool utf8_continues(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Length (1 to 4) of the sequence that bytes begins with, 0 if it is not valid. count is at least
 * 1. */
static inline size_t utf8_length(const unsigned char *bytes, size_t count)
{
    unsigned char first = bytes[0];
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4 || count < 2 || !utf8_continues(bytes[1]))
        return 0;
    if (first < 0xe0)
        return 2;
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (bytes[1] < low || bytes[1] > high || count < 3 || !utf8_continues(bytes[2]))
        return 0;
    if (first < 0xf0)
        return 3;
    return count >= 4 && utf8_continues(bytes[3]) ? 4 : 0;
}

/*
 * True for a character that terminals, editors and spreadsheets obey instead of showing it: C0,
 * DEL, C1, line and paragraph separator, marks and overrides of direction (U+061C, U+200E,
 * U+200F, U+2028 to U+202E, U+2066 to U+2069). length is what utf8_length gave.
 */
static inline bool utf8_is_control(const unsigned char *bytes, size_t length)
{
    if (length == 1)
        return bytes[0] < 0x20 || bytes[0] == 0x7f;
    if (length == 2)
        return (bytes[0] == 0xc2 && bytes[1] < 0xa0) || (bytes[0] == 0xd8 && bytes[1] == 0x9c);
    if (length != 3 || bytes[0] != 0xe2)
        return false;
    if (bytes[1] == 0x80)
        return bytes[2] == 0x8e || bytes[2] == 0x8f || (bytes[2] >= 0xa8 && bytes[2] <= 0xae);
    return bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9;
}

/* How many of the bytes in front are ASCII, in steps of eight. */
static inline size_t utf8_ascii(const char *text, size_t count)
{
    size_t at = 0;
    uint64_t word;
    for (; count - at >= sizeof word; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    return at;
}

/* True when all of it is valid UTF-8. */
static inline bool utf8_valid(const char *text, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t at = utf8_ascii(text, count); at < count;) {
        size_t length = utf8_length(bytes + at, count - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

#endif /* UTF8_H */
