/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are numbered once, before the counting: a record costs an array lookup, two if its slot has
 * had several names. */
#include "slot_rows.h"
#include "sorted.h"

#include <stdlib.h>
#include <string.h>

#define SEVERAL UINT32_MAX

static int compare_texts(const struct name *a, const struct name *b)
{
    SORTED_BY(a, b, id);
    SORTED_BY(a, b, bytes);
    return memcmp(a->text, b->text, a->bytes);
}

/* By slot and text; among equals by place, that is, by time. */
static int slot_rows_compare(const void *left, const void *right)
{
    const struct name *a = *(const struct name *const *)left;
    const struct name *b = *(const struct name *const *)right;
    int order = compare_texts(a, b);
    return order ? order : (a > b) - (a < b);
}

/* Puts into of_name the number of the first name with the same slot and text. */
static void find_first_uses(const struct name_set *names, const struct name **order,
                            uint32_t *of_name)
{
    for (size_t i = 0; i < names->count; i++)
        order[i] = &names->names[i];
    qsort(order, names->count, sizeof *order, slot_rows_compare);
    const struct name *first = NULL;
    for (size_t i = 0; i < names->count; i++) {
        if (!first || compare_texts(first, order[i]) != 0)
            first = order[i];
        of_name[order[i] - names->names] = (uint32_t)(first - names->names);
    }
}

static uint32_t slot_rows_add_row(struct slot_rows *rows, unsigned slot, const struct name *name)
{
    rows->rows[rows->count] = (struct slot_row){.slot = slot, .name = name};
    return rows->count++;
}

/* Rows for the names of slot from number `at` on. Returns the number of the next slot's first. */
static size_t add_slot(struct slot_rows *rows, unsigned slot, size_t at)
{
    const struct name_set *names = rows->names;
    for (; at < names->count && names->names[at].id == slot; at++) {
        uint32_t first = rows->of_name[at];
        rows->of_name[at] =
            first == at ? slot_rows_add_row(rows, slot, &names->names[at]) : rows->of_name[first];
    }
    return at;
}

static void number_rows(struct slot_rows *rows)
{
    size_t at = 0;
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++) {
        uint32_t first = rows->count;
        at = add_slot(rows, slot, at);
        if (rows->count == first)
            slot_rows_add_row(rows, slot, NULL);
        rows->of_slot[slot] = rows->count == first + 1 ? first : SEVERAL;
    }
    while (at < rows->names->count)
        at = add_slot(rows, (unsigned)rows->names->names[at].id, at);
}

bool slot_rows_make(struct slot_rows *rows, const struct name_set *names)
{
    *rows = (struct slot_rows){
        .names = names,
        .rows = calloc(names->count + RBWP_SLOTS_MAX, sizeof *rows->rows),
        .of_name = calloc(names->count + 1, sizeof *rows->of_name),
    };
    const struct name **order = calloc(names->count + 1, sizeof *order);
    bool good = rows->rows && rows->of_name && order;
    if (good) {
        find_first_uses(names, order, rows->of_name);
        number_rows(rows);
    } else {
        slot_rows_free(rows);
    }
    free(order);
    return good;
}

void slot_rows_free(struct slot_rows *rows)
{
    free(rows->rows);
    free(rows->of_name);
    *rows = (struct slot_rows){0};
}

struct slot_row *slot_rows_find(const struct slot_rows *rows, uint8_t slot, int64_t time_ns)
{
    uint32_t row = rows->of_slot[slot];
    if (row == SEVERAL)
        row = rows->of_name[names_find(rows->names, slot, time_ns) - rows->names->names];
    return &rows->rows[row];
}
