/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi.h - for tests that only have to compile: our declarations of a driver against its own header.
 *
 * The test gives our type names their real meaning and then compares each prototype as a whole;
 * that the stand-ins have the same size and are of the same kind is checked beside it.
 */
#ifndef ABI_H
#define ABI_H

#include <stddef.h>

/* `function` has exactly the type of member `member` of `functions`. */
#define ABI_PROTOTYPE(functions, member, function)                                                 \
    _Static_assert(                                                                                \
        __builtin_types_compatible_p(__typeof__(((functions *)0)->member), __typeof__(&function)), \
        #function " has another prototype");
#define ABI_SAME(ours, real) _Static_assert((ours) == (real), #ours " is not " #real)
/* What our stand-in for a type is passed as: an integer of that size, or a pointer. */
#define ABI_PASSED_AS(real, stand_in)                                                              \
    _Static_assert(sizeof(real) == sizeof(stand_in) &&                                             \
                       __builtin_classify_type((real)0) / 5 ==                                     \
                           __builtin_classify_type((stand_in)0) / 5,                               \
                   #real " is not passed as " #stand_in)
#define ABI_FIELD(ours, our_field, real, real_field)                                               \
    _Static_assert(offsetof(ours, our_field) == offsetof(real, real_field) &&                      \
                       sizeof(((ours *)0)->our_field) == sizeof(((real *)0)->real_field),          \
                   #our_field " is not where " #real_field " is")

#endif /* ABI_H */
