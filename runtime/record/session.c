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

#include "cancel.h"
#include "chunk_keeper.h"
#include "chunk_pool.h"
#include "claim.h"
#include "drain.h"
#include "extend.h"
#include "failure.h"
#include "live.h"
#include "names.h"
#include "node.h"
#include "on_load.h"
#include "output.h"
#include "recording.h"
#include "session_config.h"
#include "session_facts.h"
#include "sized.h"
#include "tables.h"
#include "test_point.h"
#include "thread_losses.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long a child waits for the end of its parent, if that holds the file. */
#ifndef PARENT_ENDS_MS
#define PARENT_ENDS_MS 1000u
#endif

struct rbwp_session {
    struct session_settings settings;
    struct recording recording;
    struct shared_timeline timeline;
    struct output output;
    bool has_live;
    bool unfinished; /* not even the tables could be written */
    struct chunk_keeper *keeper;
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

/* This process, as far as its making ran handlers; and, in a forked child, the session that it does
 * not have and whose that is. Written while there is one thread. */
static pid_t process;
static const struct rbwp_session *left_session;
static pid_t left_process;

/* ---- start ------------------------------------------------------------------------- */

static bool end_session(struct rbwp_session *session, enum rbwp_extend_moment moment,
                        struct rbwp_session_summary *summary_out);

/* Made by _Fork, vfork or clone, which run no handlers: what is here is a copy of the parent's, in
 * whatever state, or even the parent's own. Nothing is touched. */
static bool is_strange_child(void)
{
    return getpid() != process;
}

static enum rbwp_status refuse_strange_child(struct rbwp_error *error)
{
    return failure(error, RBWP_E_STATE, 0,
                   "process %ld was made by _Fork, vfork or clone, without the handlers that fork "
                   "runs: it cannot have a profiling session",
                   (long)getpid());
}

static void stop_at_exit(void)
{
    if (is_strange_child())
        return;
    pthread_mutex_lock(&lock);
    while (ending) { /* another thread stops it: its file shall be whole */
        TEST_POINT("exit: another thread stops the session");
        pthread_cond_wait(&has_ended, &lock);
    }
    struct rbwp_session *session = running;
    ending = session != NULL;
    pthread_mutex_unlock(&lock);
    if (session)
        (void)end_session(session, RBWP_EXTEND_EXITING, NULL);
}

/* The parent's session is not the child's: its file, threads and chunks are left alone. */
static void forget_in_child(void)
{
    if (running) {
        close(running->output.fd);
        left_session = running;
        left_process = process;
    }
    process = getpid();
    running = NULL; /* its memory is given up: other threads' state in it is unknown */
    ending = false;
    clock_set_line(NULL);
    recording_now = NULL;
    live_after_fork();
    __atomic_store_n(&rbwp_level_, 0, __ATOMIC_RELAXED);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&has_ended, NULL);
}

ON_LOAD static void prepare_for_forks(void)
{
    process = getpid();
    pthread_atfork(NULL, NULL, forget_in_child);
}

static void prepare_for_exit(void)
{
    atexit(stop_at_exit);
}

