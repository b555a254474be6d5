/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which session runs, and in what order it begins and ends.
 *
 * Start: its parts (session_parts.h), then the level is raised. Stop: the level
 * is cleared and all threads hand over (recording_end), the drain writes what
 * is left, then tables and trailer, then everything is freed. A thread may be
 * in the middle of a recording call at any point of this; recording_end is
 * where it is waited for.
 *
 * A process that exits with a session running gets it stopped by an atexit
 * handler; a forked child has no session and may start its own, or gets one (fork_child.c).
 *
 * What of a stop may wait for a disk is done by a thread of its own. Where the disk stands still
 * the stop gives up, and that thread goes on when the disk does.
 */
#include "rbwp_session.h"

#include "output_lock.h"
#include "control_rows.h"
#include "dump.h"
#include "extend.h"
#include "failure.h"
#include "live.h"
#include "names.h"
#include "in_process.h"
#include "helper_thread.h"
#include "recording.h"
#include "ring.h"
#include "rotate.h"
#include "running.h"
#include "session_config.h"
#include "session_parts.h"
#include "tables.h"
#include "test_point.h"
#include "thread_registry.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long a child waits for the end of its parent, if that holds the file. */
#ifndef PARENT_ENDS_MS
#define PARENT_ENDS_MS 1000u
#endif

/* Guards which session runs and whether it is being stopped. The registry's lock is taken inside
 * it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rbwp_session *running;
static bool ending;
/* Held while the program starts a session, or ends who listens for others: which of both came first
 * is clear then. The lock above is taken inside it; the control thread never takes it. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static bool left_behind;         /* `ending`, and whoever stopped it has gone on */
static pthread_cond_t has_ended; /* by CLOCK_MONOTONIC */
static int64_t ending_stall_ns;
/* Held while a dump is written, which a stop waits for. The lock above is taken inside it. */
static pthread_mutex_t dumping = PTHREAD_MUTEX_INITIALIZER;

/* What the program's session came to which somebody else has stopped (running.h): its address,
 * which is all that the program has of it. */
static const struct rbwp_session *stopped_by_others;
static struct rbwp_session_summary stopped_summary;
static bool started_by_others; /* the one that runs */

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

static void make_conditions(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&has_ended, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Waits until the flag, which has_ended gets, is as wanted. False: a disk stands still.
 * Locked. */
static bool session_wait_until(const bool *flag, bool wanted, int64_t stall_ns)
{
    struct disk_watch watch = {0};
    while (*flag != wanted) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += DISK_LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&has_ended, &lock, &until) == ETIMEDOUT &&
            disk_stands_still(&watch, stall_ns))
            return *flag == wanted;
    }
    return true;
}

/* Whoever ends the session that runs, it has ended when this returns. False: its disk stands still.
 */
static bool end_what_runs(enum rbwp_extend_moment moment)
{
    pthread_mutex_lock(&lock);
    if (ending) /* another thread stops it: its file shall be whole */
        TEST_POINT("exit: another thread stops the session");
    const bool stands_still = !session_wait_until(&ending, false, ending_stall_ns);
    struct rbwp_session *session = stands_still ? NULL : running;
    ending = stands_still || session;
    pthread_mutex_unlock(&lock);
    if (session)
        (void)end_session(session, moment, NULL);
    return !stands_still && !__atomic_load_n(&left_behind, __ATOMIC_RELAXED);
}

static void stop_at_exit(void)
{
    if (is_strange_child() || !end_what_runs(RBWP_EXTEND_EXITING))
        return; /* a thread that waits for a disk may hold up others of ours */
    session_control->end();
    (void)end_what_runs(RBWP_EXTEND_EXITING); /* one that others started meanwhile */
}

/* The parent's session is not the child's: its file, threads and chunks are left alone. */
static void session_forget_in_child(void)
{
    const bool recorded = running != NULL;
    if (recorded) {
        held_close(&running->output.file);
        held_close(&running->folder.held);
        left_session = running;
        left_process = process;
    }
    if (session_control)
        session_control->after_fork();
    stopped_by_others = NULL;
    process = getpid();
    running = NULL; /* its memory is given up: other threads' state in it is unknown */
    ending = false;
    __atomic_store_n(&left_behind, false, __ATOMIC_RELAXED);
    disk_after_fork();
    clock_set_line(NULL);
    __atomic_store_n(&recording_now, (struct recording *)NULL, __ATOMIC_RELAXED);
    live_after_fork();
    rules_after_fork();
    rotate_after_fork();
    __atomic_store_n(&rbwp_level_, fork_child_forked(recorded), __ATOMIC_RELAXED);
    pthread_mutex_init(&lock, NULL);
    pthread_mutex_init(&starting, NULL);
    pthread_mutex_init(&dumping, NULL);
    make_conditions();
}

