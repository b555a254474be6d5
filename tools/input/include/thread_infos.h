/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_infos.h - what a trailer says of a thread, found by its id.
 *
 * Entries of one id are threads one after the other. The trailer must outlive
 * the index; NULL, a thread that it does not name, and memory that is missing
 * mean that nothing is known.
 */
#ifndef THREAD_INFOS_H
#define THREAD_INFOS_H

#include "rbwp_format.h"
#include "thread_map.h"

struct thread_facts {
    bool known;
    bool attached;         /* one of the entries still recorded at stop */
    uint32_t first;        /* entry of the trailer + 1, 0 none */
    int64_t lost_until_ns; /* it may lack records up to here; INT64_MIN: it lacks none */
};

struct thread_infos {
    const struct rbwp_trailer *trailer;
    struct thread_map map;
    struct thread_facts *facts;
    uint32_t room;
    int64_t lost_until_ns; /* the same of threads that are not known */
};

void thread_infos_start(struct thread_infos *infos, const struct rbwp_trailer *trailer);
void thread_infos_stop(struct thread_infos *infos);

/* The first entry of the thread, NULL if there is none. */
const struct rbwp_thread_info *thread_infos_first(const struct thread_infos *infos,
                                                  uint64_t thread_id);
/* True unless the thread is known to have ended, or may lack records from this time on. */
bool thread_infos_is_whole(const struct thread_infos *infos, uint64_t thread_id, int64_t from_ns);

#endif /* THREAD_INFOS_H */
