/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_handles.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_SLOTS 256 /* a power of 2 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct inject_handle *slots;                      /* by open addressing */
static size_t slot_count, slots_used;

static struct inject_handle *handles_find(struct inject_handle *table, size_t count,
                                          const void *handle)
{
    size_t at = (size_t)((uintptr_t)handle * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (count - 1);
    while (table[at].handle && table[at].handle != handle)
        at = (at + 1) & (count - 1);
    return &table[at];
}

/* What is gone stays behind. */
static bool handles_grow(void)
{
    size_t count = slot_count ? 2 * slot_count : FIRST_SLOTS, used = 0;
    struct inject_handle *more = calloc(count, sizeof *more);
    if (!more)
        return false;
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i].kind != HANDLE_GONE) {
            *handles_find(more, count, slots[i].handle) = slots[i];
            used++;
        }
    free(slots);
    slots = more;
    slot_count = count;
    slots_used = used;
    return true;
}

void inject_handle_made(struct inject_handle handle)
{
    pthread_mutex_lock(&lock);
    if (handle.handle && (2 * slots_used < slot_count || handles_grow())) {
        struct inject_handle *slot = handles_find(slots, slot_count, handle.handle);
        slots_used += !slot->handle;
        *slot = handle;
    }
    pthread_mutex_unlock(&lock);
}

static struct inject_handle known(const void *handle)
{
    struct inject_handle none = {HANDLE_GONE, handle, NULL};
    if (!slot_count)
        return none;
    const struct inject_handle *slot = handles_find(slots, slot_count, handle);
    return slot->handle ? *slot : none;
}

void inject_handles_gone(const void *from)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i].from == from)
            slots[i].kind = HANDLE_GONE;
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i].kind == HANDLE_KERNELS_FUNCTION && known(slots[i].from).kind != HANDLE_KERNEL)
            slots[i].kind = HANDLE_GONE;
    pthread_mutex_unlock(&lock);
}

struct inject_handle inject_handle_of(const void *handle)
{
    pthread_mutex_lock(&lock);
    struct inject_handle found = known(handle);
    pthread_mutex_unlock(&lock);
    return found;
}
