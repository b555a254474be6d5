/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the parts of a session are put together and in what order they end.
 *
 * Start: file, writer, pool, drain, then the level is raised. Stop: the level
 * is cleared and all threads hand over (recording_end), the drain writes what
 * is left, then tables and trailer, then everything is freed. A thread may be
 * in the middle of a recording call at any point of this; recording_end is
 * where it is waited for.
 *
 * A process that exits with a session running gets it stopped by an atexit
 * handler; a forked child has no session and may start its own.
 */
#include "rbwp_session.h"

#include "chunk_pool.h"
#include "drain.h"
#include "extend.h"
#include "failure.h"
#include "live.h"
#include "names.h"
#include "node.h"
#include "output.h"
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES_IN_FILE_MAX 256u
#define COMMAND_BYTES_MAX 4096u

struct rbwp_session {
    struct rbwp_session_config config;
    struct recording recording;
    struct shared_timeline timeline;
    struct output output;
    bool has_live;
    bool unfinished; /* not even the tables could be written */
    struct rbwp_writer *writer;
    uint32_t node, nodes;
    int64_t start_ns, stop_ns;
    struct rbwp_session_summary summary;
};

/* Guards which session runs and whether it is being stopped. The registry's lock is taken inside
 * it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rbwp_session *running;
static bool ending;
static pthread_cond_t has_ended = PTHREAD_COND_INITIALIZER;

/* ---- start ------------------------------------------------------------------------- */

static void end_session(struct rbwp_session *session, enum rbwp_extend_moment moment,
                        struct rbwp_session_summary *summary_out);

static void stop_at_exit(void)
{
    pthread_mutex_lock(&lock);
    while (ending) /* another thread stops it: its file shall be whole */
        pthread_cond_wait(&has_ended, &lock);
    struct rbwp_session *session = running;
    ending = session != NULL;
    pthread_mutex_unlock(&lock);
    if (session)
        end_session(session, RBWP_EXTEND_EXITING, NULL);
}

/* The parent's session is not the child's: its file, threads and chunks are left alone. */
static void forget_in_child(void)
{
    if (running)
        close(running->output.fd);
    running = NULL; /* its memory is given up: other threads' state in it is unknown */
    ending = false;
    clock_set_line(NULL);
    recording_now = NULL;
    live_after_fork();
    __atomic_store_n(&rbwp_level_, 0, __ATOMIC_RELAXED);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&has_ended, NULL);
}

static void install_handlers(void)
{
    pthread_atfork(NULL, NULL, forget_in_child);
    atexit(stop_at_exit);
}

static enum rbwp_status check_config(const struct rbwp_session_config *config,
                                     struct rbwp_error *error)
{
    if (config->size != sizeof *config)
        return failure(error, RBWP_E_INVALID, 0,
                       "the session's configuration has size %zu, not %zu: call "
                       "rbwp_session_defaults first",
                       config->size, sizeof *config);
    if (config->level < 0 || config->level > 2)
        return failure(error, RBWP_E_USAGE, 0, "profiling level %d is not 0, 1 or 2",
                       config->level);
    if (config->block_bytes < 1024 || config->block_bytes > RBWP_BLOCK_BYTES_MAX)
        return failure(error, RBWP_E_USAGE, 0, "block size %u is not 1024 to %u bytes",
                       config->block_bytes, RBWP_BLOCK_BYTES_MAX);
    if (config->compression < 0 || config->compression > 9)
        return failure(error, RBWP_E_USAGE, 0, "compression level %d is not 0 to 9",
                       config->compression);
    if (config->at_cap != RBWP_AT_CAP_WAIT && config->at_cap != RBWP_AT_CAP_DROP)
        return failure(error, RBWP_E_USAGE, 0, "what to do at the cap is %d, not 0 or 1",
                       (int)config->at_cap);
    if (config->node > UINT32_MAX)
        return failure(error, RBWP_E_USAGE, 0, "node id %lld is above %u", (long long)config->node,
                       UINT32_MAX);
    if (!config->logfile || !config->logfile[0])
        return failure(error, RBWP_E_USAGE, 0, "the log file has no name");
    return RBWP_OK;
}

static enum rbwp_status find_node(struct rbwp_session *session, struct rbwp_error *error)
{
    const struct rbwp_session_config *config = &session->config;
    bool named;
    node_from_launcher(&session->node, &session->nodes);
    if (config->node >= 0)
        session->node = (uint32_t)config->node;
    if (config->nodes)
        session->nodes = config->nodes;
    enum rbwp_status status = node_file_name(config->logfile, session->node, session->summary.path,
                                             sizeof session->summary.path, &named, error);
    if (status != RBWP_OK)
        return status;
    if (session->nodes > 1 && !named)
        return failure(error, RBWP_E_USAGE, 0,
                       "%u nodes would write the same log file \"%s\": put %% where the node id "
                       "shall stand",
                       session->nodes, config->logfile);
    return RBWP_OK;
}

