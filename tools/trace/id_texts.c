/* SPDX-License-Identifier: Apache-2.0 */
/* Texts lie behind each other in one buffer. */
#include "id_texts.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

static uint64_t id_texts_hash(uint32_t table, uint64_t a, uint64_t b)
{
    return hash_pair(hash_pair(table, b), a);
}

static struct id_text *id_texts_find(const struct id_texts *texts, uint32_t table, uint64_t a,
                                     uint64_t b)
{
    uint64_t hash = id_texts_hash(table, a, b);
    for (uint32_t step = 0, i; (i = index_map_next(&texts->places, hash, &step)) != INDEX_NONE;) {
        struct id_text *known = &texts->list[i];
        if (known->table == table && known->a == a && known->b == b)
            return known;
    }
    return NULL;
}

static struct id_text *id_texts_add(struct id_texts *texts, uint32_t table, uint64_t a, uint64_t b)
{
    if (texts->count >= ID_TEXTS_MAX ||
        !grow_array32(&texts->list, &texts->list_room, texts->count + 1, sizeof *texts->list) ||
        !index_map_add(&texts->places, id_texts_hash(table, a, b), texts->count))
        return NULL;
    return &texts->list[texts->count++];
}

static bool grow_bytes(struct id_texts *texts, size_t bytes)
{
    return texts->used + bytes <= ID_TEXTS_BYTES_MAX &&
           grow_array(&texts->bytes, &texts->room, texts->used + bytes, 1);
}

void id_texts_set(struct id_texts *texts, uint32_t table, uint64_t a, uint64_t b,
                  struct trace_text text)
{
    struct id_text *known = id_texts_find(texts, table, a, b);
    if (!grow_bytes(texts, text.bytes) || (!known && !(known = id_texts_add(texts, table, a, b)))) {
        texts->full = true;
        return;
    }
    *known = (struct id_text){a, b, table, text.bytes, texts->used};
    if (text.bytes)
        memcpy(texts->bytes + texts->used, text.text, text.bytes);
    texts->used += text.bytes;
}

struct trace_text id_texts_get(const struct id_texts *texts, uint32_t table, uint64_t a, uint64_t b)
{
    const struct id_text *known = id_texts_find(texts, table, a, b);
    if (!known || known->bytes == 0)
        return (struct trace_text){"", 0};
    return (struct trace_text){texts->bytes + known->at, known->bytes};
}

void id_texts_free(struct id_texts *texts)
{
    free(texts->list);
    index_map_free(&texts->places);
    free(texts->bytes);
    *texts = (struct id_texts){0};
}
