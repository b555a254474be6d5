/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_names.h"

#include "grow.h"
#include "index_map.h"
#include "rbwp_rows.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_KEPT = 4096, NAME_MAX_BYTES = 4096 };

/* Kernels that were met, by where their name stands: it stands there as long as its module does. */
static struct {
    const char *at;
    char *text;
    uint64_t number;
} names_kept[NAMES_KEPT];

uint64_t inject_name(const char *name)
{
    uint64_t number;
    (void)!rbwp_name_intern(name, strnlen(name, NAME_MAX_BYTES), &number);
    return number;
}

typedef char *demangle_fn(const char *name, char *room, size_t *bytes, int *status);

static demangle_fn *find_demangle(void)
{
    static demangle_fn *demangle;
    static int looked;
    if (looked++)
        return demangle;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (library)
        *(void **)(void *)&demangle = dlsym(library, "__cxa_demangle");
    looked = 1;
    return demangle;
}

static uint64_t names_number_of(const char *symbol)
{
    demangle_fn *demangle = strncmp(symbol, "_Z", 2) == 0 ? find_demangle() : NULL;
    int status = 0;
    char *shown = demangle ? demangle(symbol, NULL, NULL, &status) : NULL;
    uint64_t number = inject_name(shown ? shown : symbol);
    free(shown);
    return number;
}

