/* SPDX-License-Identifier: Apache-2.0 */
/* How waits of threads are recorded, without the calls that runtime/threads stands in for. */
#include "rbwp_record.h"
#include "unit.h"
#include "waiter.h"

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_free_slot)};
    return cmocka_run_group_tests_name("waiter", tests, NULL, NULL);
}
