/* SPDX-License-Identifier: Apache-2.0 */
/* trace_text.h - texts of a trace: any bytes, not terminated. */
#ifndef TRACE_TEXT_H
#define TRACE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct trace_text {
    const char *text;
    uint32_t bytes;
};
/* Of a terminated text. */
static inline struct trace_text trace_text(const char *text)
{
    return (struct trace_text){text, (uint32_t)strlen(text)};
}
/* By their bytes: below 0, 0 or above 0, as memcmp says it. */
int trace_text_compare(struct trace_text a, struct trace_text b);
static inline bool trace_text_same(struct trace_text a, struct trace_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.text, b.text, a.bytes) == 0);
}
static inline bool trace_text_is(struct trace_text text, const char *wanted)
{
    return trace_text_same(text, trace_text(wanted));
}
static inline bool trace_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline bool trace_text_begins(struct trace_text text, const char *with)
{
    return text.bytes >= strlen(with) && memcmp(text.text, with, strlen(with)) == 0;
}
static inline bool trace_text_ends(struct trace_text text, const char *with)
{
    const size_t bytes = strlen(with);
    return text.bytes >= bytes && memcmp(text.text + text.bytes - bytes, with, bytes) == 0;
}
/* Which of count words it is; count: none of them. */
static inline unsigned trace_word_number(const char *const *words, unsigned count,
                                         struct trace_text word)
{
    unsigned i = 0;
    while (i < count && !trace_text_is(word, words[i]))
        i++;
    return i;
}
/* How many of its bytes are its first characters, of at most so many bytes. */
static inline uint32_t trace_text_front(struct trace_text text, uint32_t most)
{
    uint32_t bytes = text.bytes < most ? text.bytes : most;
    while (bytes && bytes < text.bytes && ((unsigned char)text.text[bytes] & 0xc0) == 0x80)
        bytes--;
    return bytes;
}

#endif /* TRACE_TEXT_H */
