/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_session.h"

#include "held.h"
#include "inject_log.h"
#include "helper_thread.h"
#include "rbwp_session.h"
#include "record_extend.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_MB = 64, SOURCES_MAX = 4, DESCRIPTORS_FROM = 700, LOCK_S = 5 };

_Atomic int inject_state;

static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static const struct inject_source *sources[SOURCES_MAX];
static int source_count;
static bool ended, session_opened, at_exit;
static struct rbwp_session *session, *parents; /* parents: of a forked child, left alone */
static _Atomic pid_t owner;                    /* the process that records, 0: none yet */
static _Atomic int64_t offset_ns;

/* The thread that waits for the window's times and signals: below. */
/* Reads what the environment says of the window. True: it is open from the beginning. */
static bool control_start(void);
/* The window has been opened: from now on for_ms count. */
static void control_opened(void);
/* Signals are the program's again. */
static void control_end(void);
/* In a forked child: there is no such thread. */
static void control_forget(void);

/* ---- the environment ------------------------------------------------------------------------ */

static struct {
    const char *file, *range;
    unsigned wanted;
} session_wish; /* by the environment, which the program may change */

static void read_environment(void)
{
    const char *what = secure_getenv("RBWP_INJECT_WHAT");
    session_wish.file = secure_getenv("RBWP_INJECT_FILE");
    session_wish.range = secure_getenv("RBWP_INJECT_RANGE");
    session_wish.file = session_wish.file && *session_wish.file ? strdup(session_wish.file) : NULL;
    session_wish.range =
        session_wish.range && *session_wish.range ? strdup(session_wish.range) : NULL;
    if (!session_wish.file)
        return;
    if (!what || !*what)
        what = "gpu,ranges";
    session_wish.wanted =
        (strstr(what, "gpu") ? INJECT_GPU : 0) | (strstr(what, "ranges") ? INJECT_RANGES : 0);
}

static void know_environment(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
}

unsigned inject_wanted(void)
{
    know_environment();
    return session_wish.wanted;
}

const char *inject_window_range(void)
{
    know_environment();
    return session_wish.range;
}

static uint64_t buffer_bytes(void)
{
    const char *text = secure_getenv("RBWP_INJECT_BUFSIZE");
    unsigned long mb = text ? strtoul(text, NULL, 10) : 0;
    return (uint64_t)(mb > 0 && mb <= 1u << 20 ? mb : BUFFER_MB) << 20;
}

/* The file of one that is not the first: the number stands before the extension. */
static void own_name(const char *file, char path[PATH_MAX])
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    if (!dot || dot <= (slash ? slash + 1 : file))
        dot = file + strlen(file);
    snprintf(path, PATH_MAX, "%.*s.%ld%s", (int)(dot - file), file, (long)getpid(), dot);
}

/* Whoever makes the file has it. */
static void choose_file(const char *file, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s", file);
    if (strchr(file, '%'))
        return;
    int fd = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (fd >= 0)
        close(fd);
    else if (errno == EEXIST)
        own_name(file, path);
}

/* ---- session -------------------------------------------------------------------------------- */

/* Both clocks are read one after the other; the closest pair counts. */
static int64_t measure_offset(void)
{
    int64_t best_ns = INT64_MAX, offset = 0;
    for (int i = 0; i < 16; i++) {
        const int64_t before_ns = (int64_t)inject_now_ns(), line_ns = rbwp_now_ns();
        const int64_t after_ns = (int64_t)inject_now_ns();
        if (after_ns - before_ns >= best_ns)
            continue;
        best_ns = after_ns - before_ns;
        offset = line_ns - before_ns - best_ns / 2;
    }
    return offset;
}

int64_t inject_line_offset_ns(void)
{
    return atomic_load_explicit(&offset_ns, memory_order_relaxed);
}

bool inject_session_end_before(void)
{
    return atexit(inject_session_end) == 0 && at_quick_exit(inject_session_end) == 0;
}

