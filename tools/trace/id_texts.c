/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing; texts lie behind each other in one buffer. */
#include "id_texts.h"

#include <stdlib.h>
#include <string.h>

static struct id_text *id_texts_find(const struct id_texts *texts, uint32_t table, uint64_t a,
                                     uint64_t b)
{
    for (uint64_t i = id_hash(a + id_hash(b + table));; i++) {
        struct id_text *cell = &texts->cells[i & (texts->cell_count - 1)];
        if (cell->table == 0 || (cell->table == table && cell->a == a && cell->b == b))
            return cell;
    }
}

static bool id_texts_grow_cells(struct id_texts *texts)
{
    if (texts->count * 2 < texts->cell_count)
        return true;
    struct id_texts more = *texts;
    more.cell_count = texts->cell_count ? texts->cell_count * 2 : 256;
    more.cells = calloc(more.cell_count, sizeof *more.cells);
    if (!more.cells || texts->count >= ID_TEXTS_MAX) {
        free(more.cells);
        return texts->count + 1 < texts->cell_count && texts->count < ID_TEXTS_MAX;
    }
    for (uint32_t i = 0; i < texts->cell_count; i++) {
        const struct id_text *old = &texts->cells[i];
        if (old->table)
            *id_texts_find(&more, old->table, old->a, old->b) = *old;
    }
    free(texts->cells);
    *texts = more;
    return true;
}

static bool grow_bytes(struct id_texts *texts, size_t bytes)
{
    if (texts->room - texts->used >= bytes)
        return true;
    size_t room = texts->room ? texts->room * 2 : 4096;
    while (room - texts->used < bytes)
        room *= 2;
    char *moved = room <= ID_TEXTS_BYTES_MAX ? realloc(texts->bytes, room) : NULL;
    if (!moved)
        return false;
    texts->bytes = moved;
    texts->room = room;
    return true;
}

void id_texts_set(struct id_texts *texts, uint32_t table, uint64_t a, uint64_t b,
                  struct trace_text text)
{
    if (!id_texts_grow_cells(texts) || !grow_bytes(texts, text.bytes)) {
        texts->full = true;
        return;
    }
    struct id_text *cell = id_texts_find(texts, table, a, b);
    texts->count += cell->table == 0;
    *cell = (struct id_text){a, b, table, text.bytes, texts->used};
    if (text.bytes)
        memcpy(texts->bytes + texts->used, text.text, text.bytes);
    texts->used += text.bytes;
}

struct trace_text id_texts_get(const struct id_texts *texts, uint32_t table, uint64_t a, uint64_t b)
{
    const struct id_text *cell = texts->cell_count ? id_texts_find(texts, table, a, b) : NULL;
    if (!cell || cell->table == 0 || cell->bytes == 0)
        return (struct trace_text){"", 0};
    return (struct trace_text){texts->bytes + cell->at, cell->bytes};
}

void id_texts_free(struct id_texts *texts)
{
    free(texts->cells);
    free(texts->bytes);
    *texts = (struct id_texts){0};
}
