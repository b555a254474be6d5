/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_threads - what calls that may block cost, for librbwp-threads.so.
 *
 *     bench_threads compare LIBRARY [SECONDS]                plain and recorded, in turns
 *     bench_threads                                          as they are
 *     LD_PRELOAD=librbwp-threads.so bench_threads            called through it
 *     RBWP_THREADS_FILE=FILE LD_PRELOAD=... bench_threads    and recorded
 *     bench_threads messages SECONDS                         four threads that pass messages
 *
 * Prints ns a call, the least of several rounds; messages: their rate, and CPU time for each, of
 * the whole process.
 *
 * compare runs four processes, two of each, which have the machine by turns of some ms: whatever
 * makes it slow for a while does so to all, and two that are alike differ by up to 2 % all the
 * time. Of messages all CPU time counts from the first turn on, the recorder's own threads with it,
 * and the time in between as well.
 */
#include "bench_figure.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, CALLS = 20000, SLOW_CALLS = 500 };
#define MORE_NS 30.0       /* that a call which may block may take more */
#define MORE_TIMES 1.58    /* two readings: 30 ns where they take 19 */
#define MESSAGE_RATIO 1.05 /* of CPU time */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int full[2];
static const struct timespec past;

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- calls that do not block
 * --------------------------------------------------------------------- */

#if defined(__x86_64__) || defined(__i386__)
#define HAS_COUNTER true
#else
#define HAS_COUNTER false
#endif

/* What recording cannot be cheaper than, where there is the counter. */
static void read_twice(void)
{
#if defined(__x86_64__) || defined(__i386__)
    static volatile unsigned long long between;
    between = __builtin_ia32_rdtsc();
    between = __builtin_ia32_rdtsc() - between;
#endif
}

