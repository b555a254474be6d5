/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h - a byte string that grows.
 *
 * An append that finds no memory is remembered: callers put a whole section
 * together and look at `failed` once. A buffer of zeros is an empty one.
 */
#ifndef BUFFER_H
#define BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    uint8_t *bytes;
    size_t count, capacity;
    bool failed;
};

/* Room for count more bytes at the end; where they begin, or NULL. Does not change buffer->count.
 */
uint8_t *buffer_reserve(struct buffer *buffer, size_t count);
/* Appends; bytes may be NULL if count is 0. */
void buffer_append(struct buffer *buffer, const void *bytes, size_t count);
void buffer_free(struct buffer *buffer);

#endif /* BUFFER_H */
