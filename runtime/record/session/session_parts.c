/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken first is given back last; the live file goes when the profile is whole. */
#include "session_parts.h"

#include "chunk_pool.h"
#include "output_lock.h"
#include "clock.h"
#include "in_process.h"
#include "failure.h"
#include "live.h"
#include "loss_text.h"
#include "names.h"
#include "node.h"
#include "on_cpu.h"
#include "rbwp_format.h"
#include "recover_part.h"
#include "ring.h"
#include "session_config.h"
#include "stall.h"
#include "thread_registry.h"
#include "thread_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- what the file says of its session ------------------------------------------------------- */
/*
 * The tables of names and the trailer's facts.
 *
 * Gathered once, when recording has ended and all chunks are written, from the registries of
 * threads and names, the time line and the drain's totals.
 */

#define LEFT_KINDS 4u

/* The session, as far as its facts depend on it. */
struct facts_source {
    const struct session_settings *settings;
    const struct timeline *line;
    const struct chunk_pool *pool;
    const struct drain_totals *totals;
    int64_t start_ns, stop_ns;
    uint32_t nodes;
    const struct rbwp_job_facts *job;
};

/* The trailer and what it points to. */
struct session_facts {
    struct rbwp_trailer trailer;
    struct rbwp_thread_info *threads;
    struct rbwp_loss *losses;
    struct rbwp_clock_sample *samples;
    struct rbwp_left left[LEFT_KINDS];
    struct rbwp_job_fact job_facts[JOB_WHATS];
    struct rbwp_node_clock node_clocks[NODE_CLOCKS_MAX];
    char **names_copied; /* of threads; the other names are the registries' */
    size_t names_copied_count;
    struct names_snapshot names;
    bool names_taken;
    uint64_t lost_records, misuse_calls; /* the losses' sums */
    char host[256];
    struct process_facts process;
};

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

static void add_retired_loss(void *context, const struct retired_loss *loss)
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
                       const struct retired_thread *thread)
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
                   &(struct retired_thread){
                       .thread_id = thread->thread_id,
                       .os_id = thread->os_id,
                       .attached_monotonic_ns = thread->attached_monotonic_ns,
                       .detached_monotonic_ns = thread->detached_monotonic_ns,
                       .records = thread->records,
                       .name = name,
                   });
        thread_each_loss(thread, add_retired_loss, (void *)(uintptr_t)visit);
    }
    return RBWP_OK;
}

static void add_retired(const struct visit *visit, const struct retired_threads *retired)
{
    for (uint32_t i = 0; i < retired->thread_count; i++)
        add_thread(visit->source, visit->facts, &retired->threads[i]);
    for (uint32_t i = 0; i < retired->loss_count; i++)
        add_retired_loss((void *)(uintptr_t)visit, &retired->losses[i]);
    for (uint32_t cause = 1; cause < LOSS_CAUSES; cause++)
        if (retired->all_losses[cause].count)
            add_retired_loss((void *)(uintptr_t)visit, &retired->all_losses[cause]);
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
    const struct retired_threads *retired = retired_threads();
    const struct visit visit = {source, facts};
    size_t unsettled =
        threads_from(thread_registry_first()) + threads_from(thread_registry_first_ended());
    facts->names_copied = calloc(unsettled + 1, sizeof *facts->names_copied);
    facts->threads = calloc(unsettled + retired->thread_count + 1, sizeof *facts->threads);
    facts->losses =
        calloc((unsettled + 1) * (LOSS_CAUSES + 4) + retired->loss_count + LOSS_CAUSES + 1,
               sizeof *facts->losses);
    if (!facts->names_copied || !facts->threads || !facts->losses)
        return RBWP_E_MEMORY;
    enum rbwp_status status = add_unsettled(&visit, thread_registry_first());
    if (status == RBWP_OK)
        status = add_unsettled(&visit, thread_registry_first_ended());
    add_retired(&visit, retired);
    thread_each_loss(&thread_rows_strays, add_retired_loss, (void *)(uintptr_t)&visit);
    add_left(facts, RBWP_LEFT_THREADS, retired->left_threads, retired->left_records);
    add_left(facts, RBWP_LEFT_LOSSES, retired->left_losses, 0);
    return status;
}

