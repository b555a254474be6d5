/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS_MAX 1000000
#define PAGE 4096

bool with_fault;
const char *folder;

static int64_t took_ns[CALLS_MAX], delays_ns[CALLS_MAX];
static atomic_uint calls;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void spin_by(clockid_t clock, int64_t ns)
{
    for (const int64_t end = clock_ns(clock) + ns; clock_ns(clock) < end;)
        ;
}

void spin_ns(int64_t ns)
{
    spin_by(CLOCK_MONOTONIC, ns);
}

void spin_cpu_ns(int64_t ns)
{
    spin_by(CLOCK_THREAD_CPUTIME_ID, ns);
}

void sleep_until(int64_t at_ns)
{
    const struct timespec at = {at_ns / 1000000000, at_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
        ;
}

void sleep_ns(int64_t ns)
{
    sleep_until(now_ns() + ns);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Of the calling thread, since it was made. */
static int64_t delay_ns(void)
{
    static _Thread_local int fd = -1;
    char text[96] = "";
    uint64_t ran, delay = 0;
    if (fd < 0)
        fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (syscall(SYS_pread64, fd, text, sizeof text - 1, 0L, 0L) > 0 && /* not recorded as a read */
        sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &delay) != 2)
        delay = 0;
    return (int64_t)delay;
}

struct begun measure_begin(void)
{
    const int64_t since = now_ns(); /* before the kernel is asked, and at the end after it */
    return (struct begun){since, delay_ns()};
}

void measure_end(struct begun begun, int64_t since_ns)
{
    const unsigned at = atomic_fetch_add(&calls, 1);
    if (at >= CALLS_MAX)
        abort();
    delays_ns[at] = delay_ns() - begun.delay_ns;
    took_ns[at] = now_ns() - since_ns;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/*
 * excess: of the calls that are longer than the median by a sixth of a stall, so that what a
 * machine does to some of them hardly counts; noise: of all, beyond 0.25 ms; runnable: of the slow
 * ones.
 */
static void print_truth(const struct mode *mode)
{
    const unsigned count = calls;
    int64_t *sorted = malloc((count + 1) * sizeof *sorted);
    int64_t excess = 0, noise = 0, runnable = 0, runnable_all = 0;
    unsigned slow = 0;
    memcpy(sorted, took_ns, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    const int64_t median = count ? sorted[count / 2] : 0;
    for (unsigned i = 0; i < count; i++) {
        const int64_t beyond = took_ns[i] - median;
        runnable_all += delays_ns[i];
        noise += beyond > MS / 4 ? beyond : 0;
        if (beyond > mode->fault_ns / 6) {
            slow++;
            excess += beyond;
            runnable += delays_ns[i];
        }
    }
    printf("{\"mode\": \"%s\", \"cause\": \"%s\", \"call\": \"%s\", \"by\": \"%s\", "
           "\"stall_ns\": %" PRId64 ", \"period_ns\": %" PRId64
           ", \"calls\": %u, \"median_ns\": %" PRId64 ", \"slow\": %u, \"excess_ns\": %" PRId64
           ", \"noise_ns\": %" PRId64 ", \"runnable_ns\": %" PRId64
           ", \"runnable_all_ns\": %" PRId64 ", \"is_runnable\": %s}\n",
           mode->name, mode->cause, mode->call, mode->by, mode->fault_ns, mode->period_ns, count,
           median, slow, excess, noise, runnable, runnable_all, mode->runnable ? "true" : "false");
    free(sorted);
}

const int64_t stops_ns[] = {90 * MS, 280 * MS, 430 * MS, 600 * MS, 0};

/* A child that stops all of this process now and then. */
static void stopper_start(void)
{
    const pid_t all = getpid();
    const int64_t begin_ns = now_ns();
    if (fork() != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int64_t *at_ns = stops_ns; *at_ns != 0; at_ns++) {
        sleep_until(begin_ns + *at_ns);
        kill(all, SIGSTOP);
        sleep_ns(60 * MS);
        kill(all, SIGCONT);
    }
    _exit(0);
}

const struct mode *measure_mode(const struct mode *modes, int argc, char **argv)
{
    for (; argc == 4 && modes->name; modes++)
        if (strcmp(modes->name, argv[1]) == 0) {
            with_fault = strcmp(argv[2], "with") == 0;
            folder = argv[3];
            prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a fault is a page, not two megabytes */
            if (modes->stops && with_fault)
                stopper_start();
            return modes;
        }
    fprintf(stderr, "usage: %s MODE with|without FOLDER\n", argv[0]);
    return NULL;
}

void measure_run(const struct mode *mode)
{
    mode->run();
    print_truth(mode);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct pages pages_mapped(int64_t bytes, int flags, int fd)
{
    struct pages pages = {NULL, bytes};
    pages.at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (pages.at == MAP_FAILED)
        abort();
    pages_touch(pages);
    return pages;
}

struct pages pages_new(int64_t bytes)
{
    return pages_mapped(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int open_here(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        abort();
    unlink(path);
    return fd;
}

struct pages pages_of_file(int64_t bytes)
{
    const int fd = open_here("pages");
    if (ftruncate(fd, bytes) != 0)
        abort();
    return pages_mapped(bytes, MAP_SHARED, fd);
}

void pages_touch(struct pages pages)
{
    for (int64_t at = 0; at < pages.bytes; at += PAGE)
        *(volatile char *)&pages.at[at] = 1;
}

void pages_fault(struct pages pages, int64_t ns)
{
    for (const int64_t end = cpu_ns() + ns; cpu_ns() < end;) {
        madvise(pages.at, (size_t)pages.bytes, MADV_DONTNEED);
        pages_touch(pages);
    }
}

/* ---- processors and files -------------------------------------------------------------------- */

void pin(void)
{
    cpu_set_t set, one;
    sched_getaffinity(0, sizeof set, &set);
    CPU_ZERO(&one);
    for (size_t cpu = CPU_SETSIZE; cpu-- > 0;)
        if (CPU_ISSET(cpu, &set)) {
            CPU_SET(cpu, &one);
            break;
        }
    sched_setaffinity(0, sizeof one, &one);
}

void compute(unsigned number)
{
    if (number == 1)
        pin();
    spin_cpu_ns(2 * MS);
}

void file_sync(struct file file)
{
    if (fsync(file.fd) != 0)
        abort();
}

struct file file_new(void)
{
    struct file file = {open_here("data"), 8 << 20};
    for (int i = 0; i < 3; i++) { /* the first has the file's blocks to find, too */
        file_write(file, true);
        const int64_t begin_ns = now_ns();
        if (syscall(SYS_fsync, file.fd) != 0) /* not one that is recorded */
            abort();
        if (now_ns() - begin_ns < 80 * MS && file.bytes < 128 << 20)
            file.bytes *= 2;
    }
    return file;
}

void file_write(struct file file, bool much)
{
    static char bytes[1 << 20];
    memset(bytes, (int)now_ns(), sizeof bytes);
    for (int64_t at = 0; at < (much ? file.bytes : PAGE); at += much ? (int64_t)sizeof bytes : PAGE)
        if (pwrite(file.fd, bytes, much ? sizeof bytes : PAGE, at) < 0)
            abort();
}
