/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and losses of a trailer, by thread id. */
#include "thread_infos.h"
#include "losses.h"

#include <stdlib.h>

static struct thread_facts *facts_of(struct thread_infos *infos, uint64_t thread_id)
{
    uint32_t number =
        thread_map_place(&infos->map, thread_id, &infos->facts, &infos->room, sizeof *infos->facts);
    if (number == THREAD_NONE)
        return NULL;
    struct thread_facts *facts = &infos->facts[number];
    if (!facts->known)
        *facts = (struct thread_facts){.known = true, .lost_until_ns = INT64_MIN};
    return facts;
}

static void note_loss(struct thread_infos *infos, const struct rbwp_loss *loss)
{
    struct thread_facts *facts = loss->thread_id ? facts_of(infos, loss->thread_id) : NULL;
    int64_t *until_ns = facts ? &facts->lost_until_ns : &infos->lost_until_ns;
    bool timed = loss->first_ns || loss->last_ns;
    int64_t last_ns = timed ? loss->last_ns : INT64_MAX;
    *until_ns = last_ns > *until_ns ? last_ns : *until_ns;
}

void thread_infos_start(struct thread_infos *infos, const struct rbwp_trailer *trailer)
{
    *infos = (struct thread_infos){.trailer = trailer, .lost_until_ns = INT64_MIN};
    for (uint32_t i = 0; trailer && i < trailer->thread_count; i++) {
        struct thread_facts *facts = facts_of(infos, trailer->threads[i].thread_id);
        if (!facts)
            continue;
        facts->first = facts->first ? facts->first : i + 1;
        facts->attached |= trailer->threads[i].detached_ns == 0;
    }
    for (uint32_t i = 0; trailer && i < trailer->loss_count; i++)
        if (losses_are_records(trailer->losses[i].cause))
            note_loss(infos, &trailer->losses[i]);
}

void thread_infos_stop(struct thread_infos *infos)
{
    free(infos->facts);
    thread_map_free(&infos->map);
    *infos = (struct thread_infos){0};
}

static const struct thread_facts *thread_infos_find(const struct thread_infos *infos,
                                                    uint64_t thread_id)
{
    uint32_t number = thread_map_find(&infos->map, thread_id);
    return number < infos->room ? &infos->facts[number] : NULL;
}

const struct rbwp_thread_info *thread_infos_first(const struct thread_infos *infos,
                                                  uint64_t thread_id)
{
    const struct thread_facts *facts = thread_infos_find(infos, thread_id);
    return facts && facts->first ? &infos->trailer->threads[facts->first - 1] : NULL;
}

bool thread_infos_is_whole(const struct thread_infos *infos, uint64_t thread_id, int64_t from_ns)
{
    const struct thread_facts *facts = thread_infos_find(infos, thread_id);
    if (infos->lost_until_ns >= from_ns)
        return false;
    return !facts || ((facts->attached || facts->first == 0) && facts->lost_until_ns < from_ns);
}
