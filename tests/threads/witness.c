/* SPDX-License-Identifier: Apache-2.0 */
/*
 * witness - a program that knows its own waits.
 *
 *     witness          waits for everything that a thread can wait for, and tells what it saw
 *     witness forever  the same, and then waits until it is killed
 *     witness odd      leaves waits by cancellation and by longjmp, forks, and waits in handlers
 *     witness ready    finds something each time it looks, many times, and then waits in vain
 *
 * A line for each wait, in the order of its thread, times of CLOCK_MONOTONIC in ns around the call:
 *     wait THREAD KIND BEFORE AFTER [WAKER BEFORE AFTER]
 * the latter three of the signal that ended it. Whoever signals has seen the other one asleep.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINES = 4000, ROUNDS = 3 };

struct line {
    long thread, waker;
    const char *kind;
    long long before, after, signal_before, signal_after;
};
struct log {
    struct line lines[LINES];
    int count;
};
static struct log of_main, of_worker;

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long own_number(void)
{
    return (long)gettid();
}

static void add(struct log *log, const char *kind, long long before)
{
    if (log->count == LINES)
        abort();
    log->lines[log->count++] =
        (struct line){.thread = own_number(), .kind = kind, .before = before, .after = now_ns()};
}
#define SEEN(log, kind, call)                                                                      \
    do {                                                                                           \
        long long before = now_ns();                                                               \
        call;                                                                                      \
        add(log, kind, before);                                                                    \
    } while (0)

/* ---- who waits --------------------------------------------------------------------------------
 */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore, never;
static int word, files[2];
static bool filled;

static long worker;           /* its number, once it runs */
static int joining;           /* main is about to join the worker */
static int asked, turn;       /* the worker is about to wait for the turn's object; it may go on */
static struct line signalled; /* by main, of this turn */

static void wait_condition(void)
{
    pthread_mutex_lock(&guard);
    while (!filled)
        SEEN(&of_worker, "condition variable", pthread_cond_wait(&cond, &guard));
    filled = false;
    pthread_mutex_unlock(&guard);
}

static void wait_mutex(void)
{
    SEEN(&of_worker, "mutex", pthread_mutex_lock(&mutex));
    pthread_mutex_unlock(&mutex);
}

static void wait_rwlock(void)
{
    SEEN(&of_worker, "rwlock", pthread_rwlock_rdlock(&rwlock));
    pthread_rwlock_unlock(&rwlock);
}

static void wait_semaphore(void)
{
    SEEN(&of_worker, "semaphore", sem_wait(&semaphore));
}

static void wait_futex(void)
{
    SEEN(&of_worker, "futex", syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0));
}

static void wait_epoll(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = epoll_create1(0);
    epoll_ctl(fd, EPOLL_CTL_ADD, files[0], &event);
    SEEN(&of_worker, "epoll", epoll_wait(fd, &event, 1, -1));
    close(fd);
}

static void wait_poll(void)
{
    struct pollfd file = {.fd = files[0], .events = POLLIN};
    SEEN(&of_worker, "poll", poll(&file, 1, -1));
}

static void wait_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(files[0], &set);
    SEEN(&of_worker, "select", select(files[0] + 1, &set, NULL, NULL, NULL));
}

static void wait_read(void)
{
    char byte;
    SEEN(&of_worker, "read", if (read(files[0], &byte, 1) != 1) abort());
}

/* ---- who ends it
 * --------------------------------------------------------------------------------- */

static void pause_us(useconds_t us)
{
    SEEN(&of_main, "sleep", usleep(us));
}

static bool is_asleep(long thread)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
    int fd = open(path, O_RDONLY);
    ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    close(fd);
    if (bytes <= 0)
        return false;
    text[bytes] = 0;
    const char *state = strrchr(text, ')');
    return state && state[2] == 'S';
}

static void wait_until_asleep(long thread)
{
    do
        pause_us(1000);
    while (!is_asleep(thread));
}

static void hold_mutex(void)
{
    pthread_mutex_lock(&mutex);
}
static void hold_rwlock(void)
{
    pthread_rwlock_wrlock(&rwlock);
}

