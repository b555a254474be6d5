/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads come, have names, and go.
 *
 * What a new thread is to run waits for it in a place of a fixed table. Where that is full, the
 * thread runs without being recorded.
 */
#include "helper_thread.h"
#include "rbwp_session.h"
#include "libc_next.h"
#include "settings_file.h"
#include "record_extend.h"
#include "waiter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* ---- the session of a program that the library was loaded into ------------------------------- */
/*
 * A program that knows nothing of the library is started as
 *
 *     LD_PRELOAD=librbwp-threads.so RBWP_THREADS_FILE=FILE command
 *
 * FILE may have %p for the process's number, as any log file (rbwp_session.h). If it has, programs
 * that the command starts are recorded, each in a file of its own; else the command is, alone. With
 * RBWP_THREADS_PID it is the program that this process, by its number, executes last.
 */

enum { LEAST_IO_NS = 50000, BUFFER_MB = 64, DESCRIPTORS_FROM = 700 };

static void at_end(enum rbwp_extend_moment moment)
{
    if (moment == RBWP_EXTEND_STOPPING || moment == RBWP_EXTEND_EXITING)
        waiter_tell_waiting();
}

/* A whole number of the environment, or what it is else. */
static uint64_t number_from(const char *variable, uint64_t otherwise, uint64_t most)
{
    const char *text = secure_getenv(variable);
    char *end;
    if (!text || !*text)
        return otherwise;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    return *end || errno || *text == '-' || value > most ? otherwise : value;
}

static void wrap_thread_report(const char *what)
{
    fprintf(stderr, "rbwp: background threads are not recorded: %s\n", what);
}

/* The program's, and with it its children's. Nobody listens to rbwp ctl before there is a thread.
 */
static struct rbwp_session_config config = {
    .size = sizeof config, .level = 1, .control = RBWP_CONTROL_NONE, .at_cap = RBWP_AT_CAP_DROP};
static char logfile[PATH_MAX];
static _Atomic bool has_threads; /* of the program's own, beside the first */

static bool start_session(const char *file)
{
    struct rbwp_session *session;
    struct rbwp_error error;
    if (strlen(file) >= sizeof logfile) {
        wrap_thread_report("the file's name is too long");
        return false;
    }
    strcpy(logfile, file);
    config.logfile = logfile;
    config.cap_bytes = number_from("RBWP_THREADS_BUFSIZE", BUFFER_MB, 1 << 20) << 20;
    /* To compress costs the program more time than all the rest of the writer's work, and takes off
     * a third of the records and next to nothing of the rows. */
    config.stored = true;
    config.no_cpu = number_from("RBWP_THREADS_CPU", 1, 1) == 0;
    const char *stacks = secure_getenv("RBWP_THREADS_STACKS");
    if (stacks && *stacks && !limit_text_ns(stacks, strlen(stacks), &config.stacks_ns))
        wrap_thread_report("RBWP_THREADS_STACKS is not a duration (10ms)");
    config.children = strstr(file, "%p") != NULL;
    rbwp_extend_keep_descriptors_above(DESCRIPTORS_FROM);
    rbwp_extend_end_items(NULL);
    helper_threads_hold();
    if (rbwp_session_start(&config, &session, &error) == RBWP_OK && session) {
        if (error.text[0])
            fprintf(stderr, "rbwp: %s\n", error.text);
        return true;
    }
    wrap_thread_report(error.text);
    return false;
}

/* The program is about to have a second thread: the session may have its own from here on. */
static void preload_first_thread(void)
{
    struct rbwp_session_config with_control = config;
    if (has_threads)
        return;
    has_threads = true;
    with_control.control = RBWP_CONTROL_RECORDING;
    rbwp_extend_begin_threads(&with_control);
    waiter_has_company();
}

/* ---- children -------------------------------------------------------------------------- */

/* Where rbwp record reads which processes have no file; "": each has its own, or nobody asks. */
static char children[PATH_MAX];