/* The live file goes when the profile has its tables; else it stays for rbwp repair. */
static void free_session(struct rbwp_session *session)
{
    chunk_pool_free(session->recording.pool);
    if (session->has_live)
        live_close(!session->unfinished);
    rbwp_writer_free(session->writer);
    if (session->output.fd >= 0)
        (void)output_close(&session->output);
    pthread_mutex_destroy(&session->timeline.lock);
    free(session);
}

/* FILE and FILE.live. Without a live file the session goes on: only a crash would tell. */
static enum rbwp_status open_files(struct rbwp_session *session, struct rbwp_error *error)
{
    struct rbwp_error live_error = {0};
    if (session->config.live) {
        enum rbwp_status status = live_open(session->summary.path, &live_error);
        session->has_live = status == RBWP_OK;
        if (status == RBWP_E_BUSY) {
            if (error)
                *error = live_error;
            return status;
        }
    }
    enum rbwp_status status = output_open(&session->output, session->summary.path, error);
    session->output.sync_interval_ns = (int64_t)session->config.sync_ns;
    return status;
}

static void begin_live(const struct rbwp_session *session)
{
    const struct timeline *line = &session->timeline.line;
    const struct live_facts facts = {
        .zero_time_ns = session->start_ns,
        .offset_ns = line->offset_ns,
        .node = session->node,
        .nodes = session->nodes,
        .level = (uint32_t)session->config.level,
        .clock_kind = clock_kind(),
        .chunk_bytes = (uint32_t)chunk_bytes(session->recording.pool),
        .chunk_head_bytes = offsetof(struct chunk, words),
        .ticks_per_second = rbwp_ticks_per_second(),
        .cap_bytes = session->config.cap_bytes,
    };
    live_begin(&facts);
    live_log(LIVE_SAMPLE, &line->sample[0], sizeof line->sample[0], NULL, 0);
    live_commit(RBWP_FILE_HEADER_BYTES, 0);
}

/* Opens the file and makes all parts but the level. */
static enum rbwp_status assemble(struct rbwp_session *session, struct rbwp_error *error)
{
    const struct rbwp_session_config *config = &session->config;
    enum rbwp_status status = open_files(session, error);
    if (status != RBWP_OK)
        return status;
    timeline_start(&session->timeline.line);
    session->start_ns = session->timeline.line.sample[0].time_ns;
    struct rbwp_sink sink = output_sink(&session->output);
    status = rbwp_writer_new(&sink, session->node, session->start_ns, config->level == 2,
                             &session->writer);
    if (status != RBWP_OK)
        return failure(error, status, errno,
                       "running unprofiled: cannot write to the profile \"%s\"",
                       session->summary.path);
    session->recording.at_cap = config->at_cap;
    session->recording.strict = config->strict;
    session->recording.pool = chunk_pool_new(config->cap_bytes);
    if (session->recording.pool && session->has_live)
        begin_live(session);
    status = session->recording.pool
                 ? drain_start(config, session->recording.pool, &session->timeline, session->writer,
                               &session->recording.drain)
                 : RBWP_E_MEMORY;
    if (status != RBWP_OK)
        return failure(error, status, 0, "cannot start the profiler's writer: %s",
                       rbwp_status_text(status));
    return RBWP_OK;
}

static void begin_recording(struct rbwp_session *session)
{
    clock_set_line(&session->timeline.line);
    names_begin_session();
    thread_registry_lock();
    thread_registry_begin_session();
    recording_now = &session->recording;
    atomic_store(&recording_strays.count, 0);
    running = session;
    __atomic_store_n(&rbwp_level_, session->config.level, __ATOMIC_SEQ_CST);
    thread_registry_unlock();
}

enum rbwp_status rbwp_session_start(const struct rbwp_session_config *config,
                                    struct rbwp_session **session_out, struct rbwp_error *error)
{
    static pthread_once_t handlers = PTHREAD_ONCE_INIT;
    *session_out = NULL;
    enum rbwp_status status = check_config(config, error);
    if (status != RBWP_OK || config->level == 0)
        return status;
    clock_prepare();
    pthread_once(&handlers, install_handlers);
    struct rbwp_session *session = calloc(1, sizeof *session);
    if (!session)
        return failure(error, RBWP_E_MEMORY, 0, "no memory for a profiling session");
    session->config = *config;
    session->output.fd = -1;
    pthread_mutex_init(&session->timeline.lock, NULL);

