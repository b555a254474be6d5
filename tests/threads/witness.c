/* SPDX-License-Identifier: Apache-2.0 */
/*
 * witness - a program that knows its own waits.
 *
 *     witness          waits for everything that a thread can wait for, and prints what it saw
 *     witness forever  the same, and then waits until it is killed
 *     witness odd      leaves waits by cancellation and by longjmp, forks, and waits in handlers
 *     witness ready    finds something each time it looks, many times, and then waits in vain
 *     witness others   waits by calls that others wait by seldom, none of which another thread ends
 *     witness crowds   wakes several threads at once, and prints nothing
 *
 * A line for each wait, in the order of its thread, times of CLOCK_MONOTONIC in ns around the call:
 *     wait THREAD KIND BEFORE AFTER [WAKER BEFORE AFTER]
 * the latter three of the signal that ended it. Whoever signals has seen the other one asleep.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
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
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
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
static mtx_t plain_mutex;
static cnd_t plain_cond;
static int word, files[2], lock_files[2]; /* the latter of one file */
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

static void wait_plain_condition(void)
{
    mtx_lock(&plain_mutex);
    while (!filled)
        SEEN(&of_worker, "condition variable", cnd_wait(&plain_cond, &plain_mutex));
    filled = false;
    mtx_unlock(&plain_mutex);
}

static void wait_plain_mutex(void)
{
    SEEN(&of_worker, "mutex", mtx_lock(&plain_mutex));
    mtx_unlock(&plain_mutex);
}

static void wait_signal(void)
{
    int number;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    SEEN(&of_worker, "signal", if (sigwait(&set, &number) != 0) abort());
}

static void wait_file_lock(void)
{
    SEEN(&of_worker, "file lock", if (flock(lock_files[1], LOCK_EX) != 0) abort());
    flock(lock_files[1], LOCK_UN);
}

/* Of a descriptor, not of the process. */
static int change_lock(int fd, int command, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, command, &lock);
}