uint64_t inject_kernel_name(const char *symbol)
{
    if (!symbol)
        return 0;
    size_t at = hash_place((uintptr_t)symbol) >> 20;
    if (names_kept[at].at == symbol && strcmp(names_kept[at].text, symbol) == 0)
        return names_kept[at].number;
    uint64_t number = names_number_of(symbol);
    char *copy = strdup(symbol);
    free(names_kept[at].text);
    names_kept[at].text = copy;
    names_kept[at].at = copy ? symbol : NULL;
    names_kept[at].number = number;
    return number;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Without _ptsz, _v2 and the like. */
static size_t bytes_of_call(const char *called)
{
    size_t bytes = strlen(called);
    for (;;) {
        size_t end = bytes;
        while (end && called[end - 1] >= '0' && called[end - 1] <= '9')
            end--;
        if (end < bytes && end >= 2 && memcmp(called + end - 2, "_v", 2) == 0)
            bytes = end - 2;
        else if (bytes >= 5 && (memcmp(called + bytes - 5, "_ptsz", 5) == 0 ||
                                memcmp(called + bytes - 5, "_ptds", 5) == 0))
            bytes -= 5;
        else
            return bytes;
    }
}

/* The runtime's launches of its own kernels come to the driver by these. */
static const char *by_runtime(const char *driver)
{
    static const char *const pairs[][2] = {
        {"cuLaunchKernel", "cudaLaunchKernel"},
        {"cuLaunchKernelEx", "cudaLaunchKernelExC"},
        {"cuLaunchCooperativeKernel", "cudaLaunchCooperativeKernel"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(driver, pairs[i][0]) == 0)
            return pairs[i][1];
    return driver;
}

uint64_t inject_call_name(const char *called, const void *function)
{
    enum { CALLS = 64 };
    static struct {
        const char *called;
        bool own;
        uint64_t number;
    } calls[CALLS]; /* a program makes few of them */
    const bool own = function && !inject_kernel_of_module(function);
    char name[64];
    size_t at = 0;
    if (!called)
        return 0;
    while (at < CALLS && calls[at].called && (calls[at].called != called || calls[at].own != own))
        at++;
    if (at < CALLS && calls[at].called)
        return calls[at].number;
    size_t bytes = bytes_of_call(called);
    snprintf(name, sizeof name, "%.*s", bytes < sizeof name ? (int)bytes : 0, called);
    const char *shown = own ? by_runtime(name) : name;
    uint64_t number;
    (void)!rbwp_name_intern(shown, strlen(shown), &number);
    if (at < CALLS) {
        calls[at].own = own;
        calls[at].number = number;
        calls[at].called = called;
    }
    return number;
}

enum { KERNELS_MAX = 1 << 19 };

/* Handles of what was unloaded stay, until another function has them. */
struct known_kernel {
    const void *handle;
    const char *name;
    bool of_module;
};
static pthread_rwlock_t kernels_lock = PTHREAD_RWLOCK_INITIALIZER; /* guards all below */
static struct known_kernel *kernels;
static char **texts; /* one copy of each */
static uint32_t kernel_count, kernel_room, text_count, text_room;
static struct index_map kernel_places, text_places;

static struct known_kernel *kernels_find(const void *handle)
{
    for (uint32_t step = 0, i;
         (i = index_map_next(&kernel_places, (uintptr_t)handle, &step)) != INDEX_NONE;)
        if (kernels[i].handle == handle)
            return &kernels[i];
    return NULL;
}

static const char *kernels_kept(const char *text)
{
    const uint64_t hash = text_hash(TEXT_HASH_FIRST, text, strlen(text));
    for (uint32_t step = 0, i; (i = index_map_next(&text_places, hash, &step)) != INDEX_NONE;)
        if (strcmp(texts[i], text) == 0)
            return texts[i];
    if (text_count == KERNELS_MAX ||
        !grow_array32(&texts, &text_room, text_count + 1, sizeof *texts) ||
        !(texts[text_count] = strdup(text)))
        return NULL;
    if (index_map_add(&text_places, hash, text_count))
        return texts[text_count++];
    free(texts[text_count]);
    return NULL;
}

static void kernels_set(const void *handle, const char *name, bool of_module)
{
    struct known_kernel *known = kernels_find(handle);
    if (!known && kernel_count < KERNELS_MAX &&
        grow_array32(&kernels, &kernel_room, kernel_count + 1, sizeof *kernels) &&
        index_map_add(&kernel_places, (uintptr_t)handle, kernel_count))
        known = &kernels[kernel_count++];
    if (known)
        *known = (struct known_kernel){handle, name, of_module};
}

void inject_kernel_got(const void *handle, const char *name, bool of_module)
{
    if (!handle || !name)
        return;
    pthread_rwlock_wrlock(&kernels_lock);
    kernels_set(handle, kernels_kept(name), of_module);
    pthread_rwlock_unlock(&kernels_lock);
}

static struct known_kernel kernel_of(const void *handle)
{
    pthread_rwlock_rdlock(&kernels_lock);
    const struct known_kernel *known = kernels_find(handle);
    const struct known_kernel kernel = known ? *known : (struct known_kernel){0};
    pthread_rwlock_unlock(&kernels_lock);
    return kernel;
}

void inject_kernel_got_from(const void *handle, const void *other)
{
    const char *name = inject_kernel_named(other);
    if (!handle)
        return;
    pthread_rwlock_wrlock(&kernels_lock);
    kernels_set(handle, name, false);
    pthread_rwlock_unlock(&kernels_lock);
}

const char *inject_kernel_named(const void *handle)
{
    return kernel_of(handle).name;
}

bool inject_kernel_of_module(const void *handle)
{
    return kernel_of(handle).of_module;
}

/* ---- handles --------------------------------------------------------------------------------- */

static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct inject_handle *handles;
static uint32_t handle_count, handle_room;
static struct index_map handle_places;

static struct inject_handle *handles_find(const void *handle)
{
    for (uint32_t step = 0, i;
         (i = index_map_next(&handle_places, (uintptr_t)handle, &step)) != INDEX_NONE;)
        if (handles[i].handle == handle)
            return &handles[i];
    return NULL;
}

/* What is gone makes room before there is more of it. */
static void handles_pack(void)
{
    const uint32_t count = handle_count;
    handle_count = 0;
    index_map_clear(&handle_places);
    for (uint32_t i = 0; i < count; i++)
        if (handles[i].kind != HANDLE_GONE) {
            index_map_add(&handle_places, (uintptr_t)handles[i].handle, handle_count);
            handles[handle_count++] = handles[i];
        }
}

static void handles_set(struct inject_handle handle)
{
    struct inject_handle *known = handles_find(handle.handle);
    if (known) {
        *known = handle;
        return;
    }
    if (handle_count == handle_room) {
        handles_pack();
        (void)grow_array32(&handles, &handle_room, handle_count + handle_count / 2 + 1,
                           sizeof *handles);
    }
    if (handle_count < handle_room &&
        index_map_add(&handle_places, (uintptr_t)handle.handle, handle_count))
        handles[handle_count++] = handle;
}

void inject_handle_made(struct inject_handle handle)
{
    pthread_mutex_lock(&handles_lock);
    if (handle.handle)
        handles_set(handle);
    pthread_mutex_unlock(&handles_lock);
}

static struct inject_handle handles_known(const void *handle)
{
    const struct inject_handle *known = handles_find(handle);
    return known ? *known : (struct inject_handle){HANDLE_GONE, handle, NULL};
}

void inject_handles_gone(const void *from)
{
    pthread_mutex_lock(&handles_lock);
    for (uint32_t i = 0; i < handle_count; i++)
        if (handles[i].from == from)
            handles[i].kind = HANDLE_GONE;
    for (uint32_t i = 0; i < handle_count; i++)
        if (handles[i].kind == HANDLE_KERNELS_FUNCTION &&
            handles_known(handles[i].from).kind != HANDLE_KERNEL)
            handles[i].kind = HANDLE_GONE;
    pthread_mutex_unlock(&handles_lock);
}

struct inject_handle inject_handle_of(const void *handle)
{
    pthread_mutex_lock(&handles_lock);
    struct inject_handle found = handles_known(handle);
    pthread_mutex_unlock(&handles_lock);
    return found;
}

/* Another thread may have held them. */
void inject_names_forked(void)
{
    pthread_rwlock_init(&kernels_lock, NULL);
    pthread_mutex_init(&handles_lock, NULL);
}
