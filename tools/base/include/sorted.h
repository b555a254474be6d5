/* SPDX-License-Identifier: Apache-2.0 */
/* sorted.h - orders, places in sorted lists, and heaps. */
#ifndef SORTED_H
#define SORTED_H

#include <stddef.h>

/* Sets at to the first number below count for which before, an expression of it, is false; to count
 * where there is none. before is true of all numbers below that one and false of all behind it. */
#define SORTED_FIND(at, count, before)                                                             \
    do {                                                                                           \
        __typeof__(at) low_ = 0, end_ = (count);                                                   \
        while (low_ < end_) {                                                                      \
            (at) = low_ + (end_ - low_) / 2;                                                       \
            if (before)                                                                            \
                low_ = (at) + 1;                                                                   \
            else                                                                                   \
                end_ = (at);                                                                       \
        }                                                                                          \
        (at) = low_;                                                                               \
    } while (0)

/* In a function that compares *a with *b: returns where they differ in a member. With a and b
 * changed about, the greater comes first. */
#define SORTED_BY(a, b, member)                                                                    \
    do {                                                                                           \
        if ((a)->member != (b)->member)                                                            \
            return (a)->member < (b)->member ? -1 : 1;                                             \
    } while (0)

/* A comparison for qsort and bsearch: by key alone, an expression of the pointer it. */
#define SORTED_COMPARE(name, type, key)                                                            \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *it = left;                                                                     \
        const __typeof__(key) a = (key);                                                           \
        it = right;                                                                                \
        const __typeof__(key) b = (key);                                                           \
        return (a > b) - (a < b);                                                                  \
    }

/* Moves the item at a place of a heap down to where it belongs; less, an expression of the pointers
 * a and b: *a belongs above *b. */
#define HEAP_SIFT(heap, count, place, less)                                                        \
    for (size_t at_ = (place), least_ = at_;; at_ = least_) {                                      \
        for (size_t child_ = 2 * at_ + 1; child_ <= 2 * at_ + 2 && child_ < (count); child_++) {   \
            const __typeof__(*(heap)) *a = &(heap)[child_], *b = &(heap)[least_];                  \
            if (less)                                                                              \
                least_ = child_;                                                                   \
        }                                                                                          \
        if (least_ == at_)                                                                         \
            break;                                                                                 \
        const __typeof__(*(heap)) moved_ = (heap)[at_];                                            \
        (heap)[at_] = (heap)[least_];                                                              \
        (heap)[least_] = moved_;                                                                   \
    }

#endif /* SORTED_H */
