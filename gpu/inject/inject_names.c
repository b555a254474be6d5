/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_names.h"

#include "hash.h"
#include "rbwp_rows.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
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

enum { KERNELS_FIRST_SLOTS = 256, SLOTS_MAX = 1 << 20 }; /* powers of 2 */

/* By open addressing. Handles of what was unloaded stay, until another function has them. */
struct kernels_slot {
    const void *handle;
    const char *name;
    bool of_module;
};
struct names {
    struct kernels_slot *slots;
    size_t count, used;
};
static pthread_rwlock_t kernels_lock = PTHREAD_RWLOCK_INITIALIZER; /* guards both */
static struct names by_handle;
static struct names texts; /* handle: NULL but for a slot that is in use; found by what they say */

static size_t kernels_hash_of(const char *text)
{
    return hash_place(text_hash(TEXT_HASH_FIRST, text, strlen(text)));
}

/* The place of a handle, or of a text (handle NULL), or where it would stand. */
static struct kernels_slot *kernels_find(const struct names *names, const void *handle,
                                         const char *text)
{
    size_t at = handle ? hash_place((uintptr_t)handle) : kernels_hash_of(text);
    for (;; at++) {
        struct kernels_slot *slot = &names->slots[at & (names->count - 1)];
        if (!slot->handle || (handle ? slot->handle == handle : strcmp(slot->name, text) == 0))
            return slot;
    }
}

/* Room for another one. */
static bool kernels_grow(struct names *names, bool are_texts)
{
    struct names more = {NULL, names->count ? 2 * names->count : KERNELS_FIRST_SLOTS, names->used};
    if (2 * names->used < names->count)
        return true;
    if (names->count == SLOTS_MAX || !(more.slots = calloc(more.count, sizeof *more.slots)))
        return false;
    for (size_t i = 0; i < names->count; i++) {
        const struct kernels_slot *old = &names->slots[i];
        if (old->handle)
            *kernels_find(&more, are_texts ? NULL : old->handle, old->name) = *old;
    }
    free(names->slots);
    *names = more;
    return true;
}

/* One copy of each. */
static const char *kernels_kept(const char *text)
{
    if (!kernels_grow(&texts, true))
        return NULL;
    struct kernels_slot *slot = kernels_find(&texts, NULL, text);
    if (!slot->handle && (slot->name = strdup(text))) {
        slot->handle = slot->name;
        texts.used++;
    }
    return slot->name;
}

static void kernels_set(const void *handle, const char *name, bool of_module)
{
    if (!kernels_grow(&by_handle, false))
        return;
    struct kernels_slot *slot = kernels_find(&by_handle, handle, NULL);
    by_handle.used += !slot->handle;
    *slot = (struct kernels_slot){handle, name, of_module};
}

void inject_kernel_got(const void *handle, const char *name, bool of_module)
{
    if (!handle || !name)
        return;
    pthread_rwlock_wrlock(&kernels_lock);
    kernels_set(handle, kernels_kept(name), of_module);
    pthread_rwlock_unlock(&kernels_lock);
}

static struct kernels_slot slot_of(const void *handle)
{
    struct kernels_slot slot = {NULL, NULL, false};
    pthread_rwlock_rdlock(&kernels_lock);
    if (handle && by_handle.count)
        slot = *kernels_find(&by_handle, handle, NULL);
    pthread_rwlock_unlock(&kernels_lock);
    return slot;
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
    return slot_of(handle).name;
}

bool inject_kernel_of_module(const void *handle)
{
    return slot_of(handle).of_module;
}

/* Another thread may have held it. */
void inject_kernels_forked(void)
{
    pthread_rwlock_init(&kernels_lock, NULL);
}
