/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of work_mask.h: the life of a slot's two bits, the scan order, and threads that race. */
#include "unit.h"

#include <pthread.h>
#include <string.h>

#include "work_mask.h"

/* A mask, a filter that allows all, and a cursor. */
struct scene {
    struct work_mask mask;
    struct work_filter filter;
    struct work_cursor cursor;
};

static void scene_make(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    work_filter_fill(&scene->filter);
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        work_mask_use(&scene->mask, slot);
}

static int claim(struct scene *scene)
{
    return work_mask_claim(&scene->mask, &scene->filter, &scene->cursor);
}

/* Each slot has bits of its own: all 256 can be activated, claimed and released one by one. */
static void test_slots_are_distinct(void **state)
{
    (void)state;
    struct scene s;
    scene_make(&s);
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++) {
        assert_int_equal(claim(&s), -1);
        assert_true(work_mask_activate(&s.mask, slot));
        assert_int_equal(claim(&s), slot);
        for (unsigned other = 0; other < RBWP_SLOTS_MAX; other++)
            assert_int_equal(work_mask_is_running(&s.mask, other), other == slot);
        assert_false(work_mask_release(&s.mask, slot, false));
        assert_false(work_mask_is_running(&s.mask, slot));
    }
}

/* With a few words in use, too, the scan goes on behind the last claim and comes back to its word.
 */
static void test_scan_of_used_words(void **state)
{
    (void)state;
    static const unsigned slots[] = {2, 7, 10, 18}; /* words 2, 7, 2, 2 */
    struct scene s;
    memset(&s, 0, sizeof s);
    work_filter_fill(&s.filter);
    assert_int_equal(claim(&s), -1);
    for (size_t i = 0; i < 4; i++) {
        work_mask_use(&s.mask, slots[i]);
        assert_true(work_mask_activate(&s.mask, slots[i]));
    }
    s.cursor = work_cursor_at(10);
    static const int order[] = {18, 7, 2, 10, -1};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(claim(&s), order[i]);
}

/* Only the step from idle to candidate asks for a wake-up: not a second one, not one in a run. */
static void test_activate_tells_who_must_wake(void **state)
{
    (void)state;
    struct scene s;
    scene_make(&s);
    assert_true(work_mask_activate(&s.mask, 9));
    assert_false(work_mask_activate(&s.mask, 9));
    assert_int_equal(claim(&s), 9);
    assert_false(work_mask_activate(&s.mask, 9));
}

/* An activation during a run is kept, but nobody can claim the slot before the run is over. */
static void test_activation_in_a_run_is_remembered(void **state)
{
    (void)state;
    struct scene s;
    scene_make(&s);
    work_mask_activate(&s.mask, 200);
    assert_int_equal(claim(&s), 200);
    work_mask_activate(&s.mask, 200);
    assert_int_equal(claim(&s), -1);
    assert_false(work_mask_has_candidate(&s.mask, &s.filter));
    assert_true(work_mask_release(&s.mask, 200, false));
    assert_int_equal(claim(&s), 200);
    assert_false(work_mask_release(&s.mask, 200, false));
    assert_int_equal(claim(&s), -1);
}

/* Requeue makes it a candidate; with an activation on top it is still one activation. */
static void test_requeue(void **state)
{
    (void)state;
    struct scene s;
    scene_make(&s);
    work_mask_activate(&s.mask, 31);
    assert_int_equal(claim(&s), 31);
    work_mask_activate(&s.mask, 31);
    assert_true(work_mask_release(&s.mask, 31, true));
    assert_int_equal(claim(&s), 31);
    work_mask_release(&s.mask, 31, false);
    assert_int_equal(claim(&s), -1);
}

/* Taking an activation back says whether there was one, and leaves a run alone. */
static void test_deactivate(void **state)
{
    (void)state;
    struct scene s;
    scene_make(&s);
    assert_false(work_mask_deactivate(&s.mask, 5));
    work_mask_activate(&s.mask, 5);
    work_mask_activate(&s.mask, 13);
    assert_true(work_mask_deactivate(&s.mask, 5));
    assert_int_equal(claim(&s), 13);
    assert_false(work_mask_deactivate(&s.mask, 13));
    assert_true(work_mask_is_running(&s.mask, 13));
}

