/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the keeper; when stock is low is the pool's to know. */
#include "chunk_keeper.h"

#include "chunk_pool.h"
#include "quiet_thread.h"

#include <stdlib.h>

struct chunk_keeper {
    struct chunk_pool *pool;
    pthread_t thread;
    atomic_bool stopping;
};

static void *keep(void *argument)
{
    struct chunk_keeper *keeper = argument;
    while (!atomic_load_explicit(&keeper->stopping, memory_order_acquire)) {
        chunk_pool_wait_low(keeper->pool);
        chunk_pool_stock(keeper->pool, &keeper->stopping);
    }
    return NULL;
}

struct chunk_keeper *chunk_keeper_start(struct chunk_pool *pool)
{
    struct chunk_keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper)
        return NULL;
    keeper->pool = pool;
    chunk_pool_stock(pool, NULL); /* so that the first calls find something */
    if (quiet_thread_start(&keeper->thread, "rbwp-memory", keep, keeper) == 0)
        return keeper;
    free(keeper);
    return NULL;
}

void chunk_keeper_stop(struct chunk_keeper *keeper)
{
    if (!keeper)
        return;
    atomic_store_explicit(&keeper->stopping, true, memory_order_release);
    chunk_pool_ask(keeper->pool);
    if (!quiet_thread_call_off(&keeper->thread))
        pthread_join(keeper->thread, NULL);
    free(keeper);
}
