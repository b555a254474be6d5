/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked into a second rbwp: allocation number $RBWP_FAIL_ALLOCATION finds no memory. How many
 * there were is written to the file $RBWP_ALLOCATIONS at the end.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static atomic_ulong allocations;
static unsigned long failing;

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("RBWP_FAIL_ALLOCATION");
    failing = number ? strtoul(number, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("RBWP_ALLOCATIONS");
    FILE *file = path ? fopen(path, "we") : NULL;
    if (file) {
        fprintf(file, "%lu\n", atomic_load(&allocations));
        fclose(file);
    }
}

static int fails(void)
{
    return atomic_fetch_add(&allocations, 1) + 1 == failing;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}
