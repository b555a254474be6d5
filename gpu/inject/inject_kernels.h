/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_kernels.h - the names of kernels by the handles that a program launches by: as it asked
 * for them. The driver is not asked, as it need not tell handles of one sort from those of another.
 * Any thread.
 */
#ifndef INJECT_KERNELS_H
#define INJECT_KERNELS_H

#include <stdbool.h>

/* A handle that it got by a name (which is copied): of a module, as who uses the driver does, or of
 * a library, as the CUDA runtime does; or from another handle. */
void inject_kernel_got(const void *handle, const char *name, bool of_module);
void inject_kernel_got_from(const void *handle, const void *other);
/* It stays for ever; NULL: not known. */
const char *inject_kernel_named(const void *handle);
bool inject_kernel_of_module(const void *handle);

/* In a forked child. */
void inject_kernels_forked(void);

#endif /* INJECT_KERNELS_H */
