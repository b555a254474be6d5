/* SPDX-License-Identifier: Apache-2.0 */
#include "session_facts.h"

#include "chunk_pool.h"
#include "clock.h"
#include "loss_text.h"
#include "recording.h"
#include "settled.h"
#include "thread_losses.h"
#include "thread_rows.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES_IN_FILE_MAX 256u

static void add_loss(struct session_facts *facts, uint64_t thread_id, uint32_t cause,
                     uint64_t count, int64_t first_ns, int64_t last_ns)
{
    if (count == 0)
        return;
    facts->losses[facts->trailer.loss_count++] =
        (struct rbwp_loss){thread_id, cause, count, first_ns, last_ns};
    if (loss_is_refused(cause))
        facts->misuse_calls += count;
    else
        facts->lost_records += count;
}

/* When a loss happened. Ticks given by the caller may have been read before the session. */
static int64_t loss_ns(const struct facts_source *source, uint64_t ticks)
{
    int64_t time_ns = timeline_ns(source->line, ticks);
    time_ns = time_ns > source->start_ns ? time_ns : source->start_ns;
    return time_ns < source->stop_ns ? time_ns : source->stop_ns;
}

struct visit {
    const struct facts_source *source;
    struct session_facts *facts;
};

static void add_settled_loss(void *context, const struct settled_loss *loss)
{
    const struct visit *visit = context;
    int64_t first_ns = (int64_t)loss->first, last_ns = (int64_t)loss->last;
    if (loss->cause != RBWP_LOSS_IO && (first_ns || last_ns)) {
        first_ns = loss_ns(visit->source, loss->first);
        last_ns = loss_ns(visit->source, loss->last);
    }
    add_loss(visit->facts, loss->thread_id, loss->cause, loss->count, first_ns, last_ns);
}

static void add_strays(const struct facts_source *source, struct session_facts *facts)
{
    uint64_t count = atomic_load(&stray_calls.count);
    if (count)
        add_loss(facts, 0, RBWP_LOSS_NOT_ATTACHED, count,
                 loss_ns(source, atomic_load(&stray_calls.first_ticks)),
                 loss_ns(source, atomic_load(&stray_calls.last_ticks)));
}

static void add_thread(const struct facts_source *source, struct session_facts *facts,
                       const struct settled_thread *thread)
{
    int64_t offset = source->line->offset_ns;
    facts->threads[facts->trailer.thread_count++] = (struct rbwp_thread_info){
        .thread_id = thread->thread_id,
        .os_id = thread->os_id,
        .attached_ns = thread->attached_monotonic_ns + offset,
        .detached_ns = thread->detached_monotonic_ns ? thread->detached_monotonic_ns + offset : 0,
        .records = thread->records,
        .name_bytes = (uint16_t)strlen(thread->name),
        .name = thread->name,
    };
}

/* Of the threads from here on: attached ones, or detached ones that there was no memory to settle.
 */
static enum rbwp_status add_unsettled(const struct visit *visit, const struct thread *thread)
{
    for (; thread; thread = thread->next) {
        char *name = strdup(thread->name); /* it may be renamed while the file is written */
        if (!name)
            return RBWP_E_MEMORY;
        visit->facts->names_copied[visit->facts->names_copied_count++] = name;
        add_thread(visit->source, visit->facts,
                   &(struct settled_thread){
                       .thread_id = thread->thread_id,
                       .os_id = thread->os_id,
                       .attached_monotonic_ns = thread->attached_monotonic_ns,
                       .detached_monotonic_ns = thread->detached_monotonic_ns,
                       .records = thread->records,
                       .name = name,
                   });
        thread_each_loss(thread, add_settled_loss, (void *)(uintptr_t)visit);
    }
    return RBWP_OK;
}