ON_LOAD(5) static void session_prepare_for_forks(void)
{
    stay_loaded();
    process = getpid();
    make_conditions();
    pthread_atfork(NULL, NULL, session_forget_in_child);
}

static void prepare_for_exit(void)
{
    atexit(stop_at_exit);
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

static enum rbwp_status open_files(struct rbwp_session *session, struct rbwp_error *error)
{
    enum rbwp_status status = session_open_files(session, error);
    for (unsigned ms = 0; status == RBWP_E_BUSY && comes_free(session->summary.path, ms); ms++)
        status = session_open_files(session, error);
    return status;
}

static void begin_recording(struct rbwp_session *session)
{
    clock_set_line(&session->timeline.line);
    session_control->session_began();
    names_begin_session();
    tables_begin_session();
    job_begin_session(&session->job, session->settings.strict);
    thread_registry_lock();
    thread_registry_begin_session();
    __atomic_store_n(&recording_now, &session->recording, __ATOMIC_RELEASE);
    atomic_store(&stray_calls.count, 0);
    __atomic_store_n(&rbwp_level_, session->settings.level, __ATOMIC_SEQ_CST);
    thread_registry_unlock();
}

/* What the user should know of a session that has begun; an empty text: nothing. */
static void session_note_trouble(const struct rbwp_session *session, struct rbwp_error *error)
{
    (void)failure(error, RBWP_OK, 0, "%s", "");
    if (session->leftovers_removed)
        (void)failure(error, RBWP_OK, 0,
                      "removed %u leftovers of earlier runs, the oldest: more than %u, or more "
                      "than the disk has free: \"%s.*-PID\"",
                      session->leftovers_removed, LEFTOVERS_MAX, session->summary.path);
    if (session->live_errno)
        (void)failure(error, RBWP_OK, session->live_errno, LIVE_MISSING_TEXT,
                      session->summary.path);
}

static enum rbwp_status start_session(const struct rbwp_session_config *config, bool by_others,
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
    struct rbwp_session *session = session_new(&settings);
    if (!session)
        return failure(error, RBWP_E_MEMORY, 0, "no memory for a profiling session");

    pthread_mutex_lock(&lock);
    if (running || ending) {
        status = failure(error, RBWP_E_BUSY, 0,
                         left_behind ? "the file of the session before is not written yet: its "
                                       "disk stands still"
                                     : "a profiling session is already running");
    } else {
        running = session; /* a child forked meanwhile closes its files */
        started_by_others = by_others;
        if ((status = session_find_node(session, error)) == RBWP_OK &&
            (status = open_files(session, error)) == RBWP_OK &&
            (status = session_assemble(session, error)) == RBWP_OK)
            begin_recording(session);
        else
            running = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (status != RBWP_OK) {
        session_free(session);
        return status;
    }
    rotate_begin_session(&settings, dump_now);
    rules_begin_session(&settings, dump_now);
    control_note_limits();
    *session_out = session;
    session_note_trouble(session, error);
    return RBWP_OK;
}

/* Nobody listens any more while a session of the program's is not there, and what others have
 * started ends with that; after a start that failed it goes on. */
static void end_control(bool after_start)
{
    pthread_mutex_lock(&lock);
    bool goes_on = running && (after_start || !started_by_others);
    pthread_mutex_unlock(&lock);
    if (!goes_on && session_control->session_ended())
        (void)end_what_runs(RBWP_EXTEND_STOPPING);
}

static bool is_any_running(void)
{
    pthread_mutex_lock(&lock);
    bool any = running || ending;
    pthread_mutex_unlock(&lock);
    return any;
}

/* Locked against another start. What the session in progress has is left alone. */
static enum rbwp_status session_start(const struct rbwp_session_config *config,
                                      struct rbwp_session **session_out, struct rbwp_error *error)
{
    fork_child_forget();
    if (is_any_running())
        return start_session(config, false, session_out, error);
    fork_child_note(config);
    enum rbwp_status status = session_control->begin(config, error);
    if (status == RBWP_OK && (status = start_session(config, false, session_out, error)) != RBWP_OK)
        end_control(true);
    return status;
}

enum rbwp_status running_start_program(const struct rbwp_session_config *config,
                                       struct rbwp_session **session_out, struct rbwp_error *error)
{
    *session_out = NULL;
    if (is_strange_child())
        return start_session(config, false, session_out, error);
    int host_cancel = cancel_hold();
    pthread_mutex_lock(&starting);
    enum rbwp_status status = session_start(config, session_out, error);
    pthread_mutex_unlock(&starting);
    cancel_release(host_cancel);
    return status;
}

/* ---- stop ----------------------------------------------------------------------------- */

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

static void ended(void)
{
    pthread_mutex_lock(&lock);
    ending = false;
    __atomic_store_n(&left_behind, false, __ATOMIC_RELAXED);
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
                "handler leave it by longjmp, or does the disk stand still?) in \"%s\"",
                stuck->name, session->summary.path);
    else
        __atomic_store_n(&recording_now, (struct recording *)NULL, __ATOMIC_RELAXED);
    thread_registry_unlock();
    return !stuck;
}

/* What of an end may wait for a disk. */
struct finish {
    struct rbwp_session *session; /* NULL once it is about to be freed */
    int64_t begin_ns;
    bool is_over;        /* this, and what follows, guarded by `lock` */
    bool is_left_behind; /* nobody waits for it: it is the thread's to free */
    struct rbwp_session_summary summary;
};

static void finish_session(struct finish *finish)
{
    struct rbwp_session *session = finish->session;
    struct drain_totals totals;
    char unknown_rule[RULES_UNKNOWN_BYTES];
    TEST_POINT("stop: nothing is recorded any more");
    rules_end_session(unknown_rule);
    drain_finish(session->recording.drain, &totals);
    rotate_end_session();
    pthread_mutex_lock(&dumping); /* one that is under way; no other will begin */
    pthread_mutex_unlock(&dumping);
    timeline_sample(&session->timeline.line); /* the line now spans the session */
    session->summary.error = totals.error;
    session_finish_file(session, &totals);
    if (!session->summary.error.text[0])
        memcpy(session->summary.error.text, unknown_rule, sizeof unknown_rule);
    thread_registry_lock();
    thread_registry_end_session();
    thread_registry_unlock();
    names_end_session();
    tables_end_session();
    job_end_session();
    clock_set_line(NULL);

    session_summarise(session, &totals);
    session->summary.stop_ns = (uint64_t)(clock_now_ns(0) - finish->begin_ns);
    /* A fork from here on finds no session to forget; a start has to wait for the live file's end.
     */
    pthread_mutex_lock(&lock);
    finish->summary = session->summary;
    running = finish->session = NULL;
    pthread_mutex_unlock(&lock);
    session_free(session);
    TEST_POINT("stop: session freed, not yet told");
}

static void *finish_thread(void *argument)
{
    struct finish *finish = argument;
    finish_session(finish);
    pthread_mutex_lock(&lock);
    const bool is_left_behind = finish->is_left_behind;
    finish->is_over = true;
    pthread_cond_broadcast(&has_ended);
    pthread_mutex_unlock(&lock);
    if (is_left_behind) {
        free(finish);
        ended();
    }
    return NULL;
}

/* Of a file that is not whole, since its disk stands still. Locked. */
static void tell_unwritten(struct finish *finish)
{
    const struct rbwp_session *session = finish->session;
    struct rbwp_error *error = &finish->summary.error;
    char records[64] = "records";
    if (!session) { /* FILE is whole: FILE.live goes when the disk goes on */
        (void)failure(error, RBWP_E_IO, 0, "the disk stands still: \"%s\"", finish->summary.path);
        return;
    }
    const uint64_t unwritten =
        session->ring ? UINT64_MAX : drain_unwritten(session->recording.drain);
    if (unwritten != UINT64_MAX)
        snprintf(records, sizeof records, "up to %llu records", (unsigned long long)unwritten);
    (void)failure(error, RBWP_E_IO, 0,
                  "the disk stands still: %s and all names are not on it, and are written when it "
                  "goes on, or %s if the process ends first: \"%s\"",
                  records,
                  session->has_live && session->settings.live ? "found by rbwp repair" : "lost",
                  finish->summary.path);
}

/* The thread is waited for as long as something moves. False: it is left behind, and finish its
 * own. */
static bool await_finish(struct finish *finish, pthread_t thread, int64_t stall_ns,
                         struct rbwp_session_summary *summary_out)
{
    pthread_mutex_lock(&lock);
    ending_stall_ns = stall_ns;
    const bool is_over = session_wait_until(&finish->is_over, true, stall_ns);
    if (!is_over) {
        tell_unwritten(finish);
        finish->is_left_behind = true;
        __atomic_store_n(&left_behind, true, __ATOMIC_RELAXED);
    }
    if (summary_out)
        *summary_out = finish->summary;
    pthread_mutex_unlock(&lock);
    if (is_over)
        pthread_join(thread, NULL);
    else
        pthread_detach(thread);
    return is_over;
}

static void finish_or_leave(struct rbwp_session *session, int64_t begin_ns,
                            struct rbwp_session_summary *summary_out)
{
    struct finish own, *finish = malloc(sizeof *finish);
    const int64_t stall_ns = session->settings.stall_ns;
    pthread_t thread;
    if (!finish || helper_threads_are_held()) { /* the program's only thread waits for its disk */
        free(finish);
        finish = &own;
    }
    *finish = (struct finish){.session = session, .begin_ns = begin_ns};
    memcpy(finish->summary.path, session->summary.path, sizeof finish->summary.path);
    if (finish != &own && helper_thread_start(&thread, "rbwp-end", finish_thread, finish) == 0) {
        if (!await_finish(finish, thread, stall_ns, summary_out))
            return;
    } else {
        finish_session(finish);
        if (summary_out)
            *summary_out = finish->summary;
    }
    if (finish != &own)
        free(finish);
    ended();
}

/* Of a session that has been taken to "ending". False if it cannot be ended, and goes on. */
static bool end_session(struct rbwp_session *session, enum rbwp_extend_moment moment,
                        struct rbwp_session_summary *summary_out)
{
    const int64_t begin_ns = clock_now_ns(0);
    extend_tell(moment);
    control_note_left_out();
    if (!end_recording(session, summary_out ? &summary_out->error : NULL)) {
        extend_tell(RBWP_EXTEND_GOES_ON);
        ended();
        return false;
    }
    const int64_t offset_ns = session->timeline.line.offset_ns;
    __atomic_store_n(&session->ended_ns, clock_now_ns(offset_ns), __ATOMIC_RELEASE);
    session->stop_ns = clock_now_ns(offset_ns);
    extend_tell(RBWP_EXTEND_STOPPED);
    finish_or_leave(session, begin_ns, summary_out);
    return true;
}

/* ---- by others (running.h) ------------------------------------------------------------ */

bool running_look(struct running *running_out)
{
    pthread_mutex_lock(&lock);
    const struct rbwp_session *session = ending ? NULL : running;
    if (session) {
        *running_out = (struct running){.level = __atomic_load_n(&rbwp_level_, __ATOMIC_RELAXED),
                                        .for_ns = clock_now_ns(session->timeline.line.offset_ns) -
                                                  session->start_ns,
                                        .live_errno = session->live_errno};
        if (session->cut_fails) {
            memcpy(running_out->trouble, session->cut_error.text, sizeof running_out->trouble);
            running_out->dropped = ring_dropping(session->ring);
        }
        folder_path_now(&running->folder, session->summary.path, running_out->path,
                        sizeof running_out->path);
        thread_registry_lock();
        for (const struct thread *thread = thread_registry_first(); thread; thread = thread->next)
            running_out->threads++;
        thread_registry_unlock();
    }
    pthread_mutex_unlock(&lock);
    return session != NULL;
}

/* Locked. */
static enum rbwp_status set_level(struct rbwp_session *session, int level, struct rbwp_error *error)
{
    thread_registry_lock();
    const struct thread *stuck = recording_set_level(level);
    if (stuck)
        failure(error, RBWP_E_BUSY, 0, "thread \"%s\" does not leave a recording call",
                stuck->name);
    thread_registry_unlock();
    if (stuck)
        return RBWP_E_BUSY;
    if (level > session->settings.level) {
        session->settings.level = level;
        session->was_raised = true;
    }
    return RBWP_OK;
}

enum rbwp_status running_set_level(int level, struct rbwp_error *error)
{
    pthread_mutex_lock(&lock);
    enum rbwp_status status =
        !running ? failure(error, RBWP_E_STATE, 0, "nothing is being recorded")
        : ending ? failure(error, RBWP_E_BUSY, 0, "the session is being stopped")
                 : set_level(running, level, error);
    pthread_mutex_unlock(&lock);
    return status;
}

enum rbwp_status running_start(const struct rbwp_session_config *config, struct rbwp_error *error)
{
    struct rbwp_session *session;
    return start_session(config, true, &session, error);
}

enum rbwp_status running_stop(struct rbwp_session_summary *summary_out)
{
    *summary_out = (struct rbwp_session_summary){0};
    pthread_mutex_lock(&lock);
    struct rbwp_session *session = ending ? NULL : running;
    bool is_the_programs = session && !started_by_others;
    ending = ending || session;
    pthread_mutex_unlock(&lock);
    if (!session)
        return failure(&summary_out->error, RBWP_E_STATE, 0, "nothing is being recorded");
    const struct rbwp_session *address = session;
    if (end_session(session, RBWP_EXTEND_STOPPING, summary_out) && is_the_programs) {
        pthread_mutex_lock(&lock);
        stopped_by_others = address;
        stopped_summary = *summary_out;
        pthread_mutex_unlock(&lock);
    }
    return summary_out->error.status;
}

/* The session that the program means, which has but the address of its own; NULL, and the summary
 * of that one, if it has been stopped by others and there is no other. */
static struct rbwp_session *session_meant(struct rbwp_session *session,
                                          struct rbwp_session_summary *summary)
{
    pthread_mutex_lock(&lock);
    bool others_did = session && session == stopped_by_others;
    if (others_did && !running)
        *summary = stopped_summary;
    if (others_did)
        session = running;
    stopped_by_others = others_did ? NULL : stopped_by_others;
    pthread_mutex_unlock(&lock);
    return session;
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

/* The program's call: with its session, which others may have stopped (NULL), goes who listens for
 * others, unless that is to stay. */
static void stop_session(struct rbwp_session *session, struct rbwp_session_summary *summary)
{
    if (session && (!end_session(session, RBWP_EXTEND_STOPPING, summary) ||
                    __atomic_load_n(&left_behind, __ATOMIC_RELAXED)))
        return;
    pthread_mutex_lock(&starting);
    end_control(false);
    pthread_mutex_unlock(&starting);
}

enum rbwp_status rbwp_session_stop_sized(struct rbwp_session *session,
                                         struct rbwp_session_summary *summary_out,
                                         size_t summary_bytes)
{
    struct rbwp_session_summary summary = {0};
    const bool is_given = session != NULL;
    int host_cancel = cancel_hold();
    if (session && is_strange_child())
        (void)refuse_strange_child(&summary.error);
    else if (is_given &&
             ((session = session_meant(session, &summary)) == NULL || begin_to_end(session)))
        stop_session(session, &summary);
    else if (is_given)
        refuse_stop(session, &summary);
    cancel_release(host_cancel);
    if (summary_out)
        sized_give(summary_out, summary_bytes, &summary, sizeof summary);
    return summary.error.status;
}

/* ---- dump ---------------------------------------------------------------------------------- */

/* What runs, if that is asked for by NULL or is the one that is asked for. */
static struct rbwp_session *session_to_dump(struct rbwp_session *wanted, bool while_it_ends)
{
    pthread_mutex_lock(&lock);
    struct rbwp_session *found =
        (ending && !while_it_ends) || (wanted && wanted != running) ? NULL : running;
    pthread_mutex_unlock(&lock);
    return found;
}

static void note_cut(struct rbwp_session *session, enum rbwp_status status,
                     const struct rbwp_error *error)
{
    pthread_mutex_lock(&lock);
    session->cut_fails = status != RBWP_OK;
    if (session->cut_fails)
        session->cut_error = *error;
    pthread_mutex_unlock(&lock);
}

static enum rbwp_status dump(struct rbwp_session *wanted, const struct dump_wish *wish,
                             char *path_out, struct rbwp_error *error)
{
    struct rbwp_error reason;
    int host_cancel = cancel_hold();
    enum rbwp_status status;
    error = error ? error : &reason;
    if (is_strange_child()) {
        status = refuse_strange_child(error);
    } else {
        pthread_mutex_lock(&dumping);
        disk_call_begin();
        struct rbwp_session *session = session_to_dump(wanted, wish->while_it_ends);
        status = session ? dump_session(session, wish, path_out, error)
                         : failure(error, RBWP_E_STATE, 0, "no profiling session is in progress");
        if (session && wish->cut)
            note_cut(session, status, error);
        disk_call_end();
        pthread_mutex_unlock(&dumping);
    }
    cancel_release(host_cancel);
    return status;
}

enum rbwp_status dump_now(const struct dump_wish *wish, char *path_out, struct rbwp_error *error)
{
    return dump(NULL, wish, path_out, error);
}

enum rbwp_status rbwp_session_dump(struct rbwp_session *session, const char *path, uint64_t last_ns,
                                   struct rbwp_error *error)
{
    char written[DUMP_PATH_BYTES_MAX];
    const struct dump_wish wish = {.path = path, .last_ns = last_ns, .why = RBWP_KEPT_CALL};
    if (!session)
        return failure(error, RBWP_E_STATE, 0, "no profiling session is in progress");
    return dump(session, &wish, written, error);
}