/* Another part of this library may have begun one already. Locked. */
static bool begin_session(void)
{
    char path[PATH_MAX];
    struct rbwp_error error;
    if (!rbwp_is_on_(1)) {
        choose_file(session_wish.file, path);
        const struct rbwp_session_config config = {.size = sizeof config,
                                                   .level = 1,
                                                   .logfile = path,
                                                   .cap_bytes = buffer_bytes(),
                                                   .at_cap = RBWP_AT_CAP_DROP};
        rbwp_extend_keep_descriptors_above(DESCRIPTORS_FROM);
        if (rbwp_session_start(&config, &session, &error) != RBWP_OK)
            return inject_log_once("nothing is recorded: %s", error.text);
        if (error.text[0])
            inject_log_once("%s", error.text);
    }
    if (!at_exit) /* behind the recorder's own, so that it comes before that */
        at_exit = inject_session_end_before();
    atomic_store(&offset_ns, measure_offset());
    return true;
}

bool inject_session_start(void)
{
    pthread_mutex_lock(&session_lock);
    if (atomic_load(&inject_state) == INJECT_OPEN) {
        bool good = begin_session();
        ended |= !good;
        atomic_store(&inject_state, good ? INJECT_RECORDING : INJECT_CLOSED);
    }
    bool recording = atomic_load(&inject_state) == INJECT_RECORDING;
    pthread_mutex_unlock(&session_lock);
    return recording;
}

uint64_t inject_thread(void)
{
    if (__builtin_expect(!rbwp_self_.thread, 0)) {
        char name[16] = "", shown[40];
        long number = syscall(SYS_gettid);
        pthread_getname_np(pthread_self(), name, sizeof name);
        if (number == getpid())
            snprintf(shown, sizeof shown, "%s", name);
        else
            snprintf(shown, sizeof shown, "%s %ld", name, number);
        (void)rbwp_thread_attach(shown);
    }
    return rbwp_extend_thread();
}

_Thread_local void *inject_own[INJECT_OWNS];
static pthread_key_t own_key;
static bool have_own_key;

static void own_free(void *owned)
{
    (void)owned;
    for (int i = 0; i < INJECT_OWNS; i++) {
        free(inject_own[i]);
        inject_own[i] = NULL;
    }
}

static void make_own_key(void)
{
    have_own_key = pthread_key_create(&own_key, own_free) == 0;
}

void *inject_own_make(enum inject_own which, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (inject_own[which])
        return inject_own[which];
    pthread_once(&once, make_own_key);
    if (have_own_key && pthread_setspecific(own_key, inject_own) == 0)
        inject_own[which] = calloc(1, bytes);
    return inject_own[which];
}

/* ---- the window ----------------------------------------------------------------------------- */

/* Both locked. */
static void open_window(void)
{
    if (ended || session_opened)
        return;
    session_opened = true;
    atomic_store(&inject_state, session || rbwp_is_on_(1) ? INJECT_RECORDING : INJECT_OPEN);
    if (atomic_load(&inject_state) == INJECT_RECORDING && !begin_session())
        atomic_store(&inject_state, INJECT_CLOSED);
    for (int i = 0; i < source_count; i++)
        sources[i]->open();
    control_opened();
}

static void close_window(void)
{
    if (!session_opened)
        return;
    session_opened = false;
    for (int i = 0; i < source_count; i++) {
        sources[i]->close();
        sources[i]->flush(false);
    }
    atomic_store(&inject_state, INJECT_CLOSED);
}

void inject_window(bool open)
{
    pthread_mutex_lock(&session_lock);
    if (open)
        open_window();
    else
        close_window();
    pthread_mutex_unlock(&session_lock);
}

