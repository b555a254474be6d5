/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_kernels.h"

#include "text_hash.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static size_t mix(uint64_t bits)
{
    return (size_t)(bits * UINT64_C(0x9E3779B97F4A7C15) >> 20);
}

static size_t kernels_hash_of(const char *text)
{
    return mix(text_hash(TEXT_HASH_FIRST, text, strlen(text)));
}

/* The place of a handle, or of a text (handle NULL), or where it would stand. */
static struct kernels_slot *kernels_find(const struct names *names, const void *handle,
                                         const char *text)
{
    size_t at = handle ? mix((uintptr_t)handle) : kernels_hash_of(text);
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