static void lock_free(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void signal_nobody(void)
{
    pthread_cond_signal(&cond);
}

static void post_and_wait(void)
{
    sem_post(&semaphore);
    sem_wait(&semaphore);
}

static void semaphore_expired(void)
{
    (void)sem_timedwait(&semaphore, &past);
}

static void condition_expired(void)
{
    pthread_mutex_lock(&mutex);
    (void)pthread_cond_timedwait(&cond, &mutex, &past);
    pthread_mutex_unlock(&mutex);
}

static void poll_ready(void)
{
    struct pollfd file = {.fd = full[0], .events = POLLIN};
    (void)poll(&file, 1, -1);
}

static void read_and_write(void)
{
    char byte = 0;
    if (read(full[0], &byte, 1) != 1 || write(full[1], &byte, 1) != 1)
        exit(1);
}

/* The C library takes its locks another way where there is one thread. */
static void *be_there(void *unused)
{
    pause();
    return unused;
}

/* blocking: of these calls may block, and are measured each. timed: recording them reads the clock.
 */
static const struct call_kind {
    const char *name;
    void (*call)(void);
    int calls, blocking;
    bool timed;
} calls[] = {{"two readings of the time-stamp counter", read_twice, CALLS, 0, false},
             {"lock and unlock a free mutex", lock_free, CALLS, 1, false},
             {"signal a condition nobody waits for", signal_nobody, CALLS, 1, false},
             {"post and wait for a semaphore", post_and_wait, CALLS, 1, false},
             {"wait for a semaphore, time is over", semaphore_expired, SLOW_CALLS, 0, false},
             {"wait for a condition, time is over", condition_expired, SLOW_CALLS, 0, false},
             {"poll, ready", poll_ready, CALLS, 1, false},
             {"read and write a byte of a pipe", read_and_write, CALLS, 2, HAS_COUNTER}};
enum { READ_TWICE, CALL_KINDS = sizeof calls / sizeof calls[0] };

static double round_ns(const struct call_kind *kind)
{
    double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < kind->calls; i++)
        kind->call();
    return (seconds_of(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / kind->calls;
}

static double least_ns(const struct call_kind *kind)
{
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double ns = round_ns(kind);
        least = ns < least ? ns : least;
    }
    return least;
}

/* ---- messages
 * ------------------------------------------------------------------------------------- */

/* Four threads in a row, one message a time slot and thread. */
enum { THREADS = 4, RATE = 20000 };
#define SLOT_NS (1000000000L / RATE * THREADS)

static struct box {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    unsigned messages;
    int last;
} boxes[THREADS];
static pthread_t threads[THREADS];
static _Atomic long passed;

static void put(struct box *box, int last)
{
    pthread_mutex_lock(&box->lock);
    box->messages++;
    box->last |= last;
    pthread_cond_signal(&box->filled);
    pthread_mutex_unlock(&box->lock);
}

static int take(struct box *box)
{
    pthread_mutex_lock(&box->lock);
    while (box->messages == 0 && !box->last)
        pthread_cond_wait(&box->filled, &box->lock);
    int last = box->messages == 0;
    box->messages -= !last;
    pthread_mutex_unlock(&box->lock);
    return last;
}

static void *pass_on(void *context)
{
    struct box *mine = context, *next = mine + 1;
    int last = 0;
    while (!last) {
        last = take(mine);
        if (!last)
            passed++;
        if (next != boxes + THREADS)
            put(next, last);
    }
    return NULL;
}

static void start_threads(void)
{
    for (int i = 0; i < THREADS; i++) {
        pthread_mutex_init(&boxes[i].lock, NULL);
        pthread_cond_init(&boxes[i].filled, NULL);
        pthread_create(&threads[i], NULL, pass_on, &boxes[i]);
    }
}

static void pass_messages(long slots)
{
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long i = 0; i < slots; i++) {
        put(&boxes[0], 0);
        next.tv_nsec += SLOT_NS;
        next.tv_sec += next.tv_nsec / 1000000000L;
        next.tv_nsec %= 1000000000L;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}

static void measure_messages(double seconds)
{
    start_threads();
    pass_messages((long)(seconds * 1e9 / SLOT_NS));
    put(&boxes[0], 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld messages, %.3f us of CPU time each\n", passed,
           seconds_of(CLOCK_PROCESS_CPUTIME_ID) * 1e6 / (double)passed);
}

/* ---- in turns
 * ------------------------------------------------------------------------------------- */

enum { MESSAGES = CALL_KINDS, FROM_FD = 3, TO_FD = 4, TURN_SLOTS = 250 };

/* One of the two processes: does what it is asked for, and reports what that took. */
static int serve(void)
{
    long what;
    double before = 0;
    start_threads();
    while (read(FROM_FD, &what, sizeof what) == sizeof what) {
        double taken;
        if (what < MESSAGES) {
            taken = round_ns(&calls[what]);
        } else {
            long all = passed + (long)THREADS * TURN_SLOTS;
            pass_messages(TURN_SLOTS);
            while (passed < all)
                usleep(500);
            double now = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
            taken = now - before;
            before = now;
        }
        if (write(TO_FD, &taken, sizeof taken) != sizeof taken)
            return 1;
    }
    put(&boxes[0], 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

struct server {
    pid_t process;
    int to, from;
};

static struct server start_server(const char *library, const char *file)
{
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0)
        exit(1);
    struct server server = {.process = fork(), .to = to[1], .from = from[0]};
    if (server.process != 0) {
        close(to[0]);
        close(from[1]);
        return server;
    }
    /* Beyond where they go to, so that none is in another's way. */
    int in = fcntl(to[0], F_DUPFD, 100), out = fcntl(from[1], F_DUPFD, 100);
    for (int fd = 3; fd < 100; fd++)
        close(fd);
    dup2(in, FROM_FD);
    dup2(out, TO_FD);
    close(in);
    close(out);
    if (library) {
        setenv("LD_PRELOAD", library, 1);
        setenv("RBWP_THREADS_FILE", file, 1);
    }
    execl("/proc/self/exe", "bench_threads", "serve", (char *)NULL);
    _exit(127);
}

/* In the order in which they are started, which may matter. */
enum { SERVERS = 4 };
static bool is_recorded(int server)
{
    return server == 1 || server == 2;
}

static double ask(const struct server *server, long what)
{
    double taken;
    if (write(server->to, &what, sizeof what) != sizeof what ||
        read(server->from, &taken, sizeof taken) != sizeof taken) {
        fprintf(stderr, "bench_threads: a process is gone\n");
        exit(1);
    }
    return taken;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

enum { CALL_TURNS = 4 * ROUNDS };

static void compare_call(const struct server *servers, long what)
{
    static double plain[CALL_TURNS], more[CALL_TURNS], times[CALL_TURNS];
    for (int i = 0; i < CALL_TURNS; i++) {
        plain[i] = ask(&servers[0], what);
        more[i] = (ask(&servers[1], what) - plain[i]) / calls[what].blocking;
        times[i] = more[i] / ask(&servers[0], READ_TWICE);
    }
    char name[128], beside[160];
    snprintf(name, sizeof name, "%s, recorded, more each call", calls[what].name);
    snprintf(beside, sizeof beside, "%s, beside two bare reads", name);
    printf("%8.1f ns  %s\n", median(plain, CALL_TURNS), calls[what].name);
    figure_at_most(name, median(more, CALL_TURNS), "ns", MORE_NS);
    if (calls[what].timed)
        figure_at_most(beside, median(times, CALL_TURNS), "x", MORE_TIMES);
}

/* Sums of all turns: the recorder writes in some of them what others left. The ratios of parts say
 * how far they can be trusted. */
static void compare_messages(const struct server *servers, double seconds, const char *name)
{
    enum { PARTS = 10, FIRST = 10 };
    long turns = (long)(seconds * 1e9 / SLOT_NS) / TURN_SLOTS / SERVERS / PARTS;
    double all[2] = {0}, ratio[PARTS];
    for (int i = 0; i < SERVERS * FIRST; i++)
        (void)ask(&servers[i % SERVERS], MESSAGES);
    for (int part = 0; part < PARTS; part++) {
        double taken[2] = {0};
        for (long i = 0; i < SERVERS * turns; i++) {
            int who = (int)(i % SERVERS);
            who = i / SERVERS % 2 ? SERVERS - 1 - who : who; /* to and fro */
            taken[is_recorded(who)] += ask(&servers[who], MESSAGES);
        }
        ratio[part] = taken[1] / taken[0];
        all[0] += taken[0];
        all[1] += taken[1];
    }
    double middle = median(ratio, PARTS); /* sorts them */
    printf(
        "%8.2f us  CPU time of a message; recorded x %.3f, of ten parts of the time %.3f to %.3f\n",
        all[0] * 1e6 / (double)(2 * turns * PARTS * TURN_SLOTS * THREADS), all[1] / all[0],
        ratio[0], ratio[PARTS - 1]);
    figure_at_most(name, middle, "x", MESSAGE_RATIO);
}

/* On one CPU, or on all. */
static void start_all(struct server *servers, const char *library, const char *folder, bool one_cpu)
{
    char file[64];
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (size_t cpu = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; cpu--)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, one_cpu ? &one : &all);
    for (int i = 0; i < SERVERS; i++) {
        snprintf(file, sizeof file, "%s/%d", folder, i);
        servers[i] = start_server(is_recorded(i) ? library : NULL, file);
    }
    sched_setaffinity(0, sizeof all, &all);
}

static void stop_all(const struct server *servers, const char *folder)
{
    char file[64];
    for (int i = 0; i < SERVERS; i++) {
        close(servers[i].to);
        close(servers[i].from);
        waitpid(servers[i].process, NULL, 0);
        snprintf(file, sizeof file, "%s/%d", folder, i);
        unlink(file);
    }
}

static int compare(const char *library, double seconds)
{
    char folder[] = "/tmp/bench_threads-XXXXXX";
    struct server servers[SERVERS];
    if (!mkdtemp(folder))
        return 1;
    start_all(servers, library, folder, true);
    for (long what = 0; what < CALL_KINDS; what++)
        if (calls[what].blocking)
            compare_call(servers, what);
    compare_messages(servers, seconds / 2, "messages of four threads on one CPU, recorded");
    stop_all(servers, folder);
    start_all(servers, library, folder, false);
    compare_messages(servers, seconds / 2, "messages of four threads on all CPUs, recorded");
    stop_all(servers, folder);
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "messages") == 0) {
        measure_messages(atof(argv[2]));
        return 0;
    }
    if (argc >= 3 && strcmp(argv[1], "compare") == 0)
        return compare(argv[2], argc > 3 ? atof(argv[3]) : 20);
    pthread_t other;
    sem_init(&semaphore, 0, 0);
    if (pthread_create(&other, NULL, be_there, NULL) != 0)
        return 1;
    if (pipe(full) != 0 || write(full[1], "x", 1) != 1)
        return 1;
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        return serve();
    for (long i = 0; i < CALL_KINDS; i++)
        printf("%8.1f ns  %s\n", least_ns(&calls[i]), calls[i].name);
    return 0;
}
