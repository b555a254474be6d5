/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lone - a program that relies on what a library loaded into it easily breaks; 0: nothing was.
 *
 *     lone alone    one thread until it makes one; so has a child that it forks before or after
 *     lone clone    waits, and so does a child that was made without fork's handlers
 *     lone jump     leaves calls by siglongjmp out of a signal handler, thousands of times
 *     lone fork     forks in a signal handler; the children go on where it came
 *     lone end WAY  ends by exit, _exit, quick, abort, kill or term, while another thread runs
 *     lone cancel   cancels a thread in a call that need not wait
 *     lone locked   a thread waits 0.3 s for each of two locks in the program's data
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLEEPS = 2500, LAST_SLEEPS = 20, JUMPS = 4000, FORKS = 60, FORKED_CALLS = 50 };

#define require(good)                                                                              \
    do {                                                                                           \
        if (!(good)) {                                                                             \
            fprintf(stderr, "lone: line %d: %s\n", __LINE__, strerror(errno));                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void sleep_often(int count)
{
    for (int i = 0; i < count; i++)
        usleep(20);
}

static void expect_child(pid_t child)
{
    int status = -1;
    require(child > 0 && waitpid(child, &status, 0) == child);
    require(status == 0);
}

/* ---- alone ---------------------------------------------------------------------------------- */

static int count_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    require(tasks);
    for (const struct dirent *one; (one = readdir(tasks));)
        count += one->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static void *nothing(void *unused)
{
    sleep_often(3);
    return unused;
}

static void make_thread(void)
{
    pthread_t thread;
    require(pthread_create(&thread, NULL, nothing, NULL) == 0);
    require(pthread_join(thread, NULL) == 0);
}

static void fork_alone(void)
{
    pid_t child = fork();
    if (child == 0) {
        require(count_threads() == 1);
        sleep_often(SLEEPS);
        require(count_threads() == 1);
        make_thread();
        exit(0);
    }
    expect_child(child);
}

static void be_alone(void)
{
    require(count_threads() == 1);
    sleep_often(SLEEPS);
    require(count_threads() == 1);
    fork_alone();
    pid_t child = fork();
    if (child == 0) { /* EPERM: not allowed here; with threads it is EINVAL */
        require(unshare(CLONE_NEWUSER) == 0 || errno != EINVAL);
        fork_alone(); /* before this one has recorded anything */
        exit(0);
    }
    expect_child(child);
    make_thread();
    sleep_often(SLEEPS);
    fork_alone();
}

/* ---- clone ---------------------------------------------------------------------------------- */

/* It ends like a crash, so that what stands behind its own records is seen, too. */
static void clone_alone(void)
{
    sleep_often(LAST_SLEEPS);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        sleep_often(SLEEPS);
        make_thread();
        exit(0);
    }
    expect_child(child);
    sleep_often(LAST_SLEEPS);
    _exit(0);
}

/* ---- handlers ------------------------------------------------------------------------------- */

static sigjmp_buf landing;
static volatile sig_atomic_t left, is_inside;
static int files[2];

static void every_us(suseconds_t us, void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler};
    const struct itimerval often = {{0, us}, {0, us}};
    require(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
}

static void leap(int number)
{
    (void)number;
    left--;
    if (is_inside)
        siglongjmp(landing, 1);
}

/* On a stack of its own, and it jumps inside of the handler, too. */
static void leap_aside(int number)
{
    jmp_buf here;
    if (setjmp(here) == 0)
        longjmp(here, 1);
    leap(number);
}

static void move_byte(void)
{
    char byte = 0;
    (void)!write(files[1], &byte, 1);
    (void)!read(files[0], &byte, 1);
    usleep(1);
}

static void jump(void)
{
    require(pipe2(files, O_NONBLOCK) == 0);
    left = JUMPS;
    every_us(137, leap_aside);
    while (left > 0)
        if (sigsetjmp(landing, 1) == 0) {
            is_inside = 1;
            for (;;)
                move_byte();
        } else {
            is_inside = 0;
        }
    require(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL) == 0);
    for (int i = 0; i < LAST_SLEEPS; i++)
        usleep(1000);
}

/* The parent goes on; the child as well, for some calls. */
static volatile sig_atomic_t is_child;

static void divide(int number)
{
    (void)number;
    if (left == 0 || is_child)
        return;
    left--;
    pid_t child = fork();
    is_child = child == 0;
    if (is_child)
        left = FORKED_CALLS;
    else
        expect_child(child);
}

