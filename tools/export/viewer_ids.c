/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for processes and threads. */
#include "viewer_ids.h"

static uint32_t choose_number(struct viewer_ids *ids, struct thread_map *taken, uint64_t number)
{
    if (number <= VIEWER_OS_ID_MAX) {
        uint32_t before = taken->count;
        if (thread_map_number(taken, number) != THREAD_NONE && taken->count > before)
            return (uint32_t)number;
    }
    return VIEWER_OS_ID_MAX + ++ids->made;
}

static uint32_t choose(struct viewer_ids *ids, struct thread_map *taken, uint64_t os_id)
{
    return choose_number(ids, taken, os_id ? os_id : UINT64_MAX);
}

uint32_t viewer_block_pid(struct viewer_ids *ids, uint64_t block)
{
    return choose_number(ids, &ids->pids, block);
}

uint32_t viewer_pid(struct viewer_ids *ids, uint64_t os_id)
{
    return choose(ids, &ids->pids, os_id);
}

uint32_t viewer_tid(struct viewer_ids *ids, uint64_t os_id)
{
    return choose(ids, &ids->tids, os_id);
}

void viewer_ids_free(struct viewer_ids *ids)
{
    thread_map_free(&ids->pids);
    thread_map_free(&ids->tids);
}