static void wait_range_lock(void)
{
    SEEN(&of_worker, "file lock",
         if (change_lock(lock_files[1], F_OFD_SETLKW, F_WRLCK) != 0) abort());
    change_lock(lock_files[1], F_OFD_SETLK, F_UNLCK);
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

static void hold_plain_mutex(void)
{
    mtx_lock(&plain_mutex);
}
static void hold_file_lock(void)
{
    flock(lock_files[0], LOCK_EX);
}
static void hold_range_lock(void)
{
    change_lock(lock_files[0], F_OFD_SETLK, F_WRLCK);
}

static void signal_plain_condition(void)
{
    filled = true;
    cnd_signal(&plain_cond);
}
static void release_plain_mutex(void)
{
    mtx_unlock(&plain_mutex);
}
static void send_signal(void)
{
    syscall(SYS_tgkill, getpid(), worker, SIGUSR1);
}
static void release_file_lock(void)
{
    flock(lock_files[0], LOCK_UN);
}
static void release_range_lock(void)
{
    change_lock(lock_files[0], F_OFD_SETLK, F_UNLCK);
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
    {NULL, wait_plain_condition, signal_plain_condition, true},
    {hold_plain_mutex, wait_plain_mutex, release_plain_mutex, true},
    {NULL, wait_signal, send_signal, false},
    {hold_file_lock, wait_file_lock, release_file_lock, false},
    {hold_range_lock, wait_range_lock, release_range_lock, false},
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

/* ---- other calls --------------------------------------------------------------------------------
 */

static struct timespec in_vain(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += VAIN_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

static void be_woken(int number)
{
    (void)number;
}

/* By an alarm, which is taken while it waits alone. */
static void wait_for_alarm(void)
{
    sigset_t set, others;
    handle(be_woken);
    ualarm(20000, 20000); /* one may come before */
    SEEN(&of_main, "signal", pause());
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, &others);
    handle(be_woken);
    SEEN(&of_main, "signal", sigsuspend(&others));
    handle(be_woken);
    SEEN(&of_main, "signal", require(sigwaitinfo(&set, NULL) == SIGALRM));
    SEEN(&of_main, "signal",
         require(sigtimedwait(&set, NULL, &(struct timespec){0, VAIN_MS * 1000000}) < 0));
}

static void wait_for_messages(void)
{
    const struct timespec vain = {0, VAIN_MS * 1000000};
    const struct timeval most = {0, VAIN_MS * 1000};
    struct mq_attr form = {.mq_maxmsg = 1, .mq_msgsize = 8};
    struct sembuf down = {0, -1, 0};
    struct mmsghdr message = {0};
    struct timespec until;
    char name[64], bytes[8];
    int set = semget(IPC_PRIVATE, 1, 0600), datagrams = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct aiocb request = {.aio_fildes = files[0], .aio_buf = bytes, .aio_nbytes = 1};
    const struct aiocb *requests[] = {&request};
    require(set >= 0 && datagrams >= 0);
    SEEN(&of_main, "semaphore set", require(semtimedop(set, &down, 1, &vain) < 0));
    semctl(set, 0, IPC_RMID);
    setsockopt(datagrams, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    SEEN(&of_main, "read", require(recvmmsg(datagrams, &message, 1, 0, NULL) < 0));
    require(aio_read(&request) == 0);
    SEEN(&of_main, "read", require(aio_suspend(requests, 1, &vain) < 0));
    require(write(files[1], "x", 1) == 1);
    snprintf(name, sizeof name, "/rbwp-witness-%ld", (long)getpid());
    mqd_t queue = mq_open(name, O_RDONLY | O_CREAT | O_EXCL, 0600, &form);
    if (queue == (mqd_t)-1) /* not in every container */
        return;
    mq_unlink(name);
    until = in_vain();
    SEEN(&of_main, "read", require(mq_timedreceive(queue, bytes, 8, NULL, &until) < 0));
}

static void wait_otherwise(void)
{
    const struct timespec vain = {0, VAIN_MS * 1000000};
    struct timespec until = in_vain();
    mtx_lock(&plain_mutex);
    SEEN(&of_main, "condition variable",
         require(cnd_timedwait(&plain_cond, &plain_mutex, &until) == thrd_timedout));
    mtx_unlock(&plain_mutex);
    SEEN(&of_main, "sleep", thrd_sleep(&vain, NULL));
    SEEN(&of_main, "child process", require(system("sleep 0.03") == 0));
    FILE *stream = popen("sleep 0.03", "w");
    require(stream != NULL);
    SEEN(&of_main, "child process", pclose(stream));
    wait_for_alarm();
    wait_for_messages();
}

/* ---- several that wait for the same
 * --------------------------------------------------------------
 */

enum { CROWD = 3 };
static void (*crowd_waits)(void);
static pthread_barrier_t barrier;

static void in_crowd_for_futex(void)
{
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}
static void wake_crowd_at_futex(void)
{
    syscall(SYS_futex, &word, FUTEX_WAKE, CROWD, NULL, NULL, 0);
}

static void in_crowd_for_condition(void)
{
    pthread_mutex_lock(&guard);
    while (!filled)
        pthread_cond_wait(&cond, &guard);
    pthread_mutex_unlock(&guard);
}
static void wake_crowd_at_condition(void)
{
    pthread_mutex_lock(&guard);
    filled = true;
    pthread_mutex_unlock(&guard); /* nobody comes out of it into a wait for the mutex */
    pthread_cond_broadcast(&cond);
}

static void in_crowd_for_rwlock(void)
{
    pthread_rwlock_rdlock(&rwlock); /* kept: whoever releases it last is taken for the waker */
}
static void wake_crowd_at_rwlock(void)
{
    pthread_rwlock_unlock(&rwlock);
}

static void in_crowd_for_barrier(void)
{
    pthread_barrier_wait(&barrier);
}
static void wake_crowd_at_barrier(void)
{
    pthread_barrier_wait(&barrier);
}

static void *be_in_crowd(void *number)
{
    __atomic_store_n((long *)number, own_number(), __ATOMIC_RELEASE);
    crowd_waits();
    return NULL;
}

/* Main wakes all of them at once. */
static void wake_crowds(void)
{
    static const struct {
        void (*wait)(void), (*wake)(void);
    } crowds[] = {{in_crowd_for_futex, wake_crowd_at_futex},
                  {in_crowd_for_condition, wake_crowd_at_condition},
                  {in_crowd_for_rwlock, wake_crowd_at_rwlock},
                  {in_crowd_for_barrier, wake_crowd_at_barrier}};
    pthread_barrier_init(&barrier, NULL, CROWD + 1);
    pthread_rwlock_wrlock(&rwlock);
    for (size_t c = 0; c < sizeof crowds / sizeof *crowds; c++) {
        pthread_t threads[CROWD];
        long numbers[CROWD] = {0};
        crowd_waits = crowds[c].wait;
        for (int i = 0; i < CROWD; i++) { /* one by one: they do not wait for each other */
            require(pthread_create(&threads[i], NULL, be_in_crowd, &numbers[i]) == 0);
            while (__atomic_load_n(&numbers[i], __ATOMIC_ACQUIRE) == 0)
                sched_yield();
            wait_until_asleep(numbers[i]);
        }
        pause_us(25000);
        crowds[c].wake();
        for (int i = 0; i < CROWD; i++)
            pthread_join(threads[i], NULL);
    }
}

static void prepare(void)
{
    char path[64];
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sem_init(&semaphore, 0, 0);
    sem_init(&never, 0, 0);
    require(mtx_init(&plain_mutex, mtx_timed) == thrd_success &&
            cnd_init(&plain_cond) == thrd_success && pipe(files) == 0);
    lock_files[0] = memfd_create("locked", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", lock_files[0]);
    lock_files[1] = open(path, O_RDWR | O_CLOEXEC);
    require(lock_files[0] >= 0 && lock_files[1] >= 0);
}

int main(int argc, char **argv)
{
    pthread_t thread, sleeper;
    const char *way = argc > 1 ? argv[1] : "";
    void (*const alone)(void) = strcmp(way, "odd") == 0      ? be_odd
                                : strcmp(way, "ready") == 0  ? be_ready
                                : strcmp(way, "others") == 0 ? wait_otherwise
                                : strcmp(way, "crowds") == 0 ? wake_crowds
                                                             : NULL;
    prepare();
    if (alone) {
        alone();
        print(&of_main);
        return 0;
    }
    if (pthread_create(&sleeper, NULL, wait_for_ever, NULL) != 0)
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
    if (strcmp(way, "forever") == 0)
        sem_wait(&never);
    return 0;
}
