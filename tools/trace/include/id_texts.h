/* SPDX-License-Identifier: Apache-2.0 */
/*
 * id_texts.h - texts by (table, id, id): the names that a log gives to its numbers.
 *
 * The last text given to a key stands. What a hostile file can make it hold is
 * bounded; beyond that texts are not kept, and full says so.
 */
#ifndef ID_TEXTS_H
#define ID_TEXTS_H

#include "index_map.h"
#include "trace_text.h"

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

#endif /* ID_TEXTS_H */