static void signal_condition(void)
{
    filled = true; /* the other one is asleep */
    pthread_cond_signal(&cond);
}
static void release_mutex(void)
{
    pthread_mutex_unlock(&mutex);
}
static void release_rwlock(void)
{
    pthread_rwlock_unlock(&rwlock);
}
static void post_semaphore(void)
{
    sem_post(&semaphore);
}
static void wake_futex(void)
{
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}
static void write_byte(void)
{
    if (write(files[1], "x", 1) != 1)
        abort();
}

static const struct {
    void (*hold)(void);
    void (*wait)(void);
    void (*end)(void);
    bool is_known; /* who ends it */
} turns[] = {
    {NULL, wait_condition, signal_condition, true},
    {hold_mutex, wait_mutex, release_mutex, true},
    {hold_rwlock, wait_rwlock, release_rwlock, true},
    {NULL, wait_semaphore, post_semaphore, true},
    {NULL, wait_futex, wake_futex, true},
    {NULL, wait_epoll, write_byte, false},
    {NULL, wait_read, NULL, false}, /* there is a byte: does not wait */
    {NULL, wait_poll, write_byte, false},
    {NULL, wait_read, NULL, false},
    {NULL, wait_select, write_byte, false},
    {NULL, wait_read, NULL, false},
    {NULL, wait_read, write_byte, false},
};
enum { TURNS = sizeof turns / sizeof turns[0] };

/* ---- threads
 * --------------------------------------------------------------------------------------- */

/* A turn is begun by main, by one store that is spun for: no wait of anybody. */
static void *work(void *unused)
{
    pthread_setname_np(pthread_self(), "the worker");
    __atomic_store_n(&worker, own_number(), __ATOMIC_RELEASE);
    for (int i = 1; i <= ROUNDS * TURNS; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) < i)
            sched_yield();
        int lines = of_worker.count, which = (i - 1) % TURNS;
        __atomic_store_n(&asked, i, __ATOMIC_RELEASE);
        turns[which].wait();
        if (!turns[which].end)
            of_worker.count = lines;
        if (turns[which].is_known) {
            struct line *line = &of_worker.lines[of_worker.count - 1];
            while (__atomic_load_n(&signalled.after, __ATOMIC_ACQUIRE) == 0)
                sched_yield();
            line->waker = signalled.thread;
            line->signal_before = signalled.before;
            line->signal_after = signalled.after;
        }
        __atomic_store_n(&asked, -i, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&joining, __ATOMIC_ACQUIRE) || !is_asleep(getpid()))
        sched_yield();
    return unused;
}

static void *wait_for_ever(void *unused)
{
    sem_wait(&never);
    return unused;
}

static void direct(void)
{
    while (__atomic_load_n(&worker, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    for (int i = 1; i <= ROUNDS * TURNS; i++) {
        int which = (i - 1) % TURNS;
        signalled = (struct line){.thread = own_number()};
        if (turns[which].hold)
            turns[which].hold();
        __atomic_store_n(&turn, i, __ATOMIC_RELEASE);
        if (turns[which].end) {
            while (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) != i)
                sched_yield();
            wait_until_asleep(worker);
            pause_us(25000);
            signalled.before = now_ns();
            turns[which].end();
            __atomic_store_n(&signalled.after, now_ns(), __ATOMIC_RELEASE);
        }
        while (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) != -i)
            sched_yield();
    }
}

static void print(const struct log *log)
{
    for (int i = 0; i < log->count; i++) {
        const struct line *line = &log->lines[i];
        printf("wait %ld\t%s\t%lld\t%lld", line->thread, line->kind, line->before, line->after);
        if (line->waker)
            printf("\t%ld\t%lld\t%lld", line->waker, line->signal_before, line->signal_after);
        putchar('\n');
    }
}

/* ---- odd ways -----------------------------------------------------------------------------------
 */

static sigjmp_buf landing;

static void leap(int number)
{
    (void)number;
    siglongjmp(landing, 1);
}

/* A wait in the middle of another one. */
static void nap(int number)
{
    (void)number;
    usleep(1000);
    sem_post(&semaphore);
}

static void handle(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGALRM, &action, NULL);
    ualarm(20000, 0);
}