static enum rbwp_status session_parts_gather(const struct facts_source *source,
                                             struct session_facts *facts)
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

static void session_parts_cut(uint16_t *name_bytes)
{
    if (*name_bytes > CUT_NAME_BYTES)
        *name_bytes = CUT_NAME_BYTES;
}

/* For a file that has no room for the names as they are: cuts them. */
static void session_facts_cut_names(struct session_facts *facts)
{
    for (uint32_t i = 0; i < facts->trailer.thread_count; i++)
        session_parts_cut(&facts->threads[i].name_bytes);
    for (uint32_t i = 0; i < facts->names.slot_use_count; i++)
        session_parts_cut(&facts->names.slot_uses[i].name_bytes);
    for (uint32_t i = 0; i < facts->names.work_item_count; i++)
        session_parts_cut(&facts->names.work_items[i].name_bytes);
    for (uint32_t i = 0; i < facts->names.sub_item_count; i++)
        session_parts_cut(&facts->names.sub_items[i].name_bytes);
}

static void session_facts_free(struct session_facts *facts)
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

/* RBWP_E_MEMORY; *facts_out is NULL then. Takes the registry's lock. Free before the registries end
 * their session. */
static enum rbwp_status session_facts_gather(const struct facts_source *source,
                                             struct session_facts **facts_out)
{
    struct session_facts *facts = calloc(1, sizeof *facts);
    enum rbwp_status status = RBWP_E_MEMORY;
    if (facts) {
        thread_registry_lock();
        status = session_parts_gather(source, facts);
        thread_registry_unlock();
    }
    if (status != RBWP_OK) {
        session_facts_free(facts);
        facts = NULL;
    }
    *facts_out = facts;
    return status;
}

/* ---- made ---------------------------------------------------------------------------- */

struct rbwp_session *session_new(const struct session_settings *settings)
{
    struct rbwp_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->settings = *settings;
    session->output.file = session->folder.held = HELD_NONE;
    pthread_mutex_init(&session->timeline.lock, NULL);
    return session;
}

enum rbwp_status session_find_node(struct rbwp_session *session, struct rbwp_error *error)
{
    const struct session_settings *settings = &session->settings;
    bool is_own;
    job_look(&session->job);
    session->node = settings->has_node ? settings->node : session->job.rank;
    session->nodes = settings->nodes ? settings->nodes : session->job.ranks;
    session->part = settings->rotate_bytes > 0;
    struct node_keys keys = {session->node, session->job.rank, 1, session->job.id};
    enum rbwp_status status = node_file_name(settings->logfile, &keys, session->path_1,
                                             sizeof session->path_1, &is_own, error);
    keys.part = 0;
    if (status == RBWP_OK)
        status = node_file_name(settings->logfile, &keys, session->summary.path,
                                sizeof session->summary.path, &is_own, error);
    if (status != RBWP_OK)
        return status;
    if (session->nodes > 1 && !is_own)
        return failure(error, RBWP_E_USAGE, 0,
                       "%u nodes would write the same log file \"%s\": put %% in it, for the node "
                       "id, or %%p, the process id (on several hosts with %%h)",
                       session->nodes, settings->logfile);
    return RBWP_OK;
}

/* Where the ring cannot be, or shall not be, beside FILE, it is in memory. */
static bool open_in_memory(void)
{
    int fd = memfd_create("rbwp-ring", MFD_CLOEXEC);
    return fd >= 0 && live_open(fd, NULL, NULL);
}

static enum rbwp_status open_ring(struct rbwp_session *session, struct rbwp_error *error)
{
    const struct session_settings *settings = &session->settings;
    uint64_t bytes = session->part ? 2 * settings->rotate_bytes : settings->keep_bytes;
    if (bytes == 0)
        return RBWP_OK;
    if (!session->has_live)
        session->has_live = open_in_memory();
    enum rbwp_status status =
        session->has_live ? ring_new(bytes, settings->keep_ns, &session->ring) : RBWP_E_IO;
    if (status != RBWP_OK)
        return failure(error, status, session->has_live ? 0 : errno,
                       "no room for the newest data that \"%s\" is to keep", session->summary.path);
    if (session->part)
        ring_cut(session->ring, &(struct recover_cut){0}, session->part);
    return RBWP_OK;
}

