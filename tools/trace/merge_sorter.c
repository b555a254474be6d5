/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An external merge sort. In memory the payloads lie behind each other, in the
 * file each behind its item. The merge takes the least head of all pieces
 * from a heap.
 */
#include "merge_sorter.h"
#include "grow.h"
#include "message.h"
#include "sorted.h"
#include "temporary_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MERGE_BYTES = 32 << 20, LEAST_BUFFER = 16 << 10, WRITE_BYTES = 256 << 10 };

/* A sorted run of items in the file, part of it in memory. */
struct merge_piece {
    uint64_t next, end; /* in the file: what is not in memory yet */
    char *buffer;
    size_t at, filled, room; /* the head begins at at */
};

void merge_sorter_start(struct merge_sorter *sorter, const struct merge_order *order)
{
    *sorter = (struct merge_sorter){.order = order, .fd = -1};
}

void merge_sorter_stop(struct merge_sorter *sorter)
{
    for (uint32_t i = 0; i < sorter->piece_count; i++)
        free(sorter->pieces[i].buffer);
    free(sorter->pieces);
    free(sorter->items);
    free(sorter->payload);
    if (sorter->fd >= 0)
        close(sorter->fd);
}

static void merge_sorter_fail(struct merge_sorter *sorter, const char *why)
{
    message_once(&sorter->failed, "%s are missing: %s", sorter->order->what, why);
}

/* False when out of memory. */
static bool merge_sorter_grow(struct merge_sorter *sorter, void *array, uint32_t *room,
                              uint64_t count, size_t bytes)
{
    bool grown = count <= UINT32_MAX && grow_array32(array, room, (uint32_t)count, bytes);
    if (!grown)
        merge_sorter_fail(sorter, "out of memory");
    return grown;
}

static uint32_t *payload_field(const struct merge_order *order, char *item)
{
    return (uint32_t *)(void *)(item + order->payload_at);
}

/* Of an item with this value in its field; place 0 is none. */
static const uint64_t *payload_of(const struct merge_sorter *sorter, char *item)
{
    if (sorter->order->payload_at == MERGE_SORTER_NO_PAYLOAD)
        return NULL;
    uint32_t place = *payload_field(sorter->order, item);
    return place ? sorter->payload + place - 1 : NULL;
}

static uint32_t merge_sorter_words_of(const uint64_t *payload)
{
    uint32_t words;
    memcpy(&words, payload, sizeof words);
    return words;
}

/* ---- coming in -------------------------------------------------------------- */

static bool in_order(const struct merge_sorter *sorter)
{
    size_t bytes = sorter->order->item_bytes;
    for (uint32_t i = 1; i < sorter->count; i++)
        if (sorter->order->compare(sorter->items + (i - 1) * bytes, sorter->items + i * bytes) > 0)
            return false;
    return true;
}

static void merge_sorter_sort(struct merge_sorter *sorter)
{
    if (sorter->count > 1 && !in_order(sorter))
        qsort(sorter->items, sorter->count, sorter->order->item_bytes, sorter->order->compare);
}

static void put_bytes(struct merge_sorter *sorter, const void *bytes, size_t count)
{
    if (count && !sorter->failed && !write_all(sorter->fd, bytes, count))
        merge_sorter_fail(sorter, strerror(errno));
    sorter->file_bytes += count;
}

/* Items with their payloads between them, by way of a buffer. */
static void put_mixed(struct merge_sorter *sorter)
{
    size_t item_bytes = sorter->order->item_bytes, used = 0;
    char *buffer = malloc(WRITE_BYTES);
    if (!buffer)
        merge_sorter_fail(sorter, "out of memory");
    for (uint32_t i = 0; i < sorter->count && !sorter->failed; i++) {
        char *item = sorter->items + i * item_bytes;
        const uint64_t *payload = payload_of(sorter, item);
        size_t payload_bytes = payload ? merge_sorter_words_of(payload) * sizeof *payload : 0;
        if (used + item_bytes + payload_bytes > WRITE_BYTES) {
            put_bytes(sorter, buffer, used);
            used = 0;
        }
        memcpy(buffer + used, item, item_bytes);
        used += item_bytes;
        if (payload_bytes > WRITE_BYTES - used) {
            put_bytes(sorter, buffer, used);
            put_bytes(sorter, payload, payload_bytes);
            used = 0;
        } else if (payload_bytes) {
            memcpy(buffer + used, payload, payload_bytes);
            used += payload_bytes;
        }
    }
    put_bytes(sorter, buffer, used);
    free(buffer);
}

static void put_piece(struct merge_sorter *sorter)
{
    merge_sorter_sort(sorter);
    if (sorter->fd < 0 && (sorter->fd = temporary_file()) < 0)
        sorter->failed = true; /* with the message given */
    if (sorter->failed ||
        !merge_sorter_grow(sorter, &sorter->pieces, &sorter->piece_room,
                           sorter->piece_count + UINT64_C(1), sizeof *sorter->pieces))
        return;
    uint64_t begin = sorter->file_bytes;
    if (sorter->payload_count)
        put_mixed(sorter);
    else
        put_bytes(sorter, sorter->items, sorter->count * sorter->order->item_bytes);
    sorter->pieces[sorter->piece_count++] =
        (struct merge_piece){.next = begin, .end = sorter->file_bytes};
    sorter->count = sorter->payload_count = 0;
}