    pthread_mutex_lock(&lock);
    if (running || ending)
        status = failure(error, RBWP_E_BUSY, 0, "a profiling session is already running");
    else if ((status = find_node(session, error)) == RBWP_OK &&
             (status = assemble(session, error)) == RBWP_OK)
        begin_recording(session);
    pthread_mutex_unlock(&lock);
    if (status != RBWP_OK) {
        free_session(session);
        return status;
    }
    *session_out = session;
    return RBWP_OK;
}

/* ---- what the file says about the session --------------------------------------------- */

struct facts {
    struct rbwp_trailer trailer;
    struct rbwp_thread_info *threads;
    struct rbwp_loss *losses;
    struct rbwp_clock_sample *samples;
    struct rbwp_gpu_info *gpus;
    struct names_snapshot names;
    char host[256];
    char command[COMMAND_BYTES_MAX];
};

static bool is_misuse(uint32_t cause)
{
    return cause >= RBWP_LOSS_NOT_ATTACHED && cause != RBWP_LOSS_GPU_PENDING &&
           cause != RBWP_LOSS_GPU_FAILED;
}

static void add_loss(struct rbwp_session *session, struct facts *facts, uint64_t thread_id,
                     uint32_t cause, uint64_t count, int64_t first_ns, int64_t last_ns)
{
    if (count == 0)
        return;
    facts->losses[facts->trailer.loss_count++] =
        (struct rbwp_loss){thread_id, cause, count, first_ns, last_ns};
    if (is_misuse(cause))
        session->summary.misuse_calls += count;
    else
        session->summary.lost_records += count;
}

/* When a loss happened. Ticks given by the caller may have been read before the session. */
static int64_t loss_ns(const struct rbwp_session *session, uint64_t ticks)
{
    int64_t time_ns = timeline_ns(&session->timeline.line, ticks);
    time_ns = time_ns > session->start_ns ? time_ns : session->start_ns;
    return time_ns < session->stop_ns ? time_ns : session->stop_ns;
}

static void add_thread_losses(struct rbwp_session *session, struct facts *facts,
                              const struct thread *thread)
{
    for (uint32_t cause = 1; cause < LOSS_CAUSES; cause++) {
        const struct loss_tally *tally = &thread->loss[cause];
        if (tally->count)
            add_loss(session, facts, thread->thread_id, cause, tally->count,
                     loss_ns(session, tally->first_ticks), loss_ns(session, tally->last_ticks));
    }
    add_loss(session, facts, thread->thread_id, RBWP_LOSS_IO, thread->unwritten,
             thread->unwritten_first_ns, thread->unwritten_last_ns);
    add_loss(session, facts, thread->thread_id, RBWP_LOSS_SIGNAL,
             atomic_load_explicit(&thread->refused, memory_order_relaxed), 0, 0);
}

static void add_strays(struct rbwp_session *session, struct facts *facts)
{
    uint64_t count = atomic_load(&recording_strays.count);
    if (count)
        add_loss(session, facts, 0, RBWP_LOSS_NOT_ATTACHED, count,
                 loss_ns(session, atomic_load(&recording_strays.first_ticks)),
                 loss_ns(session, atomic_load(&recording_strays.last_ticks)));
}

