/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_handles.h"
#include "hash.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define HANDLES_FIRST_SLOTS 256 /* a power of 2 */

static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct inject_handle *handles_slots;                      /* by open addressing */
static size_t handles_slot_count, handles_slots_used;

static struct inject_handle *handles_find(struct inject_handle *table, size_t count,
                                          const void *handle)
{
    size_t at = hash_place((uintptr_t)handle) & (count - 1);
    while (table[at].handle && table[at].handle != handle)
        at = (at + 1) & (count - 1);
    return &table[at];
}

/* What is gone stays behind. */
static bool handles_grow(void)
{
    size_t count = handles_slot_count ? 2 * handles_slot_count : HANDLES_FIRST_SLOTS, used = 0;
    struct inject_handle *more = calloc(count, sizeof *more);
    if (!more)
        return false;
    for (size_t i = 0; i < handles_slot_count; i++)
        if (handles_slots[i].kind != HANDLE_GONE) {
            *handles_find(more, count, handles_slots[i].handle) = handles_slots[i];
            used++;
        }
    free(handles_slots);
    handles_slots = more;
    handles_slot_count = count;
    handles_slots_used = used;
    return true;
}

void inject_handle_made(struct inject_handle handle)
{
    pthread_mutex_lock(&handles_lock);
    if (handle.handle && (2 * handles_slots_used < handles_slot_count || handles_grow())) {
        struct inject_handle *slot = handles_find(handles_slots, handles_slot_count, handle.handle);
        handles_slots_used += !slot->handle;
        *slot = handle;
    }
    pthread_mutex_unlock(&handles_lock);
}

static struct inject_handle handles_known(const void *handle)
{
    struct inject_handle none = {HANDLE_GONE, handle, NULL};
    if (!handles_slot_count)
        return none;
    const struct inject_handle *slot = handles_find(handles_slots, handles_slot_count, handle);
    return slot->handle ? *slot : none;
}

void inject_handles_gone(const void *from)
{
    pthread_mutex_lock(&handles_lock);
    for (size_t i = 0; i < handles_slot_count; i++)
        if (handles_slots[i].from == from)
            handles_slots[i].kind = HANDLE_GONE;
    for (size_t i = 0; i < handles_slot_count; i++)
        if (handles_slots[i].kind == HANDLE_KERNELS_FUNCTION &&
            handles_known(handles_slots[i].from).kind != HANDLE_KERNEL)
            handles_slots[i].kind = HANDLE_GONE;
    pthread_mutex_unlock(&handles_lock);
}

struct inject_handle inject_handle_of(const void *handle)
{
    pthread_mutex_lock(&handles_lock);
    struct inject_handle found = handles_known(handle);
    pthread_mutex_unlock(&handles_lock);
    return found;
}
