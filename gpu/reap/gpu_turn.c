/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_turn.h"

#include <sched.h>
#include <time.h>

#define LOOKS_AT_ONCE 200 /* some 100 ns, as long as a driver's call that does not wait */
#define YIELDS 20
#define NAP_NS 50000 /* who has the turn may be of lower priority, and need this CPU */

void gpu_turn_wait(struct gpu_turn *turn)
{
    for (int look = 0; atomic_load_explicit(&turn->taken, memory_order_relaxed); look++) {
        if (look < LOOKS_AT_ONCE)
            continue;
        if (look < LOOKS_AT_ONCE + YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    }
}