static void flush_sources(void)
{
    pthread_mutex_lock(&session_lock);
    for (int i = 0; i < source_count && rbwp_is_on_(1) && !ended; i++)
        sources[i]->flush(false);
    pthread_mutex_unlock(&session_lock);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

/* Of the parent's nothing goes on; what happens here first begins anew. */
static void session_in_child(void)
{
    pthread_mutex_init(&session_lock, NULL);
    atomic_store(&inject_state, INJECT_CLOSED);
    atomic_store(&owner, 0);
    source_count = 0; /* a GPU that the parent used cannot be used here */
    parents = session;
    session = NULL;
    ended = session_opened = false;
    control_forget();
    inject_started_forget();
    inject_lost_forget();
}

static void add_source(const struct inject_source *source)
{
    for (int i = 0; i < source_count; i++)
        if (sources[i] == source)
            return;
    if (source_count == SOURCES_MAX)
        return;
    sources[source_count++] = source;
    if (session_opened)
        source->open();
}

void inject_session_begin(const struct inject_source *source)
{
    static bool forks;
    if (!source && atomic_load_explicit(&owner, memory_order_relaxed))
        return;
    pthread_mutex_lock(&session_lock);
    if (source)
        add_source(source);
    if (!atomic_load(&owner)) {
        atomic_store(&owner, getpid());
        if (!forks)
            forks = pthread_atfork(NULL, NULL, session_in_child) == 0;
        helper_threads_begin(); /* a program with a GPU has threads, too */
        if (control_start())
            open_window();
    }
    pthread_mutex_unlock(&session_lock);
}

/* Who holds the lock may be the very thread that ends the process, in a signal handler. */
static bool lock_to_end(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOCK_S;
    return pthread_mutex_timedlock(&session_lock, &until) == 0;
}

void inject_session_end(void)
{
    if (atomic_load(&owner) != getpid() || !lock_to_end())
        return;
    for (int i = 0; i < source_count && rbwp_is_on_(1) && !ended; i++)
        sources[i]->flush(true);
    close_window();
    inject_lost_tell();
    ended = true;
    struct rbwp_session *mine = session;
    session = NULL;
    pthread_mutex_unlock(&session_lock);
    control_end();
    (void)rbwp_session_stop(mine, NULL);
}

/* ---- the thread that waits for the window's times and signals -------------------------------- */
/*
 * Handlers of signals leave a mark and wake the thread: whatever there is to do takes locks.
 */

enum { TICK_MS = 1000 };

static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
enum { ENDS = sizeof ends / sizeof ends[0] };

static struct held session_woken = {.fd = -1}, waker = {.fd = -1}; /* a pipe */
static _Atomic int ended_by;      /* the signal that shall end the program */
static atomic_uint toggles;       /* signals that open or close the window */
static int toggle_signal;         /* 0: none */
static uint64_t after_ms, for_ms; /* 0: not given */
static _Atomic int64_t close_at_ms;

static int64_t now_ms(void)
{
    return (int64_t)inject_now_ns() / 1000000;
}

/* ---- signals -------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    int kept = errno;
    if (number == toggle_signal)
        atomic_fetch_add(&toggles, 1);
    else
        atomic_store(&ended_by, number);
    if (held_is_ours(&waker)) {
        (void)!write(waker.fd, "", 1);
    } else if (number != toggle_signal && waker.fd < 0) { /* a child, where nobody waits */
        signal(number, SIG_DFL);
        raise(number);
    }
    errno = kept;
}

static void take_signals(void)
{
    struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, theirs;
    for (int i = 0; i < ENDS; i++)
        if (ends[i] != toggle_signal && sigaction(ends[i], NULL, &theirs) == 0 &&
            !(theirs.sa_flags & SA_SIGINFO) && theirs.sa_handler == SIG_DFL)
            sigaction(ends[i], &ours, NULL);
    if (toggle_signal && sigaction(toggle_signal, &ours, NULL) != 0) {
        inject_log_once("RBWP_INJECT_SIGNAL: %s", strerror(errno));
        toggle_signal = 0;
    }
}