void merge_sorter_add(struct merge_sorter *sorter, const void *item, const uint64_t *payload)
{
    const struct merge_order *order = sorter->order;
    uint32_t words = payload ? merge_sorter_words_of(payload) : 0;
    if (sorter->count == MERGE_SORTER_ITEMS ||
        (words && sorter->payload_count + words > MERGE_SORTER_PAYLOAD_WORDS))
        put_piece(sorter);
    if (sorter->failed ||
        !merge_sorter_grow(sorter, &sorter->items, &sorter->room, sorter->count + UINT64_C(1),
                           order->item_bytes) ||
        !merge_sorter_grow(sorter, &sorter->payload, &sorter->payload_room,
                           (uint64_t)sorter->payload_count + words, sizeof *sorter->payload))
        return;
    char *to = sorter->items + sorter->count++ * order->item_bytes;
    memcpy(to, item, order->item_bytes);
    if (order->payload_at != MERGE_SORTER_NO_PAYLOAD)
        *payload_field(order, to) = words ? sorter->payload_count + 1 : 0;
    if (words)
        memcpy(sorter->payload + sorter->payload_count, payload, words * sizeof *payload);
    sorter->payload_count += words;
}

/* ---- going out -------------------------------------------------------------- */

/* In a piece the field says only whether there is a payload, which lies behind the item. */
static const uint64_t *head_payload(const struct merge_order *order,
                                    const struct merge_piece *piece)
{
    char *head = piece->buffer + piece->at;
    bool none = order->payload_at == MERGE_SORTER_NO_PAYLOAD || !*payload_field(order, head);
    return none ? NULL : (const uint64_t *)(const void *)(head + order->item_bytes);
}

/* Bytes of the head, as far as they are known: more than is in memory when it must be filled. */
static size_t head_bytes(const struct merge_order *order, const struct merge_piece *piece)
{
    size_t have = piece->filled - piece->at;
    if (have < order->item_bytes)
        return order->item_bytes;
    const uint64_t *payload = head_payload(order, piece);
    if (!payload)
        return order->item_bytes;
    if (have < order->item_bytes + sizeof *payload)
        return order->item_bytes + sizeof *payload;
    return order->item_bytes + merge_sorter_words_of(payload) * sizeof *payload;
}

/* Moves what is in memory to the front and reads behind it. */
static bool merge_sorter_fill(struct merge_sorter *sorter, struct merge_piece *piece, size_t needed)
{
    size_t have = piece->filled - piece->at;
    memmove(piece->buffer, piece->buffer + piece->at, have);
    piece->at = 0;
    piece->filled = have;
    if (!grow_array(&piece->buffer, &piece->room, needed, 1)) {
        merge_sorter_fail(sorter, "out of memory");
        return false;
    }
    uint64_t left = piece->end - piece->next;
    size_t count = left < piece->room - have ? (size_t)left : piece->room - have;
    errno = 0;
    if (have + count < needed ||
        !read_all_at(sorter->fd, piece->buffer + have, count, piece->next)) {
        merge_sorter_fail(sorter, errno ? strerror(errno) : "the temporary file was cut");
        return false;
    }
    piece->next += count;
    piece->filled += count;
    return true;
}

/* True when the piece has a head, whole and in memory. */
static bool has_head(struct merge_sorter *sorter, struct merge_piece *piece)
{
    if (piece->at == piece->filled && piece->next == piece->end)
        return false;
    for (;;) {
        size_t needed = head_bytes(sorter->order, piece);
        if (needed <= piece->filled - piece->at)
            return true;
        if (!merge_sorter_fill(sorter, piece, needed))
            return false;
    }
}

/* Moves the piece at this place down to where it belongs. */
static void sift(struct merge_sorter *sorter, uint32_t at)
{
    HEAP_SIFT(sorter->pieces, sorter->piece_count, at,
              sorter->order->compare(a->buffer + a->at, b->buffer + b->at) < 0);
}

static void drop_top(struct merge_sorter *sorter)
{
    free(sorter->pieces[0].buffer);
    sorter->pieces[0] = sorter->pieces[--sorter->piece_count];
}

static bool start_merge(struct merge_sorter *sorter)
{
    size_t room = MERGE_BYTES / sorter->piece_count;
    room = room < LEAST_BUFFER ? LEAST_BUFFER : room & ~(size_t)7;
    free(sorter->items);
    free(sorter->payload);
    sorter->items = NULL;
    sorter->payload = NULL;
    for (uint32_t i = 0; i < sorter->piece_count; i++) {
        struct merge_piece *piece = &sorter->pieces[i];
        uint64_t bytes = piece->end - piece->next;
        piece->room = bytes < room ? (size_t)bytes : room;
        piece->buffer = malloc(piece->room);
        if (!piece->buffer)
            merge_sorter_fail(sorter, "out of memory");
        if (sorter->failed || !has_head(sorter, piece)) /* no piece is empty */
            return false;
    }
    for (uint32_t i = sorter->piece_count / 2; i-- > 0;)
        sift(sorter, i);
    return true;
}

void merge_sorter_finish(struct merge_sorter *sorter,
                         bool (*take)(void *context, const void *item, const uint64_t *payload),
                         void *context)
{
    bool more = true;
    if (sorter->piece_count == 0) {
        size_t bytes = sorter->order->item_bytes;
        merge_sorter_sort(sorter);
        for (uint32_t i = 0; more && i < sorter->count; i++)
            more = take(context, sorter->items + i * bytes,
                        payload_of(sorter, sorter->items + i * bytes));
        return;
    }
    if (sorter->count)
        put_piece(sorter);
    if (sorter->failed || !start_merge(sorter))
        return;
    while (more && sorter->piece_count > 0) {
        struct merge_piece *top = &sorter->pieces[0];
        more = take(context, top->buffer + top->at, head_payload(sorter->order, top));
        top->at += head_bytes(sorter->order, top);
        if (!has_head(sorter, top))
            drop_top(sorter);
        sift(sorter, 0);
    }
}
