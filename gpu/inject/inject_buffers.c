/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_buffers.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { BUFFER_BYTES = 1 << 20, BUFFERS_MAX = 64, READY = 4 };

/* Once there are some, nothing that takes long is done under it: a thread that launches may wait
 * for it. */
static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[BUFFERS_MAX];
static int spare_count, made_count;

/* how: MAP_POPULATE, or 0. */
static uint8_t *buffers_make(int how)
{
    void *room =
        mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

void inject_buffers_prepare(void)
{
    pthread_mutex_lock(&buffers_lock);
    while (made_count < READY && (spare[spare_count] = buffers_make(MAP_POPULATE))) {
        spare_count++;
        made_count++;
    }
    pthread_mutex_unlock(&buffers_lock);
}

uint8_t *inject_buffer_take(size_t *bytes_out)
{
    uint8_t *buffer = NULL;
    pthread_mutex_lock(&buffers_lock);
    if (spare_count)
        buffer = spare[--spare_count];
    else if (made_count < BUFFERS_MAX && (buffer = buffers_make(0)))
        made_count++;
    pthread_mutex_unlock(&buffers_lock);
    *bytes_out = buffer ? BUFFER_BYTES : 0;
    return buffer;
}

void inject_buffer_give(uint8_t *buffer)
{
    memset(buffer, 0, BUFFER_BYTES);
    pthread_mutex_lock(&buffers_lock);
    spare[spare_count++] = buffer;
    pthread_mutex_unlock(&buffers_lock);
}

void inject_buffers_forget(void)
{
    pthread_mutex_init(&buffers_lock, NULL);
}