static void control_end(void)
{
    struct sigaction now;
    for (int i = 0; i < ENDS; i++)
        if (sigaction(ends[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == on_signal && !atomic_load(&ended_by))
            signal(ends[i], SIG_DFL);
}

static void control_forget(void)
{
    held_close(&session_woken);
    held_close(&waker);
    atomic_store(&ended_by, 0);
    atomic_store(&toggles, 0);
}

/* ---- the thread ----------------------------------------------------------------------------- */

static int wait_ms(int64_t open_at_ms)
{
    int64_t now = now_ms(), until = now + TICK_MS, close_at = atomic_load(&close_at_ms);
    if (open_at_ms && open_at_ms < until)
        until = open_at_ms;
    if (close_at && close_at < until)
        until = close_at;
    return until > now ? (int)(until - now) : 0;
}

static void end_program(int number)
{
    inject_session_end();
    signal(number, SIG_DFL);
    kill(getpid(), number);
}

static void *control(void *unused)
{
    int64_t open_at_ms = after_ms ? now_ms() + (int64_t)after_ms : 0;
    bool open = false;
    (void)unused;
    for (;;) {
        char bytes[64];
        struct pollfd wakes = {.fd = held_is_ours(&session_woken) ? session_woken.fd : -1,
                               .events = POLLIN};
        if (poll(&wakes, 1, wait_ms(open_at_ms)) > 0 && held_is_ours(&session_woken))
            (void)!read(session_woken.fd, bytes, sizeof bytes);
        if (atomic_load(&ended_by)) {
            end_program(atomic_load(&ended_by));
            return NULL;
        }
        if (atomic_exchange(&toggles, 0) & 1)
            inject_window(open = !open);
        if (open_at_ms && now_ms() >= open_at_ms) {
            open_at_ms = 0;
            inject_window(true);
        }
        if (atomic_load(&close_at_ms) && now_ms() >= atomic_load(&close_at_ms)) {
            inject_session_end();
            return NULL;
        }
        flush_sources();
    }
}

/* ---- beginning ------------------------------------------------------------------------------ */

static uint64_t session_number_of(const char *variable)
{
    const char *text = secure_getenv(variable);
    return text ? strtoull(text, NULL, 10) & UINT32_MAX : 0;
}

/* High, as low ones have a meaning in some programs. */
static void make_pipe(void)
{
    int pair[2] = {-1, -1};
    (void)!pipe2(pair, O_CLOEXEC | O_NONBLOCK);
    rbwp_extend_keep_descriptors_above(DESCRIPTORS_FROM);
    held_take(&session_woken, pair[0]);
    held_take(&waker, pair[1]);
}

static bool control_start(void)
{
    pthread_t thread;
    after_ms = session_number_of("RBWP_INJECT_AFTER_MS");
    for_ms = session_number_of("RBWP_INJECT_FOR_MS");
    toggle_signal = (int)session_number_of("RBWP_INJECT_SIGNAL");
    atomic_store(&close_at_ms, 0);
    make_pipe();
    if (helper_thread_start(&thread, "rbwp-inject", control, NULL) != 0) {
        control_forget();
        return !after_ms && !toggle_signal && !inject_window_range();
    }
    pthread_detach(thread);
    take_signals();
    return !after_ms && !toggle_signal && !inject_window_range();
}

static void control_opened(void)
{
    if (for_ms && !atomic_load(&close_at_ms))
        atomic_store(&close_at_ms, now_ms() + (int64_t)for_ms);
    if (for_ms && held_is_ours(&waker))
        (void)!write(waker.fd, "", 1);
}

/* ---- _exit ----------------------------------------------------------------------------------- */
/*
 * _exit and _Exit, which end a process without asking anybody, for programs that
 * this library is preloaded into: what CUPTI still has is handed over before.
 *
 * A child that vfork made shares our memory and must leave it alone: inject_session_end looks whose
 * it is.
 */

typedef void exit_fn(int);
static exit_fn *real;

__attribute__((constructor)) static void find_real(void)
{
    *(void **)(void *)&real = dlsym(RTLD_NEXT, "_exit");
}

static _Noreturn void session_leave(int status)
{
    inject_session_end();
    if (real)
        real(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"))) void _exit(int status)
{
    session_leave(status);
}

__attribute__((visibility("default"))) void _Exit(int status)
{
    session_leave(status);
}
