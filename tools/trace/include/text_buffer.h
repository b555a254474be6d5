/* SPDX-License-Identifier: Apache-2.0 */
/* text_buffer.h - a text of bounded length that grows, with strings of JSON in it. */
#ifndef TEXT_BUFFER_H
#define TEXT_BUFFER_H

#include "index_map.h"
#include "trace_text.h"

/* ---- texts by their ids ---------------------------------------------------------------------- */
/*
 * Texts by (table, id, id): the names that a log gives to its numbers.
 *
 * The last text given to a key stands. What a hostile file can make it hold is bounded; beyond that
 * texts are not kept, and full says so.
 */

#define ID_TEXTS_MAX (4u << 20)
#define ID_TEXTS_BYTES_MAX (128u << 20)

struct id_text {
    uint64_t a, b;
    uint32_t table, bytes;
    size_t at; /* in bytes */
};

struct id_texts {
    struct id_text *list;
    struct index_map places;
    uint32_t count, list_room;
    char *bytes;
    size_t used, room;
    bool full; /* something was not kept */
};

/* Zero is no texts. */
void id_texts_set(struct id_texts *texts, uint32_t table, uint64_t a, uint64_t b,
                  struct trace_text text);
/* Without one the text is empty. Valid until the next set. */
struct trace_text id_texts_get(const struct id_texts *texts, uint32_t table, uint64_t a,
                               uint64_t b);
void id_texts_free(struct id_texts *texts);

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