static void wrap_thread_note(const char *line, size_t bytes)
{
    const int host_errno = errno;
    int fd = *children ? open(children, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)!REAL(write)(fd, line, bytes);
        close(fd);
    }
    errno = host_errno;
}

static void in_parent(void)
{
    wrap_thread_note("+\n", 2);
}

static void in_child(void)
{
    char line[64];
    has_threads = false;
    waiter_forked();
    int bytes =
        snprintf(line, sizeof line, "%ld %.32s\n", (long)getpid(), program_invocation_short_name);
    wrap_thread_note(line, (size_t)bytes);
}

static void watch_forks(void)
{
    const char *list = secure_getenv("RBWP_THREADS_CHILDREN");
    if (list && !config.children && strlen(list) < sizeof children)
        strcpy(children, list);
    pthread_atfork(NULL, in_parent, in_child);
}

/* What another program left in this process, which executed this one in its place. */
static void remove_leftover(const char *file)
{
    char live[PATH_MAX];
    if (snprintf(live, sizeof live, "%s.live", file) >= (int)sizeof live || access(live, F_OK) != 0)
        return;
    (void)unlink(live);
    (void)unlink(file);
}

/* Of a file for one process: this one's, or that of a program which started it? */
static bool may_take(const char *file)
{
    uint64_t whose = number_from("RBWP_THREADS_PID", 0, INT64_MAX);
    if (strstr(file, "%p"))
        return true;
    if (whose == 0) {
        unsetenv("LD_PRELOAD"); /* for those that this one starts */
        unsetenv("RBWP_THREADS_FILE");
    } else if (whose != (uint64_t)getpid()) {
        return false;
    } else {
        remove_leftover(file);
    }
    return true;
}

__attribute__((constructor)) static void wrap_thread_begin(void)
{
    const char *file = secure_getenv("RBWP_THREADS_FILE");
    real_prepare();
    if (!file || !*file || !may_take(file))
        return;
    uint64_t least_io_us = number_from("RBWP_THREADS_LEAST_US", LEAST_IO_NS / 1000, 1u << 30);
    if (!waiter_prepare(least_io_us * 1000) || rbwp_extend_at_end(at_end) != RBWP_OK) {
        wrap_thread_report("no memory");
        return;
    }
    if (!start_session(file))
        return;
    rbwp_extend_code_names();
    watch_forks();
    waiter_start_clock();
    waiter_attach(program_invocation_short_name, 0, 0);
}

/* ---- wrap thread ----------------------------------------------------------------------------- */

enum { STARTS_MAX = 256, TITLE_BYTES = 16 };

struct start {
    _Atomic uint32_t used;
    void *(*run)(void *);
    void *argument;
    uint64_t maker, ticks;
    char maker_title[TITLE_BYTES];
};
static struct start starts[STARTS_MAX];

static struct start *claim_start(void)
{
    for (unsigned i = 0; i < STARTS_MAX; i++) {
        uint32_t is_free = 0;
        if (atomic_compare_exchange_strong(&starts[i].used, &is_free, 1))
            return &starts[i];
    }
    return NULL;
}

/* A thread has its maker's name until it gets one. That may have been given before we knew it. */
static void wrap_thread_on_name(const struct start *start)
{
    char title[TITLE_BYTES];
    if (pthread_getname_np(pthread_self(), title, sizeof title) == 0 &&
        strncmp(title, start->maker_title, sizeof title) != 0)
        waiter_rename(pthread_self(), title);
}

static void wrap_thread_leave(void *unused)
{
    (void)unused;
    wakeup_tell((uint64_t)pthread_self(), WAKES_ALL); /* to who joins it */
    waiter_detach();
}

static void wrap_thread_attach(const struct start *start)
{
    char name[RBWP_EXTEND_CODE_NAME_MAX];
    waiter_attach(rbwp_extend_code_name((uintptr_t)start->run, name), start->maker, start->ticks);
}

