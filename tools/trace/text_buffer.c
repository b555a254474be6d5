/* SPDX-License-Identifier: Apache-2.0 */
#include "text_buffer.h"
#include "thread_map.h"
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts by their ids ---------------------------------------------------------------------- */
/* Texts lie behind each other in one buffer. */

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
        !GROW_ARRAY(texts->list, texts->list_room, texts->count + 1) ||
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

/* ---- text buffer ----------------------------------------------------------------------------- */

bool text_buffer_put(struct text_buffer *buffer, const char *text, uint32_t bytes)
{
    if (bytes > buffer->most - buffer->used)
        return false;
    if (!grow_zeroed32(&buffer->bytes, &buffer->room, buffer->used + bytes + 1, 1)) {
        buffer->failed = true;
        return false;
    }
    if (bytes)
        memcpy(buffer->bytes + buffer->used, text, bytes);
    buffer->used += bytes;
    return true;
}

/* The bytes from at on that can stand in a string as they are. */
static uint32_t plain_bytes(const char *text, uint32_t bytes, uint32_t at)
{
    uint32_t end = at;
    while (end < bytes) {
        unsigned char byte = (unsigned char)text[end];
        size_t length = byte < ' ' || byte == '"' || byte == '\\'
                            ? 0
                            : utf8_length((const unsigned char *)text + end, bytes - end);
        if (length == 0)
            break;
        end += (uint32_t)length;
    }
    return end - at;
}

bool text_buffer_quote(struct text_buffer *buffer, const char *text, uint32_t bytes)
{
    bool good = text_buffer_put(buffer, "\"", 1);
    for (uint32_t at = 0; at < bytes && good; at++) {
        char escape[8];
        uint32_t plain = plain_bytes(text, bytes, at);
        good = text_buffer_put(buffer, text + at, plain);
        at += plain;
        if (at == bytes)
            break;
        unsigned char byte = (unsigned char)text[at];
        int made = snprintf(escape, sizeof escape, byte >= 0x80 || byte < ' ' ? "\\u%04x" : "\\%c",
                            byte >= 0x80 ? 0xfffdu : byte);
        good = good && text_buffer_put(buffer, escape, (uint32_t)made);
    }
    return good && text_buffer_put(buffer, "\"", 1);
}

void text_buffer_free(struct text_buffer *buffer)
{
    free(buffer->bytes);
}