static void add_settled(const struct visit *visit, const struct settled *settled)
{
    for (uint32_t i = 0; i < settled->thread_count; i++)
        add_thread(visit->source, visit->facts, &settled->threads[i]);
    for (uint32_t i = 0; i < settled->loss_count; i++)
        add_settled_loss((void *)(uintptr_t)visit, &settled->losses[i]);
    for (uint32_t cause = 1; cause < LOSS_CAUSES; cause++)
        if (settled->all_losses[cause].count)
            add_settled_loss((void *)(uintptr_t)visit, &settled->all_losses[cause]);
}

static void add_left(struct session_facts *facts, enum rbwp_left_kind kind, uint64_t entries,
                     uint64_t records)
{
    if (entries)
        facts->left[facts->trailer.left_count++] = (struct rbwp_left){kind, entries, records};
}

static void add_samples(const struct facts_source *source, struct session_facts *facts)
{
    const struct timeline *line = source->line;
    uint32_t stride = line->samples / SAMPLES_IN_FILE_MAX + 1;
    for (uint32_t i = 0; i < line->samples; i++)
        if (i % stride == 0 || i + 1 == line->samples)
            facts->samples[facts->trailer.sample_count++] = line->sample[i];
}

static void add_job(const struct facts_source *source, struct session_facts *facts)
{
    struct rbwp_trailer *trailer = &facts->trailer;
    trailer->job_fact_count = job_facts_list(source->job, facts->job_facts);
    trailer->job_facts = facts->job_facts;
    trailer->node_clock_count = job_clocks(facts->node_clocks);
    trailer->node_clocks = facts->node_clocks;
}

static void add_session(const struct facts_source *source, struct session_facts *facts)
{
    static const char writer[] = "librbwp " RBWP_VERSION_STRING;
    struct rbwp_trailer *trailer = &facts->trailer;
    const struct timeline *line = source->line;
    gethostname(facts->host, sizeof facts->host - 1);
    trailer->host = facts->host;
    trailer->host_bytes = (uint32_t)strlen(facts->host);
    process_look(&facts->process);
    trailer->command = facts->process.command;
    trailer->command_bytes = facts->process.command_bytes;
    trailer->processes = &facts->process.info;
    trailer->process_count = 1;
    trailer->writer = writer;
    trailer->writer_bytes = sizeof writer - 1;
    trailer->process_id = (uint64_t)getpid();
    trailer->nodes = source->nodes;
    trailer->level = (uint32_t)source->settings->level;
    trailer->start_ns = source->start_ns;
    trailer->stop_ns = source->stop_ns;
    trailer->clock_kind = clock_kind();
    trailer->clock_hz = rbwp_ticks_per_second();
    trailer->clock_error_ns = line->error_ns + line->deviation_ns;
    if (clock_is_doubted()) {
        trailer->clock_flags = RBWP_CLOCK_DOUBTED;
        trailer->clock_error_ns += CLOCK_DOUBT_NS;
    }
    trailer->cap_bytes = source->settings->cap_bytes;
    trailer->peak_bytes = chunk_pool_peak_bytes(source->pool);
    trailer->discarded = source->totals->discarded;
}

static size_t threads_from(const struct thread *thread)
{
    size_t count = 0;
    for (; thread; thread = thread->next)
        count++;
    return count;
}

/* Registry locked, as for all that is gathered from it. */
static enum rbwp_status gather_threads(const struct facts_source *source,
                                       struct session_facts *facts)
{
    thread_registry_settle_last();
    const struct settled *settled = settled_threads();
    const struct visit visit = {source, facts};
    size_t unsettled =
        threads_from(thread_registry_first()) + threads_from(thread_registry_first_ended());
    facts->names_copied = calloc(unsettled + 1, sizeof *facts->names_copied);
    facts->threads = calloc(unsettled + settled->thread_count + 1, sizeof *facts->threads);
    facts->losses =
        calloc((unsettled + 1) * (LOSS_CAUSES + 4) + settled->loss_count + LOSS_CAUSES + 1,
               sizeof *facts->losses);
    if (!facts->names_copied || !facts->threads || !facts->losses)
        return RBWP_E_MEMORY;
    enum rbwp_status status = add_unsettled(&visit, thread_registry_first());
    if (status == RBWP_OK)
        status = add_unsettled(&visit, thread_registry_first_ended());
    add_settled(&visit, settled);
    thread_each_loss(&thread_rows_strays, add_settled_loss, (void *)(uintptr_t)&visit);
    add_left(facts, RBWP_LEFT_THREADS, settled->left_threads, settled->left_records);
    add_left(facts, RBWP_LEFT_LOSSES, settled->left_losses, 0);
    return status;
}

