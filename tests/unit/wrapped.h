/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrapped.h - the names of what ld's --wrap puts between a program and a call with an offset, as
 * the C library's header chose them: with 64-bit offsets glibc's pwrite is pwrite64, musl has one
 * pwrite, of 64 bits. NAMED_(call): of a call that a preloaded library stands in for. A program
 * wraps both names.
 */
#ifndef WRAPPED_H
#define WRAPPED_H

#include <unistd.h> /* any header says by which C library */

#ifdef __USE_FILE_OFFSET64
#define WRAP_(name) __wrap_##name##64
#define REAL_(name) __real_##name##64
#define NAMED_(name) #name "64"
#ifdef __LP64__ /* who calls it by its other name, as gcc's coverage does, means the same */
#define WRAP_TOO_(name)                                                                            \
    extern __typeof__(WRAP_(name)) __wrap_##name __attribute__((alias("__wrap_" #name "64")))
#endif
#else
#define WRAP_(name) __wrap_##name
#define REAL_(name) __real_##name
#define NAMED_(name) #name
#endif
#ifndef WRAP_TOO_
#define WRAP_TOO_(name) extern __typeof__(WRAP_(name)) WRAP_(name)
#endif

#endif
