/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - which parts of a file hold all of a time window, by its marks (SPEC.md, 10.18).
 *
 * Stretches from mark to mark with records in the window are read, those in which something ends
 * that was open when it was over, and all blocks of tables. What was open when an interval begins
 * is known from its mark. Files without marks, and those whose marks do not fit them, are read
 * whole.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include "input.h"

/* More than the bias of any GPU: work may end so much later than its record says. */
#define WINDOW_BIAS_NS 1000000

/* Blocks that stand together. */
struct window_part {
    uint64_t offset, end;
    uint32_t mark; /* it begins there, and its records are read; WINDOW_TABLES: they are not */
};
#define WINDOW_TABLES UINT32_MAX

/* Zero is none. */
struct window {
    const struct rbwp_trailer *trailer;
    struct window_part *parts; /* in the order of the file */
    uint32_t part_count, part_room;
    uint32_t *item_at;       /* of marks: where in open_items theirs begin, */
    uint64_t *ids, *records; /* and how many spans and records the blocks before them have */
    int64_t from_ns, to_ns;
};

/* The parts of what touches the time from from_ns to to_ns, on the file's axis. False: the file is
 * to be read whole, and stands at its beginning. */
bool window_find(struct window *window, struct input *input, int64_t from_ns, int64_t to_ns);
void window_free(struct window *window);

/* What is open at a mark. */
static inline const struct rbwp_open_item *window_items(const struct window *window, uint32_t mark)
{
    return window->trailer->open_items + window->item_at[mark];
}

#endif /* WINDOW_H */
