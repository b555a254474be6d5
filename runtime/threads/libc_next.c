/* SPDX-License-Identifier: Apache-2.0 */
#undef _FILE_OFFSET_BITS /* pread is pread here, and pread64 another one */
#include "libc_next.h"

#include <dlfcn.h>

void *libc_next_functions[REAL_COUNT];

static const char *const names[REAL_COUNT] = {
#define REAL_TEXT(name) #name,
    REAL_NAMES(REAL_TEXT)
#undef REAL_TEXT
};

void *libc_next_find(enum libc_next_name number)
{
    void *found = dlsym(RTLD_NEXT, names[number]);
    __atomic_store_n(&libc_next_functions[number], found, __ATOMIC_RELAXED);
    return found;
}

void *libc_next_find_version(const char *name, const char *version)
{
    void *found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    return found ? found : dlsym(RTLD_NEXT, name);
}

void real_prepare(void)
{
    for (unsigned i = 0; i < REAL_COUNT; i++)
        (void)libc_next_find((enum libc_next_name)i);
}