static void fork_often(void)
{
    require(pipe2(files, O_NONBLOCK) == 0);
    left = FORKS;
    every_us(1371, divide);
    for (struct pollfd ready = {.fd = files[1], .events = POLLOUT},
                       idle = {.fd = files[0], .events = POLLIN};
         left > 0;) {
        for (int i = 0; i < 3; i++)
            (void)poll(&ready, 1, 10);
        (void)poll(&idle, 1, 1);
        move_byte();
        if (is_child && --left == 0)
            _exit(0);
    }
}

/* ---- cancel --------------------------------------------------------------------------------- */

static sem_t free_one;

static void *take_for_ever(void *unused)
{
    for (;;) {
        sem_wait(&free_one);
        sem_post(&free_one);
    }
    return unused;
}

static void cancel(void)
{
    pthread_t thread;
    void *result;
    alarm(20);
    require(sem_init(&free_one, 0, 1) == 0 &&
            pthread_create(&thread, NULL, take_for_ever, NULL) == 0);
    usleep(10000);
    require(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    require(result == PTHREAD_CANCELED);
}

/* ---- end ------------------------------------------------------------------------------------- */

static void *spin(void *unused)
{
    for (volatile int on = 1; on;)
        ;
    return unused;
}

static void end_by(const char *way)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"kill", SIGKILL}, {"term", SIGTERM}, {"abort", SIGABRT}};
    pthread_t thread;
    require(pthread_create(&thread, NULL, spin, NULL) == 0);
    usleep(200000);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (strcmp(way, signals[i].name) == 0)
            kill(getpid(), signals[i].number);
    if (strcmp(way, "quick") == 0)
        quick_exit(3);
    if (strcmp(way, "_exit") == 0)
        _exit(3);
    exit(3);
}

/* ---- unseen ---------------------------------------------------------------------------------- */

/* As a runtime that makes its system calls itself: libgomp, Go. */
static void futex_by_itself(int *word)
{
    const struct timespec while_ = {.tv_nsec = 400000000};
#if defined __x86_64__
    long result;
    register long timeout __asm__("r10") = (long)&while_;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_futex), "D"(word), "S"(FUTEX_WAIT_PRIVATE), "d"(0), "r"(timeout)
                     : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long call __asm__("x8") = SYS_futex, first __asm__("x0") = (long)word;
    register long operation __asm__("x1") = FUTEX_WAIT_PRIVATE, value __asm__("x2") = 0;
    register long timeout __asm__("x3") = (long)&while_;
    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(call), "r"(operation), "r"(value), "r"(timeout)
                     : "memory");
#else
#error "how is a system call made here?"
#endif
}

static void *wait_unseen(void *word)
{
    futex_by_itself(word);
    return NULL;
}

static void be_unseen(void)
{
    static int word;
    pthread_t thread;
    require(pthread_create(&thread, NULL, wait_unseen, &word) == 0);
    require(pthread_join(thread, NULL) == 0);
}

/* ---- locked ---------------------------------------------------------------------------------- */

static pthread_mutex_t shared_locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *lock_shared(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&shared_locks[i]);
        pthread_mutex_unlock(&shared_locks[i]);
    }
    return NULL;
}

static void hold_locks(void)
{
    pthread_t thread;
    pthread_mutex_lock(&shared_locks[0]);
    pthread_mutex_lock(&shared_locks[1]);
    require(pthread_create(&thread, NULL, lock_shared, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        usleep(300000);
        pthread_mutex_unlock(&shared_locks[i]);
    }
    require(pthread_join(thread, NULL) == 0);
}

/* ---- titled ---------------------------------------------------------------------------------- */

/* Writes over its arguments, as servers do, waits, and is killed, alone or with a thread. */
static void be_titled(char *arguments, bool is_alone)
{
    pthread_t thread;
    require(is_alone || pthread_create(&thread, NULL, spin, NULL) == 0);
    for (int i = 0; i < 30; i++) {
        if (i == 15)
            strcpy(arguments, "lone: working");
        usleep(100000);
    }
    kill(getpid(), SIGKILL);
}

int main(int argument_count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"alone", be_alone},   {"clone", clone_alone}, {"jump", jump},
                {"fork", fork_often},  {"cancel", cancel},     {"unseen", be_unseen},
                {"locked", hold_locks}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (argument_count == 2 && strcmp(arguments[1], ways[i].name) == 0) {
            ways[i].run();
            return 0;
        }
    if (argument_count == 3 && strcmp(arguments[1], "end") == 0)
        end_by(arguments[2]);
    if (argument_count == 3 && strcmp(arguments[1], "titled") == 0)
        be_titled(arguments[0], strcmp(arguments[2], "alone") == 0);
    return 2;
}
