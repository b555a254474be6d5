/* SPDX-License-Identifier: Apache-2.0 */
/* text_buffer.h - a text of bounded length that grows, with strings of JSON in it. */
#ifndef TEXT_BUFFER_H
#define TEXT_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

/* most: bytes at most; set by the caller, all else zero. */
struct text_buffer {
    char *bytes;
    uint32_t used, room, most;
    bool failed; /* out of memory */
};

/* False when it does not fit; then nothing was added. */
bool text_buffer_put(struct text_buffer *buffer, const char *text, uint32_t bytes);
/* With quotes around it, and what JSON has to escape; what is no UTF-8 becomes U+FFFD. False when
 * not all of it fits. */
bool text_buffer_quote(struct text_buffer *buffer, const char *text, uint32_t bytes);
void text_buffer_free(struct text_buffer *buffer);

#endif /* TEXT_BUFFER_H */
