/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_execute.c - the fake driver as one that computes.
 *
 * transfer.cl is taken as C, a thread of a block after the other: so only kernels whose threads do
 * not wait for each other can be run. Memory is a file without a name, which other
 * processes reach through /proc; what it is stands in a page in front of it.
 */
#include "fake_execute.h"

#include "fake.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the kernels ---- */

static _Thread_local struct {
    unsigned thread, block[2];
} here;

typedef unsigned char fake_u8;
typedef unsigned short fake_u16;
typedef unsigned fake_u32;
typedef unsigned long long fake_u64;
typedef fake_u64 fake_u128 __attribute__((vector_size(16)));
#define uchar fake_u8
#define ushort fake_u16
#define uint fake_u32
#define ulong fake_u64
#define long long long /* OpenCL's has 64 bits everywhere */
#define ulong2 fake_u128
#define __OPENCL_C_VERSION__ 200
#define cl_khr_fp64 1
#define __kernel static
#define __global
#define __local
#define CLK_LOCAL_MEM_FENCE 0
#define get_local_id(dimension) here.thread
#define get_group_id(dimension) here.block[dimension]
#define barrier(fence) ((void)(fence))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "kernels/transfer.cl"
#pragma GCC diagnostic pop
#undef long

typedef void (*kernel_fn)(u8 *target, const u8 *source, const struct transfer_launch launch);

static const struct {
    const char *name;
    kernel_fn run;
} kernels[] = {
    {"rbwp_copy_1", rbwp_copy_1},         {"rbwp_copy_2", rbwp_copy_2},
    {"rbwp_copy_4", rbwp_copy_4},         {"rbwp_copy_8", rbwp_copy_8},
    {"rbwp_copy_16", rbwp_copy_16},       {"rbwp_reduce_i32", rbwp_reduce_i32},
    {"rbwp_reduce_i64", rbwp_reduce_i64}, {"rbwp_reduce_u32", rbwp_reduce_u32},
    {"rbwp_reduce_u64", rbwp_reduce_u64}, {"rbwp_reduce_f32", rbwp_reduce_f32},
    {"rbwp_reduce_f64", rbwp_reduce_f64},
};

bool fake_executes(void)
{
    return getenv("RBWP_FAKE_GPUS") != NULL;
}

void *fake_function(char *module, const char *name)
{
    for (size_t i = 0; fake_executes() && i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return (void *)(uintptr_t)kernels[i].name;
    return strstr(module, name);
}

static void run(kernel_fn kernel, void **arguments)
{
    u8 *target, *source;
    struct transfer_launch launch;
    memcpy(&target, arguments[0], sizeof target);
    memcpy(&source, arguments[1], sizeof source);
    memcpy(&launch, arguments[2], sizeof launch);
    for (here.block[1] = 0; here.block[1] < TRANSFER_PIECES; here.block[1]++)
        for (here.block[0] = 0; here.block[0] < launch.blocks; here.block[0]++)
            for (here.thread = 0; here.thread < TRANSFER_THREADS; here.thread++)
                kernel(target, source, launch); /* pieces that are not used have no indices */
}

void fake_execute(const char *kernel, void **arguments)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (kernel == kernels[i].name)
            run(kernels[i].run, arguments);
}

/* ---- memory ---- */

enum { PAGE = 4096 };

struct head {
    size_t bytes; /* with this page */
    int file;     /* -1: mapped, of another */
    pid_t process;
};

static struct head *head_of(void *memory)
{
    return (struct head *)((char *)memory - PAGE);
}

/* The memory behind the head, NULL if it cannot be mapped. */
static void *map(int file, size_t bytes)
{
    char *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return all == MAP_FAILED ? NULL : all + PAGE;
}

void *fake_memory_alloc(size_t bytes)
{
    if (!fake_executes())
        return malloc(bytes);
    const struct head head = {bytes + PAGE, memfd_create("fake GPU", MFD_CLOEXEC), getpid()};
    void *memory = NULL;
    if (head.file >= 0 && ftruncate(head.file, (off_t)head.bytes) == 0)
        memory = map(head.file, head.bytes);
    if (memory)
        *head_of(memory) = head;
    return memory;
}

void fake_memory_free(void *memory)
{
    if (!fake_executes() || !memory) {
        free(memory);
        return;
    }
    const struct head head = *head_of(memory);
    (void)munmap(head_of(memory), head.bytes);
    (void)close(head.file);
}

bool fake_memory_share(void *memory, char words[64])
{
    memset(words, 0, 64);
    if (fake_executes())
        memcpy(words, head_of(memory), sizeof(struct head));
    else
        memcpy(words, &memory, sizeof memory);
    return true;
}

void *fake_memory_map(const char words[64])
{
    struct head head;
    void *memory;
    char path[64];
    if (!fake_executes()) {
        memcpy(&memory, words, sizeof memory);
        return memory;
    }
    memcpy(&head, words, sizeof head);
    if (head.process == getpid()) /* as drivers do */
        return NULL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)head.process, head.file);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    memory = file < 0 ? NULL : map(file, head.bytes);
    if (file >= 0)
        (void)close(file);
    return memory;
}

void fake_memory_unmap(void *memory)
{
    if (fake_executes())
        (void)munmap(head_of(memory), head_of(memory)->bytes);
}
