/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked into a second rbwp: allocation number $RBWP_FAIL_ALLOCATION finds no memory. How many
 * there were is written to the file $RBWP_ALLOCATIONS at the end. zlib's are among them.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

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

/* ---- zlib, which may be a shared library with allocations of its own ------------------------- */

static void *zlib_allocates(void *context, unsigned count, unsigned bytes)
{
    (void)context;
    return calloc(count, bytes);
}

static void zlib_frees(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static z_streamp counted(z_streamp stream)
{
    stream->zalloc = zlib_allocates;
    stream->zfree = zlib_frees;
    return stream;
}

int __real_inflateInit_(z_streamp stream, const char *version, int bytes);
int __wrap_inflateInit_(z_streamp stream, const char *version, int bytes);
int __wrap_inflateInit_(z_streamp stream, const char *version, int bytes)
{
    return __real_inflateInit_(counted(stream), version, bytes);
}

int __real_inflateInit2_(z_streamp stream, int bits, const char *version, int bytes);
int __wrap_inflateInit2_(z_streamp stream, int bits, const char *version, int bytes);
int __wrap_inflateInit2_(z_streamp stream, int bits, const char *version, int bytes)
{
    return __real_inflateInit2_(counted(stream), bits, version, bytes);
}

int __real_deflateInit_(z_streamp stream, int level, const char *version, int bytes);
int __wrap_deflateInit_(z_streamp stream, int level, const char *version, int bytes);
int __wrap_deflateInit_(z_streamp stream, int level, const char *version, int bytes)
{
    return __real_deflateInit_(counted(stream), level, version, bytes);
}

int __real_deflateInit2_(z_streamp stream, int level, int method, int bits, int memory,
                         int strategy, const char *version, int bytes);
int __wrap_deflateInit2_(z_streamp stream, int level, int method, int bits, int memory,
                         int strategy, const char *version, int bytes);
int __wrap_deflateInit2_(z_streamp stream, int level, int method, int bits, int memory,
                         int strategy, const char *version, int bytes)
{
    return __real_deflateInit2_(counted(stream), level, method, bits, memory, strategy, version,
                                bytes);
}