/* Slots outside the filter are neither claimed nor seen. */
static void test_filter(void **state)
{
    (void)state;
    struct scene s;
    scene_make(&s);
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        work_filter_set(&s.filter, slot, slot == 77);
    work_mask_activate(&s.mask, 76);
    work_mask_activate(&s.mask, 85);
    assert_false(work_mask_has_candidate(&s.mask, &s.filter));
    assert_int_equal(claim(&s), -1);
    work_mask_activate(&s.mask, 77);
    assert_true(work_mask_has_candidate(&s.mask, &s.filter));
    assert_int_equal(claim(&s), 77);
    assert_true(work_filter_has(&s.filter, 77));
    assert_false(work_filter_has(&s.filter, 78));
}

/* All slots requeue all the time: each is claimed once before any is claimed again. */
static void test_scan_is_fair(void **state)
{
    (void)state;
    struct scene s;
    scene_make(&s);
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        work_mask_activate(&s.mask, slot);
    for (unsigned round = 0; round < 3; round++) {
        bool seen[RBWP_SLOTS_MAX] = {false};
        for (unsigned i = 0; i < RBWP_SLOTS_MAX; i++) {
            int slot = claim(&s);
            assert_true(slot >= 0);
            assert_false(seen[slot]);
            seen[slot] = true;
            work_mask_release(&s.mask, (unsigned)slot, true);
        }
    }
}

/* ---- threads ------------------------------------------------------------------ */

#define CLAIMERS 3
#define ARMERS 2
#define RACED_SLOTS 6
#define TICKETS 20000u

static struct {
    struct scene scene;
    _Atomic unsigned posted[RACED_SLOTS];
    unsigned
        seen[RACED_SLOTS]; /* plain: guarded by the running bit, which a race detector checks */
    _Atomic int inside[RACED_SLOTS];
    _Atomic unsigned doubles;
    _Atomic bool over;
} race;

static const unsigned raced_slot[RACED_SLOTS] = {0, 8, 16, 1, 9, 255}; /* shared words and own */

static unsigned index_of(int slot)
{
    unsigned i = 0;
    while (raced_slot[i] != (unsigned)slot)
        i++;
    return i;
}

static void *claimer(void *argument)
{
    (void)argument;
    struct work_cursor cursor = {0, 0};
    for (bool last_look = false; !last_look;) {
        last_look = atomic_load(&race.over);
        int slot;
        while ((slot = work_mask_claim(&race.scene.mask, &race.scene.filter, &cursor)) >= 0) {
            unsigned i = index_of(slot);
            if (atomic_exchange_explicit(&race.inside[i], 1, memory_order_relaxed))
                atomic_fetch_add(&race.doubles, 1);
            race.seen[i] = atomic_load_explicit(&race.posted[i], memory_order_relaxed);
            atomic_store_explicit(&race.inside[i], 0, memory_order_relaxed);
            work_mask_release(&race.scene.mask, (unsigned)slot,
                              race.seen[i] % 7 == 0 && !last_look);
        }
    }
    return NULL;
}

static void *armer(void *argument)
{
    (void)argument;
    for (unsigned n = 0; n < TICKETS; n++) {
        unsigned i = n % RACED_SLOTS;
        atomic_fetch_add_explicit(&race.posted[i], 1, memory_order_relaxed);
        work_mask_activate(&race.scene.mask, raced_slot[i]);
    }
    return NULL;
}

/* Claimers and armers race: no slot is held twice, and each activation is followed by a run that
 * sees what was written before it. */
static void test_race(void **state)
{
    (void)state;
    pthread_t threads[CLAIMERS + ARMERS];
    scene_make(&race.scene);
    for (int i = 0; i < CLAIMERS + ARMERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < CLAIMERS ? claimer : armer, NULL),
                         0);
    for (int i = CLAIMERS; i < CLAIMERS + ARMERS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&race.over, true);
    for (int i = 0; i < CLAIMERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(race.doubles, 0);
    for (unsigned i = 0; i < RACED_SLOTS; i++)
        assert_int_equal(race.seen[i], race.posted[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_are_distinct),
        cmocka_unit_test(test_scan_of_used_words),
        cmocka_unit_test(test_activate_tells_who_must_wake),
        cmocka_unit_test(test_activation_in_a_run_is_remembered),
        cmocka_unit_test(test_requeue),
        cmocka_unit_test(test_deactivate),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_scan_is_fair),
        cmocka_unit_test(test_race),
    };
    return cmocka_run_group_tests_name("work_mask", tests, NULL, NULL);
}