static enum rbwp_status find_node(struct rbwp_session *session, struct rbwp_error *error)
{
    const struct session_settings *settings = &session->settings;
    bool is_own;
    node_from_launcher(&session->node, &session->nodes);
    if (settings->has_node)
        session->node = settings->node;
    if (settings->nodes)
        session->nodes = settings->nodes;
    enum rbwp_status status =
        node_file_name(settings->logfile, session->node, session->summary.path,
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

/* The live file goes when the profile has its tables; else it stays for rbwp repair. */
static void free_session(struct rbwp_session *session)
{
    chunk_keeper_stop(session->keeper);
    chunk_pool_free(session->recording.pool);
    if (session->has_live)
        live_close(!session->unfinished);
    rbwp_writer_free(session->writer);
    if (session->output.fd >= 0)
        (void)output_close(&session->output);
    pthread_mutex_destroy(&session->timeline.lock);
    free(session);
}

/*
 * A child that daemon(3) has left may be here before its parent is gone, whose file it is to take
 * over. A parent that does not end keeps it.
 */
static bool comes_free(const char *path, unsigned waited_ms)
{
    static const struct timespec pause = {0, 1000000};
    if (waited_ms == PARENT_ENDS_MS || !left_session ||
        strcmp(left_session->summary.path, path) != 0 || kill(left_process, 0) != 0)
        return false;
    TEST_POINT("start: the parent has the file");
    nanosleep(&pause, NULL);
    return true;
}

/* FILE and FILE.live. Without a live file the session goes on: only a crash would tell. */
static enum rbwp_status open_files(struct rbwp_session *session, struct rbwp_error *error)
{
    const struct claim_wish wish = {session->summary.path, session->settings.live,
                                    session->settings.follow};
    struct claim claim;
    enum rbwp_status status = claim_files(&wish, &claim, error);
    for (unsigned ms = 0; status == RBWP_E_BUSY && comes_free(wish.file, ms); ms++)
        status = claim_files(&wish, &claim, error);
    if (status != RBWP_OK)
        return status;
    output_open(&session->output, claim.file_fd);
    session->output.sync_interval_ns = session->settings.sync_ns;
    session->has_live = claim.live_fd >= 0 && live_open(claim.live_fd, claim.live_path);
    return RBWP_OK;
}

/* What tells this process from others, for the case that it does not get to write it itself. */
static void log_process(void)
{
    char host[256] = "";
    struct process_facts known;
    struct __attribute__((packed)) {
        uint8_t boot_id[16];
        int64_t start_ns;
    } entry;
    process_look(&known);
    memcpy(entry.boot_id, known.info.boot_id, sizeof entry.boot_id);
    entry.start_ns = known.info.start_ns;
    live_log(LIVE_PROCESS, &entry, sizeof entry, known.info.title, known.info.title_bytes);
    if (gethostname(host, sizeof host - 1) == 0)
        live_log(LIVE_HOST, NULL, 0, host, strlen(host));
}

static void begin_live(const struct rbwp_session *session)
{
    const struct timeline *line = &session->timeline.line;
    const struct live_facts facts = {
        .zero_time_ns = session->start_ns,
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
    log_process();
    live_log(LIVE_SAMPLE, &line->sample[0], sizeof line->sample[0], NULL, 0);
    live_commit(RBWP_FILE_HEADER_BYTES, 0);
}

/* Opens the file and makes all parts but the level. */
static enum rbwp_status assemble(struct rbwp_session *session, struct rbwp_error *error)
{
    const struct session_settings *settings = &session->settings;
    enum rbwp_status status = open_files(session, error);
    if (status != RBWP_OK)
        return status;
    timeline_start(&session->timeline.line);
    session->start_ns = session->timeline.line.sample[0].time_ns;
    struct rbwp_sink sink = output_sink(&session->output);
    status = rbwp_writer_new(&sink, session->node, session->start_ns, settings->level == 2,
                             &session->writer);
    if (status != RBWP_OK)
        return failure(error, status, errno, "cannot write to the profile \"%s\"",
                       session->summary.path);
    session->recording.at_cap = settings->at_cap;
    session->recording.strict = settings->strict;
    session->recording.pool = chunk_pool_new(settings->cap_bytes);
    if (session->recording.pool && session->has_live)
        begin_live(session);
    if (session->recording.pool)
        session->keeper = chunk_keeper_start(session->recording.pool);
    status = session->recording.pool
                 ? drain_start(settings, session->recording.pool, &session->timeline,
                               session->writer, &session->recording.drain)
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
    tables_begin_session();
    thread_registry_lock();
    thread_registry_begin_session();
    recording_now = &session->recording;
    atomic_store(&stray_calls.count, 0);
    __atomic_store_n(&rbwp_level_, session->settings.level, __ATOMIC_SEQ_CST);
    thread_registry_unlock();
}

static enum rbwp_status start_session(const struct rbwp_session_config *config,
                                      struct rbwp_session **session_out, struct rbwp_error *error)
{
    static pthread_once_t exit_handler = PTHREAD_ONCE_INIT;
    struct session_settings settings;
    enum rbwp_status status = session_config_read(config, &settings, error);
    if (status != RBWP_OK || settings.level == 0)
        return status;
    if (is_strange_child())
        return refuse_strange_child(error);
    clock_prepare();
    pthread_once(&exit_handler, prepare_for_exit);
    struct rbwp_session *session = calloc(1, sizeof *session);
    if (!session)
        return failure(error, RBWP_E_MEMORY, 0, "no memory for a profiling session");
    session->settings = settings;
    session->output.fd = -1;
    pthread_mutex_init(&session->timeline.lock, NULL);

    pthread_mutex_lock(&lock);
    if (running || ending) {
        status = failure(error, RBWP_E_BUSY, 0, "a profiling session is already running");
    } else {
        running = session; /* a child forked meanwhile closes its files */
        if ((status = find_node(session, error)) == RBWP_OK &&
            (status = assemble(session, error)) == RBWP_OK)
            begin_recording(session);
        else
            running = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (status != RBWP_OK) {
        free_session(session);
        return status;
    }
    *session_out = session;
    return RBWP_OK;
}

enum rbwp_status rbwp_session_start(const struct rbwp_session_config *config,
                                    struct rbwp_session **session_out, struct rbwp_error *error)
{
    *session_out = NULL;
    int host_cancel = cancel_hold();
    enum rbwp_status status = start_session(config, session_out, error);
    cancel_release(host_cancel);
    return status;
}

/* ---- stop ----------------------------------------------------------------------------- */

static void note_trouble(struct rbwp_session *session, enum rbwp_status status, int os_errno,
                         const char *what)
{
    if (status != RBWP_OK && session->summary.error.status == RBWP_OK)
        failure(&session->summary.error, status, os_errno, "%s \"%s\"", what,
                session->summary.path);
}

static enum rbwp_status write_facts(struct rbwp_session *session, const struct session_facts *facts)
{
    return rbwp_writer_finish(session->writer, facts->names.work_items,
                              facts->names.work_item_count, facts->names.sub_items,
                              facts->names.sub_item_count,
                              session->settings.strict ? NULL : &facts->trailer);
}

/* Tables, trailer and patched header. */
static void finish_file(struct rbwp_session *session, const struct drain_totals *totals)
{
    const struct facts_source source = {
        .settings = &session->settings,
        .line = &session->timeline.line,
        .pool = session->recording.pool,
        .totals = totals,
        .start_ns = session->start_ns,
        .stop_ns = session->stop_ns,
        .nodes = session->nodes,
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
    session->unfinished = status != RBWP_OK;
    note_trouble(session, status, errno, "cannot finish the profile");
    errno = 0;
    status = output_close(&session->output);
    note_trouble(session, status, errno, "cannot close the profile");
    note_trouble(session, session->output.was_removed ? RBWP_E_IO : RBWP_OK, 0,
                 "all is lost: somebody removed the profile");
    note_trouble(session, session->output.was_cut ? RBWP_E_IO : RBWP_OK, 0,
                 "records are lost: somebody cut the profile");
    session_facts_free(facts);
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

/* Ends recording. False if a thread does not leave its call: the session goes on. */
static bool end_recording(struct rbwp_session *session, struct rbwp_error *error)
{
    thread_registry_lock();
    const struct thread *stuck = recording_end();
    if (stuck)
        failure(error, RBWP_E_BUSY, 0,
                "the session goes on: thread \"%s\" does not leave a recording call (did a signal "
                "handler leave it by longjmp?) in \"%s\"",
                stuck->name, session->summary.path);
    else
        recording_now = NULL;
    thread_registry_unlock();
    return !stuck;
}

/* Of a session that has been taken to "ending". False if it cannot be ended, and goes on. */
static bool end_session(struct rbwp_session *session, enum rbwp_extend_moment moment,
                        struct rbwp_session_summary *summary_out)
{
    int64_t begin_ns = clock_now_ns(0);
    extend_tell(moment);
    if (!end_recording(session, summary_out ? &summary_out->error : NULL)) {
        extend_tell(RBWP_EXTEND_GOES_ON);
        ended();
        return false;
    }
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
    tables_end_session();
    clock_set_line(NULL);
    forget_session();

    summarise(session, &totals);
    session->summary.stop_ns = (uint64_t)(clock_now_ns(0) - begin_ns);
    if (summary_out)
        *summary_out = session->summary;
    free_session(session);
    TEST_POINT("stop: session freed, not yet told");
    ended();
    return true;
}

static void refuse_stop(const struct rbwp_session *session, struct rbwp_session_summary *summary)
{
    if (session == left_session) {
        memcpy(summary->path, session->summary.path, sizeof summary->path);
        (void)failure(&summary->error, RBWP_E_STATE, 0,
                      "the session belongs to process %ld, which forked this one: a child starts "
                      "its own, after fork or daemon(3)",
                      (long)left_process);
    } else {
        (void)failure(&summary->error, RBWP_E_STATE, 0,
                      "the session has been stopped already, or another thread is stopping it");
    }
}

enum rbwp_status rbwp_session_stop_sized(struct rbwp_session *session,
                                         struct rbwp_session_summary *summary_out,
                                         size_t summary_bytes)
{
    struct rbwp_session_summary summary = {0};
    int host_cancel = cancel_hold();
    if (session && is_strange_child())
        (void)refuse_strange_child(&summary.error);
    else if (begin_to_end(session))
        (void)end_session(session, RBWP_EXTEND_STOPPING, &summary);
    else if (session)
        refuse_stop(session, &summary);
    cancel_release(host_cancel);
    if (summary_out)
        sized_give(summary_out, summary_bytes, &summary, sizeof summary);
    return summary.error.status;
}
