/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_rows.h - counts of what slots did, a row for each name and slot.
 *
 * A slot that is released and used again has several names; a name that comes
 * back to its slot keeps its row. Which name a record means is name_lookup.h's
 * to say. A slot without any name has a row as well.
 */
#ifndef SLOT_ROWS_H
#define SLOT_ROWS_H

#include "name_lookup.h"

struct slot_row {
    unsigned slot;           /* above 255 only where a file's table is wrong */
    const struct name *name; /* the first use under this name; NULL: none is known */
    uint64_t calls, gpu;     /* coarse begins; GPU work */
};

struct slot_rows {
    const struct name_set *names; /* must outlive the rows */
    struct slot_row *rows;        /* ordered by slot, then first use */
    uint32_t count;
    uint32_t *of_name;                /* row of each name */
    uint32_t of_slot[RBWP_SLOTS_MAX]; /* row of a slot that has just one */
};

/* All counts 0. False when out of memory. */
bool slot_rows_make(struct slot_rows *rows, const struct name_set *names);
void slot_rows_free(struct slot_rows *rows);

/* The row of what slot meant at that time. */
struct slot_row *slot_rows_find(const struct slot_rows *rows, uint8_t slot, int64_t time_ns);

#endif /* SLOT_ROWS_H */
