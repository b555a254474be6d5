/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_rows.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

struct thread thread_rows_strays;

/* Programs that were compiled when one struct had the places of all tables look for room in it.
 * There is none, so that their rows go the slow way. */
struct old_places {
    struct {
        uint64_t cells[4], fill;
    } place[4];
    uint64_t thread_number;
};
#define OLD_PLACE                                                                                  \
    {                                                                                              \
        .fill = HELD_BY_NONE                                                                       \
    }
extern RBWP_API _Thread_local struct old_places thread_rows_old RBWP_ABI_NAME_("rbwp_own_places_");
_Thread_local struct old_places thread_rows_old = {{OLD_PLACE, OLD_PLACE, OLD_PLACE, OLD_PLACE}, 0};

static void move_place(struct rbwp_place_ *to, const struct rbwp_place_ *from)
{
    to->next = from->next;
    to->live_rows = from->live_rows;
    to->rows = from->rows;
    to->fill = from->fill;
    thread_rows_set_max(to, __atomic_load_n(&from->rows_max, __ATOMIC_RELAXED));
}

void thread_rows_show(struct thread *thread, struct row_place *place, struct rbwp_place_ *own,
                      enum rule_watch watch)
{
    unsigned at = 0;
    own->thread_number = thread->thread_id; /* another one in a forked child */
    if (place->held == own)
        return;
    while (at < ROW_PLACES_SHOWN_MAX && thread->shown[at].own && thread->shown[at].own != own)
        at++;
    if (at == ROW_PLACES_SHOWN_MAX)
        return;
    thread->shown[at].watch = watch;
    atomic_store_explicit(&thread->shown[at].own, own, memory_order_release);
    move_place(own, place->held);
    place->held = own;
}

void thread_rows_hide_one(struct row_place *place)
{
    static const struct rbwp_place_ none = ROW_PLACE_NONE;
    struct rbwp_place_ *own = place->held;
    if (own == &place->here)
        return;
    move_place(&place->here, own);
    place->held = &place->here;
    move_place(own, &none);
}

void thread_rows_hide(struct thread *thread)
{
    for (uint32_t i = 0; i < thread->row_place_count; i++)
        if (thread->row_places[i])
            thread_rows_hide_one(thread->row_places[i]);
    memset(thread->shown, 0, sizeof thread->shown);
}

void thread_rows_slow(struct thread *thread, enum rule_watch watch)
{
    struct rbwp_place_ *own;
    for (unsigned i = 0; i < ROW_PLACES_SHOWN_MAX &&
                         (own = atomic_load_explicit(&thread->shown[i].own, memory_order_acquire));
         i++)
        if (thread->shown[i].watch == watch)
            thread_rows_set_max(own, 0);
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
