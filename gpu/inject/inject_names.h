/* SPDX-License-Identifier: Apache-2.0 */
/* inject_names.h - numbers of names for the profile. Any thread. */
#ifndef INJECT_NAMES_H
#define INJECT_NAMES_H

#include <stdint.h>

/* Of a text; 0 where there is no room for another one. */
uint64_t inject_name(const char *name);
/* As people write it: the compiler's names of C++ are taken apart where the program has, or can
 * load, the C++ library that does so. One thread at a time. */
uint64_t inject_kernel_name(const char *symbol);

/* Of a function that launches, by its name in the driver or the runtime, which stays where it is;
 * function: what it launched, NULL for no kernel. One thread at a time. */
uint64_t inject_call_name(const char *called, const void *function);

#endif /* INJECT_NAMES_H */