static void wait_for_child(pid_t child)
{
    int status;
    SEEN(&of_main, "child process", waitpid(child, &status, 0));
    if (status != 0)
        abort();
}

static void be_odd(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
        abort();
    pause_us(20000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);

    handle(leap);
    if (sigsetjmp(landing, 1) == 0)
        usleep(10000000);
    pause_us(20000);

    handle(nap);
    SEEN(&of_main, "poll", poll(NULL, 0, 10000));
    SEEN(&of_main, "sleep", usleep(20000));
    sem_wait(&semaphore); /* posted: does not wait */

    pid_t child = fork();
    if (child == 0) {
        usleep(10000);
        _exit(0);
    }
    wait_for_child(child);
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "sleep 0.02", (char *)NULL);
        _exit(1);
    }
    wait_for_child(child);
}

/* ---- calls that find something
 * ----------------------------------------------------------------- */

enum { LOOKS = 8, VAIN_MS = 30 };

static void require(bool good)
{
    if (!good)
        abort();
}

#if __GLIBC_PREREQ(2, 35)
/* Linux has it since 5.11. */
static bool has_epoll_pwait2(void)
{
    const struct timespec none = {0, 0};
    struct epoll_event event;
    int fd = epoll_create1(0);
    bool has = epoll_pwait2(fd, &event, 1, &none, NULL) == 0;
    close(fd);
    return has;
}
#else
#define epoll_pwait2(fd, events, most, timeout, signals) (-1)
static bool has_epoll_pwait2(void)
{
    return false;
}
#endif

/* files[1] can be written to; from files[0] there is nothing to read. */
static void be_ready(void)
{
    struct pollfd full = {.fd = files[1], .events = POLLOUT}, empty = {files[0], POLLIN, 0};
    struct epoll_event event = {.events = EPOLLOUT}, none = {.events = EPOLLIN};
    const struct timespec vain = {0, VAIN_MS * 1000000};
    int ready = epoll_create1(0), idle = epoll_create1(0);
    require(epoll_ctl(ready, EPOLL_CTL_ADD, files[1], &event) == 0 &&
            epoll_ctl(idle, EPOLL_CTL_ADD, files[0], &none) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LOOKS; i++)
            require(poll(&full, 1, -1) == 1 && full.revents == POLLOUT);
        SEEN(&of_main, "poll", require(poll(&empty, 1, VAIN_MS) == 0));
        for (int i = 0; i < LOOKS; i++)
            require(ppoll(&full, 1, NULL, NULL) == 1 && full.revents == POLLOUT);
        SEEN(&of_main, "poll", require(ppoll(&empty, 1, &vain, NULL) == 0));
        for (int i = 0; i < LOOKS; i++)
            require(epoll_wait(ready, &event, 1, -1) == 1 && event.events == EPOLLOUT);
        SEEN(&of_main, "epoll", require(epoll_wait(idle, &event, 1, VAIN_MS) == 0));
        if (!has_epoll_pwait2())
            continue;
        for (int i = 0; i < LOOKS; i++)
            require(epoll_pwait2(ready, &event, 1, NULL, NULL) == 1 && event.events == EPOLLOUT);
        SEEN(&of_main, "epoll", require(epoll_pwait2(idle, &event, 1, &vain, NULL) == 0));
    }
}

int main(int argc, char **argv)
{
    pthread_t thread, sleeper;
    sem_init(&semaphore, 0, 0);
    sem_init(&never, 0, 0);
    if (argc > 1 && strcmp(argv[1], "odd") == 0) {
        be_odd();
        print(&of_main);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "ready") == 0) {
        require(pipe(files) == 0);
        be_ready();
        print(&of_main);
        return 0;
    }
    if (pipe(files) != 0 || pthread_create(&sleeper, NULL, wait_for_ever, NULL) != 0)
        return 1;
    pthread_setname_np(sleeper, "the sleeper");
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    direct();
    __atomic_store_n(&joining, 1, __ATOMIC_RELEASE);
    SEEN(&of_main, "join", pthread_join(thread, NULL));
    print(&of_worker);
    print(&of_main);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "forever") == 0)
        sem_wait(&never);
    return 0;
}
