/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_rows.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

struct thread thread_rows_strays;

#define NO_PLACE                                                                                   \
    {                                                                                              \
        .fill = HELD_BY_NONE                                                                       \
    }
#define NO_PLACES                                                                                  \
    {                                                                                              \
        .place = { NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE }                                        \
    }
_Static_assert(RBWP_PLACES_ == 4, "each is none");
_Thread_local struct rbwp_own_places_ rbwp_own_places_ = NO_PLACES;

static void move(struct rbwp_place_ *to, const struct rbwp_place_ *from)
{
    to->next = from->next;
    to->live_rows = from->live_rows;
    to->rows = from->rows;
    to->fill = from->fill;
    thread_rows_set_max(to, __atomic_load_n(&from->rows_max, __ATOMIC_RELAXED));
}

void thread_rows_show(struct row_place *place, enum rbwp_place_number_ as)
{
    struct rbwp_place_ *shown = &rbwp_own_places_.place[as];
    if (place->held == shown)
        return;
    move(shown, place->held);
    place->held = shown;
}

void thread_rows_hide_one(struct row_place *place, enum rbwp_place_number_ as)
{
    static const struct rbwp_place_ none = NO_PLACE;
    struct rbwp_place_ *shown = &rbwp_own_places_.place[as];
    if (place->held != shown)
        return;
    move(&place->here, shown);
    place->held = &place->here;
    move(shown, &none);
}

void thread_rows_hide(struct thread *thread)
{
    for (uint32_t i = 0; i < thread->row_place_count; i++) {
        struct row_place *place = thread->row_places[i];
        if (!place || place->held == &place->here)
            continue;
        place->here = *place->held;
        place->held = &place->here;
    }
    rbwp_own_places_ = (struct rbwp_own_places_)NO_PLACES;
}

struct row_place *thread_rows_place(struct thread *thread, unsigned number, struct row_table *table,
                                    uint32_t columns)
{
    if (!grow_zeroed32(&thread->row_places, &thread->row_place_count, number,
                       sizeof(struct row_place *)))
        return NULL;
    struct row_place *place = calloc(1, sizeof *place);
    if (!place)
        return NULL;
    place->table = table;
    place->held = &place->here;
    place->columns = columns;
    thread_rows_let_go(place);
    thread->row_places[number - 1] = place;
    return place;
}

void thread_rows_forget(struct thread *thread)
{
    for (uint32_t i = 0; i < thread->row_place_count; i++)
        if (thread->row_places[i])
            thread_rows_let_go(thread->row_places[i]);
}

void thread_rows_free(struct thread *thread)
{
    for (uint32_t i = 0; i < thread->row_place_count; i++)
        if (thread->row_places[i]) {
            free(thread->row_places[i]->room);
            free(thread->row_places[i]);
        }
    free(thread->row_places);
    thread->row_places = NULL;
    thread->row_place_count = 0;
}
