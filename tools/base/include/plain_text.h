/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_text.h - is a text plain, so that it can be copied whole? Nearly all names are.
 *
 * Eight bytes a step. Header only: it is asked for each name of each line.
 */
#ifndef PLAIN_TEXT_H
#define PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PLAIN_EACH(byte) (UINT64_C(0x0101010101010101) * (uint64_t)(byte))

/* The upper bit of a byte is set where it is 0 (and perhaps above such a byte). */
static inline uint64_t plain_zeros(uint64_t word)
{
    return (word - PLAIN_EACH(1)) & ~word;
}

/* Of eight bytes; see text_is_plain. */
static inline bool plain_word(const char *bytes, const char special[3])
{
    uint64_t word, found;
    memcpy(&word, bytes, sizeof word);
    found = word | ((word - PLAIN_EACH(0x20)) & ~word); /* beyond ASCII, or control */
    found |= plain_zeros(word ^ PLAIN_EACH(0x7f)) | plain_zeros(word ^ PLAIN_EACH(special[0]));
    found |=
        plain_zeros(word ^ PLAIN_EACH(special[1])) | plain_zeros(word ^ PLAIN_EACH(special[2]));
    return (found & PLAIN_EACH(0x80)) == 0;
}

/* True when it has nothing but printable ASCII, and none of the three special characters. */
static inline bool text_is_plain(const char *text, size_t count, const char special[3])
{
    char last[sizeof(uint64_t)];
    size_t at = 0;
    for (; count - at >= sizeof last; at += sizeof last)
        if (!plain_word(text + at, special))
            return false;
    if (at == count)
        return true;
    if (count >= sizeof last)
        return plain_word(text + count - sizeof last, special);
    memset(last, '0', sizeof last);
    for (size_t i = 0; i < count; i++)
        last[i] = text[i];
    return plain_word(last, special);
}

#endif /* PLAIN_TEXT_H */