enum rbwp_status session_open_files(struct rbwp_session *session, struct rbwp_error *error)
{
    const char *path = session->summary.path;
    const struct output_lock_request wish = {.file = path,
                                             .live = session->settings.live,
                                             .live_in_memory = session->settings.live_in_memory,
                                             .follow = session->settings.follow};
    struct folder *folder = &session->folder;
    struct output_lock lock;
    if (!held_is_ours(&folder->held) && !folder_open(folder, path))
        return failure(error, RBWP_E_IO, errno, "cannot open the profile \"%s\"", path);
    enum rbwp_status status = output_lock_files(&wish, &lock, error);
    if (status != RBWP_OK)
        return status;
    live_relogs = live_relog;
    drain_on_clock = process_look_at_title;
    session->leftovers_removed = lock.leftovers_removed;
    output_open(&session->output, lock.file_fd);
    held_name(&session->output.file, &folder->held, folder_name(path), lock.file_flags);
    session->output.sync_interval_ns = session->settings.sync_ns;
    session->has_live =
        lock.live_fd >= 0 && live_open(lock.live_fd, &folder->held, folder_name(lock.live_path));
    session->live_errno = session->has_live || lock.live_fd < 0 ? lock.live_errno : errno;
    return open_ring(session, error);
}

static void begin_live(const struct rbwp_session *session)
{
    const struct timeline *line = &session->timeline.line;
    const struct live_facts facts = {
        .zero_time_ns = session->zero_ns,
        .offset_ns = line->offset_ns,
        .node = session->node,
        .nodes = session->nodes,
        .level = (uint32_t)session->settings.level,
        .clock_kind = clock_kind(),
        .chunk_bytes = (uint32_t)chunk_bytes(session->recording.pool),
        .chunk_head_bytes = sizeof(struct live_chunk_head),
        .ticks_per_second = rbwp_ticks_per_second(),
        .cap_bytes = session->settings.cap_bytes,
    };
    live_begin(&facts);
    process_log();
    live_log(LIVE_SAMPLE, &line->sample[0], sizeof line->sample[0], NULL, 0);
    live_commit(RBWP_FILE_HEADER_BYTES, 0);
}

enum rbwp_status session_assemble(struct rbwp_session *session, struct rbwp_error *error)
{
    const struct session_settings *settings = &session->settings;
    timeline_begin(&session->timeline.line);
    session->start_ns = session->timeline.line.sample[0].time_ns;
    session->zero_ns = session->job.zero_ns ? session->job.zero_ns : session->start_ns;
    struct rbwp_sink sink = output_sink(&session->output);
    enum rbwp_status status = rbwp_writer_new(&sink, session->node, session->zero_ns,
                                              settings->level == 2, &session->writer);
    if (status != RBWP_OK)
        return failure(error, status, errno, "cannot write to the profile \"%s\"",
                       session->summary.path);
    session->recording.at_cap = settings->at_cap;
    session->recording.strict = settings->strict;
    session->recording.began_ticks = session->timeline.line.sample[0].ticks;
    session->recording.pool = chunk_pool_new(settings->cap_bytes);
    if (session->recording.pool && session->has_live)
        begin_live(session);
    if (session->recording.pool)
        session->keeper = chunk_keeper_start(session->recording.pool);
    status = session->recording.pool
                 ? drain_start(settings, session->recording.pool, &session->timeline,
                               session->writer, session->ring, &session->recording.drain)
                 : RBWP_E_MEMORY;
    if (status != RBWP_OK)
        return failure(error, status, 0, "cannot start the profiler's writer: %s",
                       rbwp_status_text(status));
    /* Rows of calls may be those of a signal handler, where nothing can be allocated. */
    session->recording.asks_cpu = settings->cpu && !settings->strict && on_cpu_is_known() &&
                                  on_cpu_prepare() && drain_prepare_rows(session->recording.drain);
    stall_begin_session(settings, session->recording.drain);
    return RBWP_OK;
}

/* ---- finished ------------------------------------------------------------------------ */

