/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extend.c - hooks and GPUs, known to the whole process, and the way of an opaque block to the
 * drain. Blocks are few, so they take the registry's lock, which any thread may.
 */
#include "extend.h"

#include "drain.h"
#include "on_load.h"
#include "recording.h"
#include "test_point.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define GPU_NAME_BYTES_MAX 128u

struct known_gpu {
    struct rbwp_gpu_info info; /* name points to name below */
    char name[GPU_NAME_BYTES_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below; innermost */
static rbwp_extend_hook_fn hooks[RBWP_EXTEND_HOOKS_MAX];
static unsigned hook_count;
static struct known_gpu *gpus;
static uint32_t gpu_count;

/* A fork waits for who holds the lock, so that the child finds it free, and all of a GPU or
 * nothing. It is innermost, and its handler before a fork is the last to be called: those run in
 * the reverse order of their registration. */
static void lock_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

ON_LOAD static void prepare_for_forks(void)
{
    pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
}

enum rbwp_status rbwp_extend_at_end(rbwp_extend_hook_fn hook)
{
    enum rbwp_status status = RBWP_OK;
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < hook_count && hooks[i] != hook)
        i++;
    if (i == RBWP_EXTEND_HOOKS_MAX)
        status = RBWP_E_LIMIT;
    else if (i == hook_count)
        hooks[hook_count++] = hook;
    pthread_mutex_unlock(&lock);
    return status;
}

void extend_tell(enum rbwp_extend_moment moment)
{
    pthread_mutex_lock(&lock);
    unsigned count = hook_count; /* hooks are never taken out */
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < count; i++)
        hooks[i](moment);
}

/* ---- GPUs -------------------------------------------------------------------- */

static struct known_gpu *place_for(uint64_t proc_id)
{
    for (uint32_t i = 0; i < gpu_count; i++)
        if (gpus[i].info.proc_id == proc_id)
            return &gpus[i];
    struct known_gpu *more = realloc(gpus, (gpu_count + 1) * sizeof *gpus);
    if (!more)
        return NULL;
    gpus = more;
    return &gpus[gpu_count++];
}

enum rbwp_status rbwp_extend_gpu(const struct rbwp_gpu_info *gpu)
{
    pthread_mutex_lock(&lock);
    struct known_gpu *known = place_for(gpu->proc_id);
    if (known) {
        known->info = *gpu;
        if (known->info.name_bytes > GPU_NAME_BYTES_MAX)
            known->info.name_bytes = GPU_NAME_BYTES_MAX;
        TEST_POINT("extend: a GPU half written");
        memcpy(known->name, gpu->name, known->info.name_bytes);
    }
    pthread_mutex_unlock(&lock);
    return known ? RBWP_OK : RBWP_E_MEMORY;
}

struct rbwp_gpu_info *extend_gpus(uint32_t *count_out)
{
    *count_out = 0;
    pthread_mutex_lock(&lock);
    struct rbwp_gpu_info *copies =
        gpu_count ? malloc(gpu_count * (sizeof *copies + GPU_NAME_BYTES_MAX)) : NULL;
    for (uint32_t i = 0; copies && i < gpu_count; i++) {
        char *name = (char *)(copies + gpu_count) + i * GPU_NAME_BYTES_MAX;
        memcpy(name, gpus[i].name, GPU_NAME_BYTES_MAX);
        copies[i] = gpus[i].info;
        copies[i].name = name;
        *count_out = i + 1;
    }
    pthread_mutex_unlock(&lock);
    return copies;
}

/* ---- recording ------------------------------------------------------------------ */

uint64_t rbwp_extend_thread(void)
{
    const struct thread *thread = rbwp_self_.thread;
    return thread ? thread->thread_id : 0;
}

enum rbwp_status rbwp_extend_block(const char tag[4], const void *data, uint32_t size_bytes)
{
    enum rbwp_status status = RBWP_E_STATE;
    thread_registry_lock(); /* the session forgets the recording under it */
    if (recording_now && !recording_now->strict)
        status = drain_add_opaque(recording_now->drain, tag, data, size_bytes);
    thread_registry_unlock();
    return status;
}
