/* SPDX-License-Identifier: Apache-2.0 */
#include "session_facts.h"

#include "chunk_pool.h"
#include "clock.h"
#include "extend.h"
#include "recording.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES_IN_FILE_MAX 256u

static bool is_misuse(uint32_t cause)
{
    return cause >= RBWP_LOSS_NOT_ATTACHED && cause <= RBWP_LOSS_KEPT_EMPTY;
}

static void add_loss(struct session_facts *facts, uint64_t thread_id, uint32_t cause,
                     uint64_t count, int64_t first_ns, int64_t last_ns)
{
    if (count == 0)
        return;
    facts->losses[facts->trailer.loss_count++] =
        (struct rbwp_loss){thread_id, cause, count, first_ns, last_ns};
    if (is_misuse(cause))
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

static void add_thread_losses(const struct facts_source *source, struct session_facts *facts,
                              const struct thread *thread)
{
    for (uint32_t cause = 1; cause < LOSS_CAUSES; cause++) {
        const struct loss_tally *tally = &thread->loss[cause];
        if (tally->count)
            add_loss(facts, thread->thread_id, cause, tally->count,
                     loss_ns(source, tally->first_ticks), loss_ns(source, tally->last_ticks));
    }
    add_loss(facts, thread->thread_id, RBWP_LOSS_IO, thread->unwritten, thread->unwritten_first_ns,
             thread->unwritten_last_ns);
    add_loss(facts, thread->thread_id, RBWP_LOSS_SIGNAL,
             atomic_load_explicit(&thread->refused, memory_order_relaxed), 0, 0);
}

static void add_strays(const struct facts_source *source, struct session_facts *facts)
{
    uint64_t count = atomic_load(&recording_strays.count);
    if (count)
        add_loss(facts, 0, RBWP_LOSS_NOT_ATTACHED, count,
                 loss_ns(source, atomic_load(&recording_strays.first_ticks)),
                 loss_ns(source, atomic_load(&recording_strays.last_ticks)));
}

static void add_thread(const struct facts_source *source, struct session_facts *facts,
                       const struct thread *thread)
{
    int64_t offset = source->line->offset_ns;
    facts->threads[facts->trailer.thread_count++] = (struct rbwp_thread_info){
        .thread_id = thread->thread_id,
        .os_id = thread->os_id,
        .attached_ns = thread->attached_monotonic_ns + offset,
        .detached_ns = thread->detached_monotonic_ns ? thread->detached_monotonic_ns + offset : 0,
        .records = thread->records,
        .name_bytes = (uint16_t)strlen(thread->name),
        .name = strdup(thread->name), /* it may be renamed while the file is written */
    };
    struct rbwp_thread_info *info = &facts->threads[facts->trailer.thread_count - 1];
    if (!info->name)
        info->name_bytes = 0;
}

static void add_samples(const struct facts_source *source, struct session_facts *facts)
{
    const struct timeline *line = source->line;
    uint32_t stride = line->samples / SAMPLES_IN_FILE_MAX + 1;
    for (uint32_t i = 0; i < line->samples; i++)
        if (i % stride == 0 || i + 1 == line->samples)
            facts->samples[facts->trailer.sample_count++] = line->sample[i];
}

/* The command line, arguments separated by NUL as the kernel gives it. */
static uint32_t read_command(char *command)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, command, COMMAND_BYTES_MAX);
    if (fd >= 0)
        close(fd);
    if (n > 0 && command[n - 1] == 0)
        n--;
    return n > 0 ? (uint32_t)n : 0;
}

static void add_session(const struct facts_source *source, struct session_facts *facts)
{
    static const char writer[] = "librbwp " RBWP_VERSION_STRING;
    struct rbwp_trailer *trailer = &facts->trailer;
    const struct timeline *line = source->line;
    gethostname(facts->host, sizeof facts->host - 1);
    trailer->host = facts->host;
    trailer->host_bytes = (uint32_t)strlen(facts->host);
    trailer->command = facts->command;
    trailer->command_bytes = read_command(facts->command);
    trailer->writer = writer;
    trailer->writer_bytes = sizeof writer - 1;
    trailer->process_id = (uint64_t)getpid();
    trailer->nodes = source->nodes;
    trailer->level = (uint32_t)source->config->level;
    trailer->start_ns = source->start_ns;
    trailer->stop_ns = source->stop_ns;
    trailer->clock_kind = clock_kind();
    trailer->clock_hz = rbwp_ticks_per_second();
    trailer->clock_error_ns = line->error_ns;
    trailer->cap_bytes = source->config->cap_bytes;
    trailer->peak_bytes = chunk_pool_peak_bytes(source->pool);
    trailer->discarded = source->totals->discarded;
}

static enum rbwp_status gather(const struct facts_source *source, struct session_facts *facts)
{
    size_t threads = 0;
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        threads++;
    facts->threads = calloc(threads + 1, sizeof *facts->threads);
    facts->losses = calloc(threads * (LOSS_CAUSES + 2) + 1, sizeof *facts->losses);
    facts->samples = calloc(SAMPLES_IN_FILE_MAX + 2, sizeof *facts->samples);
    if (!facts->threads || !facts->losses || !facts->samples ||
        names_take(&facts->names) != RBWP_OK)
        return RBWP_E_MEMORY;
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next) {
        add_thread(source, facts, thread);
        add_thread_losses(source, facts, thread);
    }
    add_strays(source, facts);
    add_samples(source, facts);
    add_session(source, facts);
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
    facts->trailer.slot_use_count = facts->names.slot_use_count;
    facts->gpus = extend_gpus(&facts->trailer.gpu_count);
    facts->trailer.gpus = facts->gpus;
    return RBWP_OK;
}

void session_facts_free(struct session_facts *facts)
{
    if (!facts)
        return;
    for (uint32_t i = 0; i < facts->trailer.thread_count; i++)
        free((char *)(uintptr_t)facts->threads[i].name);
    free(facts->threads);
    free(facts->losses);
    free(facts->samples);
    free(facts->gpus);
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
