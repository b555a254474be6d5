/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_point.h - places where a test can hold a thread inside a race.
 *
 * TEST_POINT stands after an effect that other threads can see. Compiled with
 * RBWP_TEST_POINTS it calls the test's function, if one is set, with the name
 * of the place; otherwise it is no code at all.
 */
#ifndef TEST_POINT_H
#define TEST_POINT_H

#ifdef RBWP_TEST_POINTS
#include <stdatomic.h>
#include <stddef.h>

typedef void (*test_point_fn)(const char *place);
/* Defined by the test; set before the threads it is to hold are started. */
extern _Atomic(test_point_fn) test_point_hook;

#define TEST_POINT(place)                                                                          \
    do {                                                                                           \
        test_point_fn hook_ = atomic_load_explicit(&test_point_hook, memory_order_acquire);        \
        if (hook_)                                                                                 \
            hook_(place);                                                                          \
    } while (0)
#else
#define TEST_POINT(place) ((void)0)
#endif

#endif /* TEST_POINT_H */
