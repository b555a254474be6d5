// SPDX-License-Identifier: Apache-2.0
/*
 * cupti_peer.c - the least that a tool which wants kernels' times asks of CUPTI, to see what of a
 * recording's cost is CUPTI's own: records of concurrent kernels go into buffers that are given
 * back unread. A library for CUDA_INJECTION64_PATH; h200_record.py variants compiles and runs it.
 *
 * CUPTI_PEER: words, what is done beside that:
 *     calls      callbacks before and behind each launch, which do nothing
 *     api        CUPTI writes records of the launches' calls
 *     clock      CUPTI reads our clock, not its own
 *     copies     records of copies and sets, too
 *     parsed     records are walked through
 * CUPTI_PEER_COUNT: a file for how many buffers were filled, and records of kernels in them
 * (parsed), when the process ends.
 */
#define _GNU_SOURCE
#include "inject_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BUFFER_BYTES = 1 << 20, BUFFERS_MAX = 256, FOR_LAUNCHES = 6 };

static struct cupti_functions cupti;
static cupti_result (*enable_driver_api)(uint32_t id, uint8_t enable);
static const char *words;
static int parses;
static cupti_subscriber subscriber;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the following
static uint8_t *spare[BUFFERS_MAX];
static int spare_count;
static unsigned long filled_count, kernel_count;

static int has(const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += bytes)
        if ((at == words || at[-1] == ',') && (at[bytes] == ',' || !at[bytes]))
            return 1;
    return 0;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint8_t *new_buffer(void)
{
    void *buffer =
        mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return buffer == MAP_FAILED ? NULL : buffer;
}

static void tell(void)
{
    const char *path = getenv("CUPTI_PEER_COUNT");
    cupti.cuptiActivityFlushAll(CUPTI_FLUSH_FORCED);
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%lu %lu\n", filled_count, kernel_count);
    fclose(file);
}

static void wanted(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
    static int asked;
    pthread_mutex_lock(&lock);
    if (!asked++)
        atexit(tell);
    *buffer = spare_count ? spare[--spare_count] : NULL;
    pthread_mutex_unlock(&lock);
    if (!*buffer)
        *buffer = new_buffer();
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *records_max = 0;
}

static unsigned long kernels_in(uint8_t *buffer, size_t bytes)
{
    cupti_record *record = NULL;
    unsigned long count = 0;
    while (cupti.cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_OK)
        count += *(const uint32_t *)record == CUPTI_KERNEL;
    return count;
}

static void filled(cuda_context context, uint32_t stream, uint8_t *buffer, size_t bytes,
                   size_t valid_bytes)
{
    (void)context, (void)stream, (void)bytes;
    if (!buffer)
        return;
    unsigned long kernels = parses && valid_bytes ? kernels_in(buffer, valid_bytes) : 0;
    pthread_mutex_lock(&lock);
    filled_count++;
    kernel_count += kernels;
    if (spare_count < BUFFERS_MAX)
        spare[spare_count++] = buffer;
    pthread_mutex_unlock(&lock);
}

static void called(void *context, cupti_domain domain, uint32_t id, const void *call)
{
    (void)context, (void)domain, (void)id, (void)call;
}

static int load(void)
{
    static const char *const paths[] = {"libcupti.so.13", "libcupti.so.12",
                                        "/usr/local/cuda/lib64/libcupti.so", "libcupti.so"};
    const char *given = getenv("RBWP_CUPTI");
    void *library = given ? dlopen(given, RTLD_NOW) : NULL;
    for (int i = 0; i < 2 && !library; i++)
        library = dlopen(paths[i], RTLD_NOW | RTLD_NOLOAD);
    for (int i = 0; i < 4 && !library; i++)
        library = dlopen(paths[i], RTLD_NOW);
    if (!library)
        return 0;
#define LOAD(symbol, optional, parameters)                                                         \
    *(void **)(void *)&cupti.symbol = dlsym(library, #symbol);
    CUPTI_FUNCTIONS(LOAD)
#undef LOAD
    *(void **)(void *)&enable_driver_api = dlsym(library, "cuptiActivityEnableDriverApi");
    return cupti.cuptiActivityRegisterCallbacks && cupti.cuptiSubscribe;
}

static const uint32_t launches[FOR_LAUNCHES] = {CUPTI_CALL_cuLaunchKernel,
                                                CUPTI_CALL_cuLaunchKernel_ptsz,
                                                CUPTI_CALL_cuLaunchKernelEx,
                                                CUPTI_CALL_cuLaunchKernelEx_ptsz,
                                                CUPTI_CALL_cuLaunchCooperativeKernel,
                                                CUPTI_CALL_cuLaunchCooperativeKernel_ptsz};

static int begin(void)
{
    int bad = has("calls") ? cupti.cuptiSubscribe(&subscriber, called, NULL) : 0;
    if (has("clock"))
        bad |= cupti.cuptiActivityRegisterTimestampCallback(now_ns);
    return bad | cupti.cuptiActivityRegisterCallbacks(wanted, filled);
}

static int ask(void)
{
    static const int kinds[] = {CUPTI_KERNEL, CUPTI_COPY, CUPTI_PEER_COPY, CUPTI_SET};
    int bad = 0;
    for (int i = 0; i < FOR_LAUNCHES && has("calls"); i++)
        bad |= cupti.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, launches[i]);
    for (int i = 0; i < FOR_LAUNCHES && has("api"); i++)
        bad |= enable_driver_api ? enable_driver_api(launches[i], 1) : 1;
    for (int i = 0; i < (has("copies") ? 4 : 1); i++)
        bad |= cupti.cuptiActivityEnable(kinds[i]);
    return bad;
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *told = getenv("CUPTI_PEER");
    int code = -1;
    words = strdup(told ? told : "");
    parses = has("parsed");
    if (!load() || (code = begin() | ask()) != 0)
        fprintf(stderr, "cupti_peer: not all of \"%s\" works: %d\n", words, code);
    return 1;
}
