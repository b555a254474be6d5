/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of signals leave a mark and wake the thread: whatever there is to do takes locks. */
#include "inject_control.h"
#include "inject_say.h"
#include "inject_session.h"

#include "held.h"
#include "quiet_thread.h"
#include "record_extend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 1000, DESCRIPTORS_FROM = 700 };

static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
enum { ENDS = sizeof ends / sizeof ends[0] };

static struct held woken = {.fd = -1}, waker = {.fd = -1}; /* a pipe */
static _Atomic int ended_by;      /* the signal that shall end the program */
static atomic_uint toggles;       /* signals that open or close the window */
static int toggle_signal;         /* 0: none */
static uint64_t after_ms, for_ms; /* 0: not told */
static _Atomic int64_t close_at_ms;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
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
        inject_say("RBWP_INJECT_SIGNAL: %s", strerror(errno));
        toggle_signal = 0;
    }
}

void inject_control_end(void)
{
    struct sigaction now;
    for (int i = 0; i < ENDS; i++)
        if (sigaction(ends[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == on_signal && !atomic_load(&ended_by))
            signal(ends[i], SIG_DFL);
}

void inject_control_forget(void)
{
    held_close(&woken);
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
        struct pollfd wakes = {.fd = held_is_ours(&woken) ? woken.fd : -1, .events = POLLIN};
        if (poll(&wakes, 1, wait_ms(open_at_ms)) > 0 && held_is_ours(&woken))
            (void)!read(woken.fd, bytes, sizeof bytes);
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
        inject_session_flush();
    }
}

/* ---- beginning ------------------------------------------------------------------------------ */

static uint64_t number_of(const char *variable)
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
    held_take(&woken, pair[0]);
    held_take(&waker, pair[1]);
}

bool inject_control_start(void)
{
    pthread_t thread;
    after_ms = number_of("RBWP_INJECT_AFTER_MS");
    for_ms = number_of("RBWP_INJECT_FOR_MS");
    toggle_signal = (int)number_of("RBWP_INJECT_SIGNAL");
    atomic_store(&close_at_ms, 0);
    make_pipe();
    if (quiet_thread_start(&thread, "rbwp-inject", control, NULL) != 0) {
        inject_control_forget();
        return !after_ms && !toggle_signal && !inject_window_range();
    }
    pthread_detach(thread);
    take_signals();
    return !after_ms && !toggle_signal && !inject_window_range();
}

void inject_control_opened(void)
{
    if (for_ms && !atomic_load(&close_at_ms))
        atomic_store(&close_at_ms, now_ms() + (int64_t)for_ms);
    if (for_ms && held_is_ours(&waker))
        (void)!write(waker.fd, "", 1);
}
