/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a thread follow each other, so their ring is sorted by both ends. */
#include "launch_calls.h"

#include <stdlib.h>

struct call {
    int64_t begin_ns, end_ns;
    uint64_t id;
};
struct calling_thread {
    struct call *ring;
    uint32_t room; /* a power of 2; the ring grows up to LAUNCH_CALLS_KEPT */
    uint64_t count;
    struct gpu_fact *waiting;
    uint32_t waiting_count, waiting_room;
};
struct launch_calls {
    gpu_fact_fn *ready;
    void *context;
    struct thread_map map;
    struct calling_thread *threads;
    uint32_t thread_room;
    uint64_t last_id; /* of the thread that was looked for last, if any was */
    struct calling_thread *last;
    bool failed;
};

struct launch_calls *launch_calls_new(gpu_fact_fn *ready, void *context)
{
    struct launch_calls *calls = calloc(1, sizeof *calls);
    if (calls)
        *calls = (struct launch_calls){.ready = ready, .context = context};
    return calls;
}

void launch_calls_free(struct launch_calls *calls)
{
    if (!calls)
        return;
    for (uint32_t i = 0; i < calls->thread_room; i++) {
        free(calls->threads[i].ring);
        free(calls->threads[i].waiting);
    }
    free(calls->threads);
    thread_map_free(&calls->map);
    free(calls);
}

bool launch_calls_failed(const struct launch_calls *calls)
{
    return calls->failed;
}

static struct calling_thread *look_up_thread(struct launch_calls *calls, uint64_t thread_id)
{
    uint32_t number = thread_map_place(&calls->map, thread_id, &calls->threads, &calls->thread_room,
                                       sizeof *calls->threads);
    calls->failed |= number == THREAD_NONE;
    calls->last = number == THREAD_NONE ? NULL : &calls->threads[number];
    calls->last_id = thread_id;
    return calls->last;
}

/* NULL when there is no room. Nearly always it is the one of the call before. */
static inline struct calling_thread *launch_calls_find_thread(struct launch_calls *calls,
                                                              uint64_t thread_id)
{
    return calls->last && calls->last_id == thread_id ? calls->last
                                                      : look_up_thread(calls, thread_id);
}

static struct call *call_at(const struct calling_thread *thread, uint64_t number)
{
    return &thread->ring[number & (thread->room - 1)];
}

/* The ring is full and was never longer: its calls stay where they are. */
static bool grow_ring(struct calling_thread *thread)
{
    if (thread->count < thread->room || thread->room == LAUNCH_CALLS_KEPT)
        return true;
    return grow_zeroed32(&thread->ring, &thread->room, thread->room ? 2 * thread->room : 1024,
                         sizeof *thread->ring);
}

static void answer(struct launch_calls *calls, struct gpu_fact *fact, uint64_t call)
{
    fact->call = call;
    calls->ready(calls->context, fact);
}

/* What was launched in the call that ended, or before it, waits no more. */
static void answer_waiting(struct launch_calls *calls, struct calling_thread *thread,
                           const struct call *call)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < thread->waiting_count; i++) {
        struct gpu_fact *fact = &thread->waiting[i];
        if (fact->launch_ns > call->end_ns)
            thread->waiting[kept++] = *fact;
        else
            answer(calls, fact, fact->launch_ns >= call->begin_ns ? call->id : 0);
    }
    thread->waiting_count = kept;
}

void launch_calls_add(struct launch_calls *calls, const struct record_pair *pair)
{
    if (pair->kind != PAIR_COARSE || !pair->has_begin || !(pair->has_end || pair->open))
        return;
    struct calling_thread *thread = launch_calls_find_thread(calls, pair->thread_id);
    if (!thread || !grow_ring(thread)) {
        calls->failed = true;
        return;
    }
    struct call *call = call_at(thread, thread->count++);
    *call = (struct call){pair->begin_ns, pair->end_ns, pair->id};
    if (thread->waiting_count)
        answer_waiting(calls, thread, call);
}

/* The last call that began by then; NULL if none is known. */
static const struct call *find_call(const struct calling_thread *thread, int64_t time_ns)
{
    uint64_t first = thread->count > thread->room ? thread->count - thread->room : 0;
    uint64_t end = thread->count, low = first;
    while (low < end) {
        uint64_t middle = low + (end - low) / 2;
        if (call_at(thread, middle)->begin_ns <= time_ns)
            low = middle + 1;
        else
            end = middle;
    }
    return low > first ? call_at(thread, low - 1) : NULL;
}

static bool wait(struct launch_calls *calls, struct calling_thread *thread,
                 const struct gpu_fact *fact)
{
    if (thread->waiting_count == LAUNCH_CALLS_WAITING)
        return false;
    if (!grow_zeroed32(&thread->waiting, &thread->waiting_room, thread->waiting_count + 1,
                       sizeof *thread->waiting)) {
        calls->failed = true;
        return false;
    }
    thread->waiting[thread->waiting_count++] = *fact;
    return true;
}

void launch_calls_fact(struct launch_calls *calls, const struct gpu_fact *given)
{
    struct gpu_fact fact = *given;
    struct calling_thread *thread =
        fact.thread_id ? launch_calls_find_thread(calls, fact.thread_id) : NULL;
    const struct call *last = thread && thread->count ? call_at(thread, thread->count - 1) : NULL;
    bool waits = thread && (!last || last->end_ns < fact.launch_ns);
    if (waits && wait(calls, thread, &fact))
        return;
    const struct call *call = last ? find_call(thread, fact.launch_ns) : NULL;
    answer(calls, &fact, call && fact.launch_ns <= call->end_ns ? call->id : 0);
}

void launch_calls_finish(struct launch_calls *calls)
{
    for (uint32_t i = 0; i < calls->map.count && i < calls->thread_room; i++) {
        struct calling_thread *thread = &calls->threads[i];
        for (uint32_t at = 0; at < thread->waiting_count; at++)
            answer(calls, &thread->waiting[at], 0);
        thread->waiting_count = 0;
    }
}
