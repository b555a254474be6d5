/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads come, have names, and go.
 *
 * What a new thread is to run waits for it in a place of a fixed table. Where that is full, the
 * thread runs without being recorded.
 */
#include "preload.h"
#include "quiet_thread.h"
#include "real.h"
#include "waiter.h"

#include <errno.h>
#include <string.h>

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
static void take_name(const struct start *start)
{
    char title[TITLE_BYTES];
    if (pthread_getname_np(pthread_self(), title, sizeof title) == 0 &&
        strncmp(title, start->maker_title, sizeof title) != 0)
        waiter_rename(pthread_self(), title);
}

static void leave(void *unused)
{
    (void)unused;
    wakes_tell((uint64_t)pthread_self(), WAKES_ALL); /* to who joins it */
    waiter_detach();
}

/* pthread_exit and cancellation unwind through here. */
static void *run(void *context)
{
    struct start start = *(const struct start *)context;
    void *result;
    waiter_attach(NULL, start.maker, start.ticks);
    take_name(&start);
    atomic_store(&((struct start *)context)->used, 0);
    pthread_cleanup_push(leave, NULL);
    result = start.run(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

SHOWN int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                         void *(*function)(void *), void *restrict argument)
{
    struct waiter *mine = waiter_mine;
    bool ours = mine && !atomic_load_explicit(&mine->busy, memory_order_relaxed) &&
                mine->kind != WAIT_NONE && !quiet_thread_starting;
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
    int error = REAL(pthread_create)(thread, attributes, run, start);
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

/* ---- the end of a thread
 * ------------------------------------------------------------------------- */

#define JOIN(thread, result, call)                                                                 \
    do {                                                                                           \
        int error = REAL(pthread_tryjoin_np)(thread, result);                                      \
        if (error != EBUSY)                                                                        \
            return error;                                                                          \
        struct wait wait WAIT_CLEANED;                                                             \
        wait_begin_woken(&wait, WAIT_JOIN, (const void *)(thread));                                \
        error = call;                                                                              \
        wait_end(&wait, error ? WAIT_FAILED : WAIT_WOKEN);                                         \
        return error;                                                                              \
    } while (0)

SHOWN int pthread_join(pthread_t thread, void **result)
{
    JOIN(thread, result, REAL(pthread_join)(thread, result));
}

SHOWN int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
    JOIN(thread, result, REAL(pthread_timedjoin_np)(thread, result, until));
}

#if __GLIBC_PREREQ(2, 31)
SHOWN int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                               const struct timespec *until)
{
    JOIN(thread, result, REAL(pthread_clockjoin_np)(thread, result, clock, until));
}
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
