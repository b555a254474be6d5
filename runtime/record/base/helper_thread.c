/* SPDX-License-Identifier: Apache-2.0 */
#include "helper_thread.h"

#include "in_process.h"
#include "read_clock.h"
#include "test_point.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <link.h>
#endif
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REST_NS 50000 /* what a wake-up takes comes on top */
#define URGENT_SLICE_NS 100000
#define LOOK_NS 10000000
#define WAITED_NS_MIN 100000 /* between two looks */

_Thread_local bool helper_thread_starting;

/* ---- held back ------------------------------------------------------------------------------ */

enum { HELD_MAX = 4 };

static struct held {
    pthread_t *thread_out; /* NULL: free */
    const char *name;
    void *(*run)(void *);
    void *argument;
} held[HELD_MAX];
static bool holds; /* this process and its children, until they have threads */
static atomic_bool are_held;

static struct held *find_held(const pthread_t *thread_out)
{
    for (int i = 0; i < HELD_MAX; i++)
        if (held[i].thread_out == thread_out)
            return &held[i];
    return NULL;
}

void helper_threads_hold(void)
{
    holds = true;
    atomic_store(&are_held, true);
}

bool helper_threads_are_held(void)
{
    return atomic_load_explicit(&are_held, memory_order_relaxed);
}

/* One that cannot begin stays where it is: whoever ends it does its work. */
void helper_threads_begin(void)
{
    if (!atomic_exchange(&are_held, false))
        return;
    for (int i = 0; i < HELD_MAX; i++) {
        struct held *one = &held[i];
        if (one->thread_out &&
            helper_thread_start(one->thread_out, one->name, one->run, one->argument) == 0)
            one->thread_out = NULL;
    }
}

bool helper_thread_call_off(const pthread_t *thread)
{
    struct held *one = find_held(thread);
    if (one)
        one->thread_out = NULL;
    return one != NULL;
}

static void hold_in_child(void)
{
    for (int i = 0; i < HELD_MAX; i++)
        held[i].thread_out = NULL;
    atomic_store(&are_held, holds);
}

ON_FORK(3, NULL, NULL, hold_in_child)

/* ---- start ---------------------------------------------------------------------------------- */

int helper_thread_start(pthread_t *thread_out, const char *name, void *(*run)(void *),
                        void *argument)
{
    struct held *place = helper_threads_are_held() ? find_held(NULL) : NULL;
    if (place) {
        *place = (struct held){thread_out, name, run, argument};
        return 0;
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    helper_thread_starting = true;
    int error = pthread_create(thread_out, NULL, run, argument);
    helper_thread_starting = false;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error == 0)
        pthread_setname_np(*thread_out, name);
    return error;
}

void helper_thread_rank(enum quiet_rank rank)
{
    struct quiet_scheduling now = {0};
    if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0 ||
        (now.policy != SCHED_OTHER && now.policy != SCHED_BATCH))
        return;
    now.size = sizeof now;
    now.policy = rank == QUIET_GIVES_WAY ? SCHED_BATCH : SCHED_OTHER;
    now.slice_ns = rank == QUIET_URGENT ? URGENT_SLICE_NS : 0; /* 0: the usual one */
    syscall(SYS_sched_setattr, 0, &now, 0);
}

void helper_thread_rest(void)
{
    static const struct timespec moment = {0, REST_NS};
    nanosleep(&moment, NULL);
}

/* How long the calling thread was ready and did not run; what was known where the kernel does not
 * say. The file is opened anew: who closes descriptors that are not his closes none of ours. */
static uint64_t delay_ns(uint64_t known_ns)
{
    char text[80];
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    unsigned long long delay;
    return sscanf(text, "%*u %llu", &delay) == 1 ? delay : known_ns;
}

static void let_others_run(struct yield_hook *yield_hook)
{
    struct helper_pace *pace = (struct helper_pace *)(void *)yield_hook;
    const int64_t now = read_clock_ns(CLOCK_MONOTONIC);
    if (now - pace->looked_ns >= LOOK_NS) {
        const uint64_t delay = delay_ns(pace->delay_ns);
        pace->is_shared = delay - pace->delay_ns >= WAITED_NS_MIN;
        pace->delay_ns = delay;
        pace->looked_ns = now;
    }
    if (now - pace->rested_ns < pace->work_ns_max)
        return;
    TEST_POINT("quiet: lets others run");
    if (pace->is_shared)
        helper_thread_rest();
    else
        sched_yield(); /* who waits here now goes first; nobody: no time is lost */
    pace->rested_ns = read_clock_ns(CLOCK_MONOTONIC);
}

void quiet_pace_start(struct helper_pace *pace, int64_t work_ns_max)
{
    const int64_t now = read_clock_ns(CLOCK_MONOTONIC);
    *pace = (struct helper_pace){.yield_hook.run = let_others_run,
                                 .work_ns_max = work_ns_max,
                                 .rested_ns = now,
                                 .looked_ns = now,
                                 .delay_ns = delay_ns(0)};
}

/* ---- sleep ----------------------------------------------------------------------------------- */

/* As the call takes it, whatever the C library makes of struct timespec on 32 bits. */
struct kernel_timespec {
    long seconds, ns;
};

void wakeup_call(struct wakeup *wakeup)
{
    int host_errno = errno;
    if (atomic_exchange_explicit(&wakeup->called, 1, memory_order_release) == 0)
        syscall(SYS_futex, &wakeup->called, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = host_errno;
}

static bool was_called(struct wakeup *wakeup)
{
    return atomic_exchange_explicit(&wakeup->called, 0, memory_order_acquire) != 0;
}

bool wakeup_wait(struct wakeup *wakeup, int64_t ns)
{
    const struct kernel_timespec most = {(long)(ns / 1000000000), (long)(ns % 1000000000)};
    if (was_called(wakeup))
        return true;
    long result = syscall(SYS_futex, &wakeup->called, FUTEX_WAIT_PRIVATE, 0, &most, NULL, 0);
    bool over = result != 0 && errno == ETIMEDOUT;
    return was_called(wakeup) || !over;
}

/* ---- staying loaded -------------------------------------------------------------------------- */

#ifdef __GLIBC__
void stay_loaded(void)
{
    static const char here;
    Dl_info info;
    struct link_map *object;
    /* The name by which it is loaded is found without a look at any file. A program has none. */
    if (dladdr1(&here, &info, (void **)&object, RTLD_DL_LINKMAP) != 0 && object->l_name[0])
        (void)dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
#else /* musl unloads nothing */
void stay_loaded(void) {}
#endif
