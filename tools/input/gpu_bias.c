/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_bias.h"
#include "message.h"
#include "reorder.h"
#include "sorted.h"

#include <stdlib.h>

/* ---- launching calls ------------------------------------------------------------------------- */
/* Calls of a thread follow each other, so their ring is sorted by both ends. */

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
    return GROW_ZEROED(thread->ring, thread->room, thread->room ? 2 * thread->room : 1024);
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
    uint64_t begun;
    SORTED_FIND(begun, thread->count - first, call_at(thread, first + begun)->begin_ns <= time_ns);
    return begun ? call_at(thread, first + begun - 1) : NULL;
}

static bool wait(struct launch_calls *calls, struct calling_thread *thread,
                 const struct gpu_fact *fact)
{
    if (thread->waiting_count == LAUNCH_CALLS_WAITING)
        return false;
    if (!GROW_ZEROED(thread->waiting, thread->waiting_room, thread->waiting_count + 1)) {
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

/* ---- all that a file says of its GPU work beside the records, found by the record ------------ */
/*
 * It may stand anywhere in the file, so the file is read once before.
 *
 * What is broken in the blocks is reported by whoever reads the file for its own sake.
 */

static int by_work(const void *a, const void *b)
{
    const struct gpu_fact *x = a, *y = b;
    SORTED_BY(x, y, proc_id);
    SORTED_BY(x, y, start_ns);
    return (x->stop_ns > y->stop_ns) - (x->stop_ns < y->stop_ns);
}

struct loading {
    struct gpu_facts *facts;
    struct launch_calls *calls; /* NULL: not wanted */
    struct pair_builder builder;
    struct reorder reorder;
    bool failed;
};

static void gpu_bias_keep(void *context, const struct gpu_fact *fact)
{
    struct loading *loading = context;
    struct gpu_facts *facts = loading->facts;
    if (GROW_ZEROED(facts->list, facts->room, facts->count + 1))
        facts->list[facts->count++] = *fact;
    else
        loading->failed = true;
}

static void gpu_bias_on_fact(void *context, const struct gpu_fact *fact)
{
    struct loading *loading = context;
    if (loading->calls)
        launch_calls_fact(loading->calls, fact);
    else
        gpu_bias_keep(loading, fact);
}

static void gpu_bias_on_rows(struct loading *loading, const struct rbwp_block *block)
{
    struct gpu_facts *facts = loading->facts;
    struct rbwp_rows rows;
    struct rbwp_error error;
    if (!facts->catalog && !(facts->catalog = rbwp_catalog_new())) {
        loading->failed = true;
        return;
    }
    enum rbwp_status status = rbwp_catalog_take(facts->catalog, block, &rows, &error);
    loading->failed |= status == RBWP_E_MEMORY;
    if (status != RBWP_OK || gpu_facts_of_rows(&rows, gpu_bias_on_fact, loading))
        return;
    loading->failed |= !gpu_devices_take(&facts->devices, &rows, facts->catalog);
}

static void gpu_bias_on_pair(void *context, const struct record_pair *pair)
{
    struct loading *loading = context;
    launch_calls_add(loading->calls, pair);
}

static void gpu_bias_pair(void *context, const struct rbwp_block *block, bool late)
{
    struct loading *loading = context;
    (void)late;
    pair_builder_block(&loading->builder, block);
}

static void read_blocks(struct loading *loading, struct rbwp_reader *reader)
{
    struct rbwp_block block;
    while (!loading->failed && rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        if (block.header.records == 0) {
            if (!gpu_facts_of_block(&block, gpu_bias_on_fact, loading))
                gpu_bias_on_rows(loading, &block);
        } else if (loading->calls) {
            loading->failed |= !reorder_push(&loading->reorder, &block);
        }
    }
}

static void read_calls(struct loading *loading, struct rbwp_reader *reader)
{
    loading->calls = launch_calls_new(gpu_bias_keep, loading);
    if (!loading->calls) {
        loading->failed = true;
        return;
    }
    pair_builder_start(&loading->builder, gpu_bias_on_pair, loading);
    reorder_start(&loading->reorder, gpu_bias_pair, loading);
    read_blocks(loading, reader);
    reorder_flush(&loading->reorder);
    launch_calls_finish(loading->calls);
    loading->failed |= launch_calls_failed(loading->calls) || loading->builder.failed;
    reorder_stop(&loading->reorder);
    pair_builder_stop(&loading->builder);
    launch_calls_free(loading->calls);
}

bool gpu_facts_load(struct gpu_facts *facts, struct input *input, bool calls)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    struct loading loading = {.facts = facts};
    *facts = (struct gpu_facts){0};
    if (trailer && trailer->gpu_count == 0 && trailer->table_range_count == 0)
        return true;
    loading.failed =
        trailer && !gpu_devices_add(&facts->devices, trailer->gpus, trailer->gpu_count);
    if (calls)
        read_calls(&loading, input->reader);
    else
        read_blocks(&loading, input->reader);
    loading.failed |= rbwp_reader_rewind(input->reader) != RBWP_OK;
    if (facts->count)
        qsort(facts->list, facts->count, sizeof *facts->list, by_work);
    return !loading.failed;
}

void gpu_facts_free(struct gpu_facts *facts)
{
    free(facts->list);
    gpu_devices_free(&facts->devices);
    rbwp_catalog_free(facts->catalog);
    *facts = (struct gpu_facts){0};
}

const struct gpu_fact *gpu_facts_of(const struct gpu_facts *facts, uint64_t proc_id, int slot,
                                    int64_t start_ns, int64_t stop_ns)
{
    const struct gpu_fact wanted = {.proc_id = proc_id, .start_ns = start_ns, .stop_ns = stop_ns};
    uint32_t at;
    SORTED_FIND(at, facts->count, by_work(&facts->list[at], &wanted) < 0);
    for (; at < facts->count && by_work(&facts->list[at], &wanted) == 0; at++)
        if (facts->list[at].slot == GPU_ANY_SLOT || facts->list[at].slot == slot)
            return &facts->list[at];
    return NULL;
}

/* ---- gpu bias -------------------------------------------------------------------------------- */

void gpu_bias_load(struct gpu_bias *bias, const struct input *input, const struct gpu_facts *facts)
{
    *bias = (struct gpu_bias){facts};
    if (!gpu_devices_know_bias(&facts->devices))
        message_plain("%s: the file knows no bias of a GPU; times are as stored", input->name);
}

int64_t gpu_bias_stop(const struct gpu_bias *bias, uint64_t proc_id, int slot, int64_t start_ns,
                      int64_t stop_ns)
{
    if (!bias->facts)
        return stop_ns;
    const struct gpu_fact *fact = gpu_facts_of(bias->facts, proc_id, slot, start_ns, stop_ns);
    return gpu_devices_stop(&bias->facts->devices, proc_id, start_ns, stop_ns, fact && fact->idle);
}
