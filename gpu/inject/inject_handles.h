/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_handles.h - what the handles mean that a program launches by.
 *
 * A launch may name a function or, since CUDA 12, a kernel of no context, and the driver need not
 * distinguishes them for who asks. So each is kept as the program got it; what it got in another
 * way (the CUDA runtime's own kernels) is not known here and never asked about.
 */
#ifndef INJECT_HANDLES_H
#define INJECT_HANDLES_H

#include <stdbool.h>

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

#endif /* INJECT_HANDLES_H */