static void add_thread(const struct rbwp_session *session, struct facts *facts,
                       const struct thread *thread)
{
    int64_t offset = session->timeline.line.offset_ns;
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

static void add_samples(const struct rbwp_session *session, struct facts *facts)
{
    const struct timeline *line = &session->timeline.line;
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

static void add_session(const struct rbwp_session *session, struct facts *facts,
                        const struct drain_totals *totals)
{
    static const char writer[] = "librbwp " RBWP_VERSION_STRING;
    struct rbwp_trailer *trailer = &facts->trailer;
    const struct timeline *line = &session->timeline.line;
    gethostname(facts->host, sizeof facts->host - 1);
    trailer->host = facts->host;
    trailer->host_bytes = (uint32_t)strlen(facts->host);
    trailer->command = facts->command;
    trailer->command_bytes = read_command(facts->command);
    trailer->writer = writer;
    trailer->writer_bytes = sizeof writer - 1;
    trailer->process_id = (uint64_t)getpid();
    trailer->nodes = session->nodes;
    trailer->level = (uint32_t)session->config.level;
    trailer->start_ns = session->start_ns;
    trailer->stop_ns = session->stop_ns;
    trailer->clock_kind = clock_kind();
    trailer->clock_hz = rbwp_ticks_per_second();
    trailer->clock_error_ns = line->error_ns;
    trailer->cap_bytes = session->config.cap_bytes;
    trailer->peak_bytes = chunk_pool_peak_bytes(session->recording.pool);
    trailer->discarded = totals->discarded;
}

static enum rbwp_status gather(struct rbwp_session *session, struct facts *facts,
                               const struct drain_totals *totals)
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
        add_thread(session, facts, thread);
        add_thread_losses(session, facts, thread);
    }
    add_strays(session, facts);
    add_samples(session, facts);
    add_session(session, facts, totals);
    int64_t offset = session->timeline.line.offset_ns;
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

static void free_facts(struct facts *facts)
{
    for (uint32_t i = 0; i < facts->trailer.thread_count; i++)
        free((char *)(uintptr_t)facts->threads[i].name);
    free(facts->threads);
    free(facts->losses);
    free(facts->samples);
    free(facts->gpus);
    names_release(&facts->names);
    free(facts);
}

/* ---- stop ----------------------------------------------------------------------------- */

static void note_trouble(struct rbwp_session *session, enum rbwp_status status, int os_errno,
                         const char *what)
{
    if (status != RBWP_OK && session->summary.error.status == RBWP_OK)
        failure(&session->summary.error, status, os_errno, "%s \"%s\"", what,
                session->summary.path);
}

/* Tables, trailer and patched header. */
static void finish_file(struct rbwp_session *session, const struct drain_totals *totals)
{
    struct facts *facts = calloc(1, sizeof *facts);
    enum rbwp_status status = RBWP_E_MEMORY;
    if (facts) {
        thread_registry_lock();
        status = gather(session, facts, totals);
        thread_registry_unlock();
    }
    errno = 0;
    if (status == RBWP_OK) {
        session->output.ending = true;
        status = rbwp_writer_finish(session->writer, facts->names.work_items,
                                    facts->names.work_item_count, facts->names.sub_items,
                                    facts->names.sub_item_count,
                                    session->config.strict ? NULL : &facts->trailer);
    }
    session->unfinished = status != RBWP_OK;
    note_trouble(session, status, errno, "cannot finish the profile");
    errno = 0;
    status = output_close(&session->output);
    note_trouble(session, status, errno, "cannot close the profile");
    if (facts)
        free_facts(facts);
}

static void summarise(struct rbwp_session *session, const struct drain_totals *totals)
{
    struct rbwp_session_summary *summary = &session->summary;
    rbwp_writer_totals(session->writer, &summary->bytes, &summary->blocks, &summary->records);
    summary->discarded = totals->discarded;
    summary->peak_bytes = chunk_pool_peak_bytes(session->recording.pool);
    summary->unprotected_bytes = chunk_pool_unprotected_bytes(session->recording.pool);
}

/* Takes the session from `running`'s state to "ending"; false if it is not the one, or ends
 * already. */
static bool begin_to_end(struct rbwp_session *session)
{
    pthread_mutex_lock(&lock);
    bool mine = session && session == running && !ending;
    if (mine)
        ending = true;
    pthread_mutex_unlock(&lock);
    return mine;
}

/* A fork from here on finds no session to forget; a start has to wait for the live file's end. */
static void forget_session(void)
{
    pthread_mutex_lock(&lock);
    running = NULL;
    pthread_mutex_unlock(&lock);
}

static void ended(void)
{
    pthread_mutex_lock(&lock);
    ending = false;
    pthread_cond_broadcast(&has_ended);
    pthread_mutex_unlock(&lock);
}

/* Of a session that has been taken to "ending". */
static void end_session(struct rbwp_session *session, enum rbwp_extend_moment moment,
                        struct rbwp_session_summary *summary_out)
{
    int64_t begin_ns = clock_now_ns(0);
    extend_tell(moment);
    thread_registry_lock();
    recording_end();
    recording_now = NULL;
    thread_registry_unlock();
    session->stop_ns = clock_now_ns(session->timeline.line.offset_ns);
    extend_tell(RBWP_EXTEND_STOPPED);

    struct drain_totals totals;
    drain_finish(session->recording.drain, &totals);
    timeline_sample(&session->timeline.line); /* the line now spans the session */
    session->summary.error = totals.error;
    finish_file(session, &totals);
    thread_registry_lock();
    thread_registry_end_session();
    thread_registry_unlock();
    names_end_session();
    clock_set_line(NULL);
    forget_session();

    summarise(session, &totals);
    session->summary.stop_ns = (uint64_t)(clock_now_ns(0) - begin_ns);
    if (summary_out)
        *summary_out = session->summary;
    free_session(session);
    ended();
}

enum rbwp_status rbwp_session_stop(struct rbwp_session *session,
                                   struct rbwp_session_summary *summary_out)
{
    struct rbwp_session_summary summary = {0};
    enum rbwp_status status = session ? RBWP_E_STATE : RBWP_OK;
    if (begin_to_end(session)) {
        end_session(session, RBWP_EXTEND_STOPPING, &summary);
        status = summary.error.status;
    }
    if (summary_out)
        *summary_out = summary;
    return status;
}
