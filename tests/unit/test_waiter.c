/* SPDX-License-Identifier: Apache-2.0 */
/* How waits of threads are recorded, without the calls that runtime/threads stands in for. */
#include "rbwp_record.h"
#include "unit.h"
#include "waiter.h"

#include <string.h>

/* ---- who signalled whom ---------------------------------------------------------------------- */

enum { OBJECT = 0x1000, OTHER = 0x2000 };

static struct wakeup_bucket bucket;
static struct waiter signaller;

/* Leaves a note by that thread; when. */
static uint64_t note(uint64_t thread_id, uint64_t object, enum wakeup_whose whose)
{
    const uint32_t number = atomic_load(&bucket.next);
    uint64_t before = rbwp_now_ticks();
    atomic_store(&signaller.thread_id, thread_id);
    waiter_mine = &signaller;
    wakeup_note(&bucket, object, whose);
    waiter_mine = NULL;
    assert_int_equal(atomic_load(&bucket.next), number + 1);
    const uint64_t ticks = atomic_load(&bucket.notes[number % WAKES_KEPT].ticks);
    assert_in_range(ticks, before, rbwp_now_ticks());
    while (rbwp_now_ticks() == ticks) /* the next one is later */
        ;
    return ticks;
}

/* The thread that left the note; 0: none is found. */
static uint64_t taken(uint64_t since, uint64_t until, enum wakeup_which which)
{
    struct wakeup_found found = {0};
    if (!wakeup_take(&bucket, OBJECT, since, until, which, &found))
        return 0;
    assert_in_range(found.ticks, since, until);
    return found.thread_id;
}

static uint64_t taken_of_all(enum wakeup_which which)
{
    return taken(0, UINT64_MAX, which);
}

static int clear_notes(void **state)
{
    (void)state;
    memset((void *)&bucket, 0, sizeof bucket);
    return 0;
}

/* A note for one is one thread's, the first's; one for all is everybody's. */
static void notes_for_one_and_for_all(void **state)
{
    (void)state;
    assert_int_equal(taken_of_all(WAKES_OLDEST), 0);
    note(5, OTHER, WAKES_ALL);
    assert_int_equal(taken_of_all(WAKES_OLDEST), 0);
    note(6, OBJECT, WAKES_ONE);
    note(7, OTHER, WAKES_ALL);
    assert_int_equal(taken_of_all(WAKES_OLDEST), 6);
    assert_int_equal(taken_of_all(WAKES_OLDEST), 0);
    note(8, OBJECT, WAKES_ALL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(taken_of_all(WAKES_LATEST), 8);
}

/* Who was signalled first runs first; a lock came from who released it last. */
static void order_of_notes(void **state)
{
    (void)state;
    for (uint64_t thread = 1; thread <= 4; thread++)
        note(thread, OBJECT, WAKES_ONE);
    assert_int_equal(taken_of_all(WAKES_LATEST), 4);
    assert_int_equal(taken_of_all(WAKES_OLDEST), 1);
    assert_int_equal(taken_of_all(WAKES_LATEST), 3);
    assert_int_equal(taken_of_all(WAKES_OLDEST), 2);
    assert_int_equal(taken_of_all(WAKES_OLDEST), 0);
}

/* Only what was left while the thread waited can have woken it. */
static void notes_of_the_wait(void **state)
{
    (void)state;
    uint64_t first = note(1, OBJECT, WAKES_ALL), second = note(2, OBJECT, WAKES_ALL);
    uint64_t third = note(3, OBJECT, WAKES_ALL);
    assert_int_equal(taken(first, third, WAKES_OLDEST), 1);
    assert_int_equal(taken(first + 1, third, WAKES_OLDEST), 2);
    assert_int_equal(taken(first, third, WAKES_LATEST), 3);
    assert_int_equal(taken(first, third - 1, WAKES_LATEST), 2);
    assert_int_equal(taken(second, second, WAKES_LATEST), 2);
    assert_int_equal(taken(second + 1, third - 1, WAKES_OLDEST), 0);
    assert_int_equal(taken(third + 1, UINT64_MAX, WAKES_OLDEST), 0);
    assert_int_equal(taken(0, first - 1, WAKES_LATEST), 0);
}

/* The last few are kept, whatever object they are about; one that is being written is passed over.
 */
static void as_many_notes_as_are_kept(void **state)
{
    (void)state;
    for (uint64_t thread = 1; thread <= WAKES_KEPT + 1; thread++)
        note(thread, OBJECT, WAKES_ALL);
    assert_int_equal(taken_of_all(WAKES_OLDEST), 2);
    atomic_store(&bucket.notes[1].state, 0); /* the second's */
    atomic_store(&bucket.notes[0].state, 0); /* the last's */
    assert_int_equal(taken_of_all(WAKES_OLDEST), 3);
    assert_int_equal(taken_of_all(WAKES_LATEST), WAKES_KEPT);
    for (int i = 0; i < WAKES_KEPT; i++)
        note(9, OTHER, WAKES_ALL);
    assert_int_equal(taken_of_all(WAKES_OLDEST), 0);
}

/* A note costs nothing where nobody waits, nor is it about who is no waiter. */
static void notes_where_somebody_waits(void **state)
{
    (void)state;
    struct wakeup_bucket *own = wakeup_bucket_of(OBJECT);
    wakeup_tell(OBJECT, WAKES_ALL);
    assert_int_equal(atomic_load(&own->next), 0);
    wakeup_join(own);
    wakeup_tell(OBJECT, WAKES_ALL);
    wakeup_leave(own);
    assert_int_equal(atomic_load(&own->next), 1);
    wakeup_tell(OBJECT, WAKES_ALL);
    assert_int_equal(atomic_load(&own->next), 1);
    assert_int_equal(atomic_load(&own->notes[0].object), OBJECT);
    assert_int_equal(atomic_load(&own->notes[0].thread_id), 0);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* Where a kind of wait finds no slot nothing is recorded, rather than under another's name. */
static void no_free_slot(void **state)
{
    (void)state;
    unsigned slot;
    while (rbwp_work_item_register("taken", &slot) == RBWP_OK)
        ;
    assert_false(waiter_prepare(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(notes_for_one_and_for_all, clear_notes),
        cmocka_unit_test_setup(order_of_notes, clear_notes),
        cmocka_unit_test_setup(notes_of_the_wait, clear_notes),
        cmocka_unit_test_setup(as_many_notes_as_are_kept, clear_notes),
        cmocka_unit_test(notes_where_somebody_waits),
        cmocka_unit_test(no_free_slot),
    };
    return cmocka_run_group_tests_name("waiter", tests, NULL, NULL);
}
