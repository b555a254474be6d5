/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_sorter.h - any number of items of one size into an order.
 *
 * Items are gathered in memory; when there are too many, they are sorted and
 * put into a temporary file, and the pieces are merged when all have come.
 * Memory is bounded, whatever comes. An item may have a payload, words of
 * 64 bits whose first 32 bits say how many they are; it goes with its item.
 */
#ifndef MERGE_SORTER_H
#define MERGE_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERGE_SORTER_ITEMS (256u << 10)       /* in memory at most */
#define MERGE_SORTER_PAYLOAD_WORDS (4u << 20) /* likewise, 32 MiB */
#define MERGE_SORTER_PAYLOAD_MAX (1u << 17)   /* words of one item, 1 MiB */
#define MERGE_SORTER_NO_PAYLOAD ((size_t)0 - 1)

struct merge_order {
    const char *what;  /* "spans": what is missing when it fails */
    size_t item_bytes; /* a multiple of 8 */
    size_t payload_at; /* a uint32_t in the item, used by the sorter; or MERGE_SORTER_NO_PAYLOAD */
    int (*compare)(const void *a, const void *b);
};

struct merge_piece;

struct merge_sorter {
    const struct merge_order *order;
    char *items;
    uint64_t *payload;
    uint32_t count, room;                 /* items */
    uint32_t payload_count, payload_room; /* words */
    int fd;                               /* of the temporary file, -1 none yet */
    struct merge_piece *pieces;           /* in it */
    uint32_t piece_count, piece_room;
    uint64_t file_bytes;
    bool failed; /* a message was given; items are missing */
};

void merge_sorter_start(struct merge_sorter *sorter, const struct merge_order *order);
/* payload: NULL for none; longer ones than MERGE_SORTER_PAYLOAD_MAX must not come. */
void merge_sorter_add(struct merge_sorter *sorter, const void *item, const uint64_t *payload);
/* Hands out all, payload NULL where there is none, until take says false. Pointers are valid
 * during the call. */
void merge_sorter_finish(struct merge_sorter *sorter,
                         bool (*take)(void *context, const void *item, const uint64_t *payload),
                         void *context);
void merge_sorter_stop(struct merge_sorter *sorter);

#endif /* MERGE_SORTER_H */
