/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that waits in a condition variable or in epoll is idle, or it waits for what others work
 * on. Most of its waits are at one object, a queue or a set of descriptors: there it is idle. A
 * wait elsewhere counts if whom the row says to have ended it was at work for most of it, or waited
 * for one who was; if that one was idle itself, the program had nothing to do. Nobody ends a wait
 * in epoll: that it is elsewhere has to do.
 */
#include "sorted.h"
#include "why_names.h"

#include "trace_span.h"

#include <stdlib.h>

enum { STEPS = 8 };

/* All waits for work that were kept, the longest of each kind, by thread and time. */
struct idle {
    struct why_pick *list;
    uint32_t count;
};

static const char *const kinds[] = {"epoll", "condition variable", "semaphore", "futex"};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

bool why_awaited_is(struct trace_text kind)
{
    return trace_word_number(kinds, KIND_COUNT, kind) < KIND_COUNT;
}

static bool is_epoll(const struct why_name *name)
{
    return trace_text_is(name->name, kinds[0]);
}

void why_awaited_add(struct why_names *names, const struct why_name *name,
                     const struct trace_detail *detail, struct why_pick *pick)
{
    pick->waker = why_argument(detail, names->waker_key);
    pick->object = (uint32_t)why_argument(detail, names->object_key);
    if (!grow_zeroed32(&names->workers, &names->worker_room, pick->thread + 1,
                       sizeof *names->workers)) {
        names->failed = true;
        return;
    }
    struct why_worker *worker = &names->workers[pick->thread];
    if (!worker->first_ns || pick->start_ns < worker->first_ns)
        worker->first_ns = pick->start_ns;
    if (pick->stop_ns > worker->last_ns)
        worker->last_ns = pick->stop_ns;
    if (!name->work)
        return;
    if (!worker->votes)
        worker->home = pick->object;
    worker->votes += worker->home == pick->object ? 1u : -1u;
}

static int by_thread_and_stop(const void *left, const void *right)
{
    const struct why_pick *a = left, *b = right;
    SORTED_BY(a, b, thread);
    return (a->stop_ns > b->stop_ns) - (a->stop_ns < b->stop_ns);
}

static bool collect_idle(struct idle *idle, const struct why_names *names)
{
    size_t most = 0;
    for (uint32_t i = 0; i < names->count; i++)
        most += names->list[i].wait ? names->list[i].own.longest.count : 0;
    idle->list = calloc(most + 1, sizeof *idle->list);
    for (uint32_t i = 0; idle->list && i < names->count; i++) {
        const struct why_name *name = &names->list[i];
        const struct why_picks *picks = &name->own.longest;
        for (uint32_t j = 0; name->wait && why_is_idle(name->name) && j < picks->count; j++)
            idle->list[idle->count++] = picks->list[j];
    }
    if (idle->count)
        qsort(idle->list, idle->count, sizeof *idle->list, by_thread_and_stop);
    return idle->list != NULL;
}

/* How long the thread was idle meanwhile, and its longest wait of that time. */
static uint64_t idle_ns(const struct idle *idle, uint32_t thread, const struct why_pick *meanwhile,
                        uint64_t *longest_out, uint64_t *waker_out)
{
    const struct why_pick before = {.thread = thread, .stop_ns = meanwhile->start_ns};
    uint64_t sum_ns = 0;
    uint32_t at;
    *longest_out = 0;
    SORTED_FIND(at, idle->count, by_thread_and_stop(&idle->list[at], &before) <= 0);
    for (const struct why_pick *one = &idle->list[at];
         at < idle->count && one->thread == thread && one->start_ns < meanwhile->stop_ns;
         one = &idle->list[++at]) {
        const int64_t from_ns =
            one->start_ns > meanwhile->start_ns ? one->start_ns : meanwhile->start_ns;
        const int64_t to_ns = one->stop_ns < meanwhile->stop_ns ? one->stop_ns : meanwhile->stop_ns;
        const uint64_t ns = (uint64_t)to_ns - (uint64_t)from_ns;
        sum_ns += ns;
        if (ns > *longest_out) {
            *longest_out = ns;
            *waker_out = one->waker;
        }
    }
    return sum_ns;
}

static bool is_awaited(const struct why_names *names, const struct idle *idle, bool epoll,
                       const struct why_pick *pick)
{
    const struct why_worker *worker = &names->workers[pick->thread];
    const uint64_t half_ns = ((uint64_t)pick->stop_ns - (uint64_t)pick->start_ns) / 2;
    const uint32_t process = names->tracks.list[pick->thread].track.process;
    uint64_t waker = pick->waker, longest_ns;
    /* Before the first one the program starts, behind the last one it ends. */
    if (pick->start_ns == worker->first_ns || pick->stop_ns == worker->last_ns || !pick->object ||
        pick->object == worker->home || !worker->votes)
        return false;
    if (epoll)
        return true;
    for (unsigned step = 0; waker && step < STEPS; step++) {
        const uint32_t thread = why_tracks_thread(&names->tracks, process, waker);
        if (thread == TRACE_NONE || thread == pick->thread)
            return false;
        if (idle_ns(idle, thread, pick, &longest_ns, &waker) <= half_ns)
            return true;
        if (longest_ns <= half_ns)
            return false;
    }
    return false;
}

static void finish_name(const struct why_names *names, const struct idle *idle,
                        struct why_name *name)
{
    struct why_picks *picks = &name->own.longest;
    const bool epoll = is_epoll(name);
    const struct why_bounds *bounds = &name->own.bounds;
    uint32_t left = 0;
    name->excess_ns = 0;
    name->own.slow = why_bounds_find(&name->own.values, 0, 0, &name->own.bounds);
    for (uint32_t i = 0; name->own.slow && i < picks->count; i++) {
        const struct why_pick pick = picks->list[i];
        const uint64_t ns = (uint64_t)pick.stop_ns - (uint64_t)pick.start_ns;
        if (ns <= bounds->threshold_ns || !is_awaited(names, idle, epoll, &pick))
            continue;
        picks->list[left++] = pick;
        name->excess_ns += ns - bounds->median_ns;
    }
    picks->count = left;
    name->own.bounds.slow = left;
    name->own.slow = left > 0;
    if (name->excess_ns < names->noise_ns)
        name->excess_ns = 0;
}

void why_awaited_finish(struct why_names *names)
{
    struct idle idle = {0};
    names->failed |= !collect_idle(&idle, names);
    for (uint32_t i = 0; i < names->count && !names->failed; i++)
        if (names->list[i].awaited)
            finish_name(names, &idle, &names->list[i]);
    free(idle.list);
}