static enum rbwp_status gather(const struct facts_source *source, struct session_facts *facts)
{
    facts->samples = calloc(SAMPLES_IN_FILE_MAX + 2, sizeof *facts->samples);
    if (!facts->samples || names_take(&facts->names) != RBWP_OK)
        return RBWP_E_MEMORY;
    facts->names_taken = true;
    enum rbwp_status status = gather_threads(source, facts);
    if (status != RBWP_OK)
        return status;
    add_left(facts, RBWP_LEFT_SLOT_USES, facts->names.left_uses, 0);
    add_strays(source, facts);
    add_samples(source, facts);
    add_session(source, facts);
    add_job(source, facts);
    int64_t offset = source->line->offset_ns;
    for (uint32_t i = 0; i < facts->names.slot_use_count; i++) {
        struct rbwp_slot_use *use = &facts->names.slot_uses[i];
        use->from_ns += offset;
        if (use->to_ns)
            use->to_ns += offset;
    }
    facts->trailer.threads = facts->threads;
    facts->trailer.losses = facts->losses;
    facts->trailer.samples = facts->samples;
    facts->trailer.slot_uses = facts->names.slot_uses;
    facts->trailer.sub_item_kinds = facts->names.kinds;
    facts->trailer.sub_item_kind_count = facts->names.kind_count;
    facts->trailer.slot_use_count = facts->names.slot_use_count;
    facts->trailer.left = facts->left;
    return RBWP_OK;
}

/* 65536 sub-items, and as many threads and slot uses as are ever kept, then have less than half of
 * the room. */
#define CUT_NAME_BYTES 200u

static void cut(uint16_t *name_bytes)
{
    if (*name_bytes > CUT_NAME_BYTES)
        *name_bytes = CUT_NAME_BYTES;
}

void session_facts_cut_names(struct session_facts *facts)
{
    for (uint32_t i = 0; i < facts->trailer.thread_count; i++)
        cut(&facts->threads[i].name_bytes);
    for (uint32_t i = 0; i < facts->names.slot_use_count; i++)
        cut(&facts->names.slot_uses[i].name_bytes);
    for (uint32_t i = 0; i < facts->names.work_item_count; i++)
        cut(&facts->names.work_items[i].name_bytes);
    for (uint32_t i = 0; i < facts->names.sub_item_count; i++)
        cut(&facts->names.sub_items[i].name_bytes);
}

void session_facts_free(struct session_facts *facts)
{
    if (!facts)
        return;
    for (size_t i = 0; i < facts->names_copied_count; i++)
        free(facts->names_copied[i]);
    free(facts->names_copied);
    free(facts->threads);
    free(facts->losses);
    free(facts->samples);
    if (facts->names_taken)
        names_release(&facts->names);
    free(facts);
}

enum rbwp_status session_facts_gather(const struct facts_source *source,
                                      struct session_facts **facts_out)
{
    struct session_facts *facts = calloc(1, sizeof *facts);
    enum rbwp_status status = RBWP_E_MEMORY;
    if (facts) {
        thread_registry_lock();
        status = gather(source, facts);
        thread_registry_unlock();
    }
    if (status != RBWP_OK) {
        session_facts_free(facts);
        facts = NULL;
    }
    *facts_out = facts;
    return status;
}
