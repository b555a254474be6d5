/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disabled.c - a function with every recording call in it. Compiled once with
 * RBWP_DISABLE and once with WITHOUT_CALLS, to be compared by disabled.sh.
 */
#ifdef WITHOUT_CALLS
#define CALL(call) (void)0
#else
#include <rbwp_record.h>
#define CALL(call) call
#endif

int work(int amount);

int step(int amount)
{
    int sum = 0;
    CALL(rbwp_set_time_limit(1000));
    CALL(rbwp_begin(3));
    for (int i = 0; i < amount; i++) {
        CALL(rbwp_fine_begin((unsigned)i));
        sum += work(i);
        CALL(rbwp_fine_end());
        CALL(rbwp_gpu_work(7, 3, i, amount));
    }
    CALL(rbwp_set_worked(sum != 0));
    CALL(rbwp_end());
    CALL(rbwp_begin_at(3, 1));
    CALL(rbwp_fine_begin_at(4, 2));
    CALL(rbwp_fine_end_at(3));
    CALL(rbwp_end_at(4));
    CALL(rbwp_discard());
    return sum;
}
