/* SPDX-License-Identifier: Apache-2.0 */
/* A library that takes its time to be loaded: the loader's lock is held as long. */
#include <time.h>

static __attribute__((constructor)) void wait(void)
{
    struct timespec left = {0, 160000000};
    while (nanosleep(&left, &left) != 0)
        ;
}