static void session_parts_note_trouble(struct rbwp_session *session, enum rbwp_status status,
                                       int os_errno, const char *what)
{
    if (status != RBWP_OK && session->summary.error.status == RBWP_OK)
        failure(&session->summary.error, status, os_errno, "%s \"%s\"", what,
                session->summary.path);
}

/* What no part has, since it could not be written in time. */
static void note_dropped(struct rbwp_session *session)
{
    session->summary.lost_records += session->cut_dropped;
    if (session->cut_dropped && session->summary.error.status == RBWP_OK)
        failure(&session->summary.error, RBWP_E_IO, 0, "%" PRIu64 " records lost: %s",
                session->cut_dropped, session->cut_error.text);
}

/* FILE has its header and nothing else: it is written from the start. */
static enum rbwp_status write_ring(struct rbwp_session *session, const struct session_facts *facts)
{
    const struct session_settings *settings = &session->settings;
    const struct rbwp_tables tables = {facts->names.work_items, facts->names.sub_items,
                                       facts->names.work_item_count, facts->names.sub_item_count};
    struct rbwp_sink sink = output_sink(&session->output);
    struct recover_cut cut;
    const struct recover_part part = {
        .sink = &sink,
        .cut_out = &cut,
        .live_fd = live_open_to_read(),
        .ended = true,
        .since_ns = settings->keep_ns ? session->stop_ns - settings->keep_ns : INT64_MIN,
        .why = RBWP_KEPT_STOP,
        .text = "",
        .tables = &tables,
        .trailer = &facts->trailer,
    };
    session->output.size_bytes = 0;
    enum rbwp_status status = recover_part_write(&part, &session->kept, &session->summary.error);
    if (status == RBWP_OK)
        session->cut_dropped += cut.dropped;
    return status;
}

static enum rbwp_status write_facts(struct rbwp_session *session, const struct session_facts *facts)
{
    if (session->ring)
        return write_ring(session, facts);
    return rbwp_writer_finish(session->writer, facts->names.work_items,
                              facts->names.work_item_count, facts->names.sub_items,
                              facts->names.sub_item_count,
                              session->settings.strict ? NULL : &facts->trailer);
}

/* The header, which was written when the level was 1. */
static enum rbwp_status allow_fine(struct rbwp_session *session)
{
    static const uint8_t flags[] = {RBWP_FLAG_LEVEL2, 0};
    struct rbwp_sink sink = output_sink(&session->output);
    return sink.patch(sink.context, RBWP_FILE_FLAGS_OFFSET, flags, sizeof flags);
}

