/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for processes and threads. */
#include "viewer_ids.h"

static uint32_t choose(struct viewer_ids *ids, struct thread_map *taken, uint64_t os_id)
{
    if (os_id > 0 && os_id <= VIEWER_OS_ID_MAX) {
        uint32_t before = taken->count;
        if (thread_map_number(taken, os_id) != THREAD_NONE && taken->count > before)
            return (uint32_t)os_id;
    }
    return VIEWER_OS_ID_MAX + ++ids->made;
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
