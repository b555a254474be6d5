/* SPDX-License-Identifier: Apache-2.0 */
/* inject_names.h - numbers of names for the profile. Any thread. */
#ifndef INJECT_NAMES_H
#define INJECT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Of a text; 0 where there is no room for another one. */
uint64_t inject_name(const char *name);
/* As people write it: the compiler's names of C++ are taken apart where the program has, or can
 * load, the C++ library that does so. One thread at a time. */
uint64_t inject_kernel_name(const char *symbol);

/* Of a function that launches, by its name in the driver or the runtime, which stays where it is;
 * function: what it launched, NULL for no kernel. One thread at a time. */
uint64_t inject_call_name(const char *called, const void *function);

/* The names of kernels by the handles that a program launches by: as it asked
 * for them. The driver is not asked, as handles of one sort may equal those of another.
 * Any thread. */

/* A handle that it got by a name (which is copied): of a module, as who uses the driver does, or of
 * a library, as the CUDA runtime does; or from another handle. */
void inject_kernel_got(const void *handle, const char *name, bool of_module);
void inject_kernel_got_from(const void *handle, const void *other);
/* It stays for ever; NULL: not known. */
const char *inject_kernel_named(const void *handle);
bool inject_kernel_of_module(const void *handle);

/* ---- handles --------------------------------------------------------------------------------- */

/*
 * What the handles mean that a program launches by.
 *
 * A launch may name a function or, since CUDA 12, a kernel of no context, and the driver need not
 * distinguishes them for who asks. So each is kept as the program got it; what it got in another
 * way (the CUDA runtime's own kernels) is not known here and never asked about.
 */

enum inject_handle_kind {
    HANDLE_GONE,
    HANDLE_FUNCTION,        /* from: its module */
    HANDLE_KERNEL,          /* from: its library */
    HANDLE_KERNELS_FUNCTION /* from: the kernel */
};

struct inject_handle {
    enum inject_handle_kind kind;
    const void *handle;
    void *from;
};

void inject_handle_made(struct inject_handle handle);
/* All from a module or library. */
void inject_handles_gone(const void *from);
/* HANDLE_GONE: it is not known. */
struct inject_handle inject_handle_of(const void *handle);

/* In a forked child: of kernels and of handles. */
void inject_names_forked(void);

#endif /* INJECT_NAMES_H */