/* Behind the numbers of an earlier run, which are left alone. */
bool session_part_path(struct rbwp_session *session, char *path_out, size_t room)
{
    const char *file = session->summary.path;
    if (session->number == 0)
        session->number = folder_first_part(&session->folder, file, session->path_1);
    for (; session->number < UINT32_MAX; session->number++) {
        errno = ENAMETOOLONG;
        if (!folder_part_path(file, session->path_1, session->number, path_out, room))
            return false;
        struct place place = folder_place(&session->folder, file, path_out);
        if (faccessat(place.folder, place.name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            return true;
    }
    errno = EEXIST;
    return false;
}

/* The file is good, but not everything is in it: who prints the text learns why. */
static void note_losses(struct rbwp_session *session, const struct rbwp_trailer *trailer)
{
    struct rbwp_error *error = &session->summary.error;
    const struct rbwp_loss *most = NULL;
    for (uint32_t i = 0; i < trailer->loss_count; i++)
        most = !most || trailer->losses[i].count > most->count ? &trailer->losses[i] : most;
    if (!most || error->status != RBWP_OK)
        return;
    if (loss_is_refused(most->cause))
        (void)loss_refused_text(error->text, most->cause, most->count);
    else
        snprintf(error->text, sizeof error->text, "%" PRIu64 " records lost (%s)", most->count,
                 rbwp_loss_cause_name(most->cause));
}

/* The last part gets its number; it stays FILE where that cannot be. */
static void name_last_part(struct rbwp_session *session)
{
    char path[sizeof session->summary.path];
    const char *file = session->summary.path;
    const struct place from = folder_place(&session->folder, file, file);
    if (!session->part || session->unfinished || session->output.was_removed)
        return;
    while (session_part_path(session, path, sizeof path)) {
        const struct place to = folder_place(&session->folder, file, path);
        if (linkat(from.folder, from.name, to.folder, to.name, 0) == 0) {
            unlinkat(from.folder, from.name, 0);
            memcpy(session->summary.path, path, sizeof path);
            return;
        }
        if (errno != EEXIST) /* else another process was faster */
            return;
    }
}

/* Where FILE is for who reads of it, which is not where it was when the process has gone elsewhere.
 */
static void find_path(struct rbwp_session *session)
{
    char path[sizeof session->summary.path];
    folder_path_now(&session->folder, session->summary.path, path, sizeof path);
    memcpy(session->summary.path, path, sizeof path);
}

void session_finish_file(struct rbwp_session *session, const struct drain_totals *totals)
{
    const struct facts_source source = {
        .settings = &session->settings,
        .line = &session->timeline.line,
        .pool = session->recording.pool,
        .totals = totals,
        .start_ns = session->start_ns,
        .stop_ns = session->stop_ns,
        .nodes = session->nodes,
        .job = &session->job,
    };
    struct session_facts *facts;
    enum rbwp_status status = session_facts_gather(&source, &facts);
    errno = 0;
    if (status == RBWP_OK) {
        session->output.ending = true;
        session->summary.lost_records = facts->lost_records;
        session->summary.misuse_calls = facts->misuse_calls;
        status = write_facts(session, facts);
        if (status == RBWP_E_LIMIT) { /* nothing was written */
            session_facts_cut_names(facts);
            status = write_facts(session, facts);
        }
    }
    if (status == RBWP_OK && session->was_raised)
        status = allow_fine(session);
    session->unfinished = status != RBWP_OK;
    int reason = errno;
    if (session->output.was_closed)
        session->summary.error.status = RBWP_OK; /* what follows says why */
    session_parts_note_trouble(
        session, session->output.was_closed ? RBWP_E_IO : RBWP_OK, 0,
        "records are lost: the program closed the profile's descriptor, and there is no "
        "way to open it again: see whether it was moved, removed or made unreadable,");
    session_parts_note_trouble(session, status, reason, "cannot finish the profile");
    note_dropped(session);
    errno = 0;
    status = output_close(&session->output);
    session_parts_note_trouble(session, status, errno, "cannot close the profile");
    session_parts_note_trouble(session, session->output.was_removed ? RBWP_E_IO : RBWP_OK, 0,
                               "all is lost: somebody removed the profile");
    session_parts_note_trouble(session, session->output.was_cut ? RBWP_E_IO : RBWP_OK, 0,
                               "records are lost: somebody cut the profile");
    if (facts)
        note_losses(session, &facts->trailer);
    disk_call_begin();
    name_last_part(session);
    find_path(session);
    disk_call_end();
    session_facts_free(facts);
}

void session_summarise(struct rbwp_session *session, const struct drain_totals *totals)
{
    struct rbwp_session_summary *summary = &session->summary;
    rbwp_writer_totals(session->writer, &summary->bytes, &summary->blocks, &summary->records);
    if (session->ring) {
        summary->bytes = session->kept.bytes;
        summary->blocks = session->kept.blocks;
        summary->records = session->kept.records;
    }
    summary->discarded = totals->discarded;
    summary->peak_bytes = chunk_pool_peak_bytes(session->recording.pool);
    summary->unprotected_bytes = chunk_pool_unprotected_bytes(session->recording.pool);
}

void session_free(struct rbwp_session *session)
{
    disk_call_begin(); /* where FILE.live is on one */
    chunk_keeper_stop(session->keeper);
    disk_call_end();
    drain_free(session->recording.drain);
    chunk_pool_free(session->recording.pool);
    ring_free(session->ring);
    disk_call_begin();
    if (session->has_live)
        live_close(!session->unfinished);
    disk_call_end();
    rbwp_writer_free(session->writer);
    if (session->output.file.fd >= 0)
        (void)output_close(&session->output);
    folder_close(&session->folder);
    pthread_mutex_destroy(&session->timeline.lock);
    free(session);
}
