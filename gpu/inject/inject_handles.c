/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_handles.h"
#include "grow.h"
#include "index_map.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

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