/* pthread_exit and cancellation unwind through here. */
static void *wrap_thread_run(void *context)
{
    struct start start = *(const struct start *)context;
    void *result;
    wrap_thread_attach(&start);
    wrap_thread_on_name(&start);
    atomic_store(&((struct start *)context)->used, 0);
    pthread_cleanup_push(wrap_thread_leave, NULL);
    result = start.run(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

SHOWN int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                         void *(*function)(void *), void *restrict argument)
{
    struct waiter *mine = waiter_mine;
    bool ours = mine && !atomic_load_explicit(&mine->busy, memory_order_relaxed) &&
                mine->kind != WAIT_NONE && !helper_thread_starting;
    if (ours)
        preload_first_thread();
    struct start *start = ours ? claim_start() : NULL;
    if (!start)
        return REAL(pthread_create)(thread, attributes, function, argument);
    start->run = function;
    start->argument = argument;
    start->maker = waiter_thread_id();
    start->ticks = rbwp_now_ticks();
    if (pthread_getname_np(pthread_self(), start->maker_title, sizeof start->maker_title) != 0)
        start->maker_title[0] = 0;
    int error = REAL(pthread_create)(thread, attributes, wrap_thread_run, start);
    if (error)
        atomic_store(&start->used, 0);
    return error;
}

SHOWN int pthread_setname_np(pthread_t thread, const char *name)
{
    int error = REAL(pthread_setname_np)(thread, name);
    if (error == 0 && waiter_mine)
        waiter_rename(thread, name);
    return error;
}

/* Not of a child by vfork, which has its parent's memory. */
SHOWN int prctl(int option, ...)
{
    unsigned long args[4];
    va_list list;
    va_start(list, option);
    for (unsigned i = 0; i < 4; i++)
        args[i] = va_arg(list, unsigned long);
    va_end(list);
    int result = REAL(prctl)(option, args[0], args[1], args[2], args[3]);
    if (option == PR_SET_NAME && result == 0 && waiter_mine &&
        (uint32_t)waiter_thread_id() == (uint32_t)REAL(syscall)(SYS_gettid)) {
        char title[TITLE_BYTES];
        if (REAL(prctl)(PR_GET_NAME, title, 0ul, 0ul, 0ul) == 0)
            waiter_rename(pthread_self(), title);
    }
    return result;
}

/* ---- the end of a thread
 * ------------------------------------------------------------------------- */

#define JOINS(name, parameters, arguments)                                                         \
    SHOWN int name parameters                                                                      \
    {                                                                                              \
        int error = REAL(pthread_tryjoin_np)(thread, result);                                      \
        if (error != EBUSY)                                                                        \
            return error;                                                                          \
        struct wait wait WAIT_CLEANED;                                                             \
        wait_begin_woken(&wait, WAIT_JOIN, (const void *)thread);                                  \
        error = REAL(name) arguments;                                                              \
        wait_end(&wait, error ? WAIT_FAILED : WAIT_WOKEN);                                         \
        return error;                                                                              \
    }
JOINS(pthread_join, (pthread_t thread, void **result), (thread, result))
JOINS(pthread_timedjoin_np, (pthread_t thread, void **result, const struct timespec *until),
      (thread, result, until))
#if __GLIBC_PREREQ(2, 31)
JOINS(pthread_clockjoin_np,
      (pthread_t thread, void **result, clockid_t clock, const struct timespec *until),
      (thread, result, clock, until))
#endif

/* ---- jumps
 * ---------------------------------------------------------------------------------------- */

#define JUMP(name)                                                                                 \
    SHOWN _Noreturn void name(struct __jmp_buf_tag place[1], int value);                           \
    void name(struct __jmp_buf_tag place[1], int value)                                            \
    {                                                                                              \
        waiter_jumps();                                                                            \
        REAL(name)(place, value);                                                                  \
        __builtin_unreachable();                                                                   \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
