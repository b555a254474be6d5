/* SPDX-License-Identifier: Apache-2.0 */
#include "stall_stack.h"

#include "clock.h"
#include "stall_proc.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define SIGNAL SIGURG
#define PLACES 16u
#define RAN_NS 2000000       /* who has run for so long since it was seen last is not in a wait */
#define ANSWER_NS 1000000000 /* a thread that has no CPU for so long is given up */

/* The state of a place: number of the question << 3, and how far it is. The number tells the place,
 * and a late answer to an earlier question finds another state. */
enum { PLACE_FREE, PLACE_KEPT, PLACE_ASKED, PLACE_BUSY, PLACE_DONE };
#define STATE(question, how_far) ((uint32_t)(question) << 3 | (how_far))
static struct place {
    _Atomic uint32_t state;
    uint64_t waits; /* how often it had waited, and run, when it was seen first */
    int64_t ran_ns, begun_ns;
    struct stack_copy copy;
} places[PLACES];
static uint32_t questions;
static bool is_ours;

static unsigned how_far(const struct place *place)
{
    return atomic_load_explicit(&place->state, memory_order_acquire) % 8;
}

/* ---- the signal ------------------------------------------------------------------------------ */

#if defined(__x86_64__)
#define REGISTER(context, code_out, stack_out, frame_out)                                          \
    (code_out = (uint64_t)(context)->uc_mcontext.gregs[REG_RIP],                                   \
     stack_out = (uint64_t)(context)->uc_mcontext.gregs[REG_RSP],                                  \
     frame_out = (uint64_t)(context)->uc_mcontext.gregs[REG_RBP])
#elif defined(__aarch64__)
#define REGISTER(context, code_out, stack_out, frame_out)                                          \
    (code_out = (context)->uc_mcontext.pc, stack_out = (context)->uc_mcontext.sp,                  \
     frame_out = (context)->uc_mcontext.regs[29])
#endif

#ifdef REGISTER

/* Sanitizers know of places in a stack that are in no variable. */
__attribute__((no_sanitize("address", "thread"), noinline)) static void
copy_words(struct stack_copy *copy)
{
    const volatile uint64_t *from = (const uint64_t *)(uintptr_t)copy->stack; /* NOLINT */
    const uint64_t left = (copy->where.end - copy->stack) / sizeof *from;
    const uint32_t count = left < STACK_WORDS_MAX ? (uint32_t)left : STACK_WORDS_MAX;
    for (uint32_t i = 0; i < count; i++)
        copy->words[i] = from[i];
    copy->count = count;
}

/* Loads and stores, no system call: the thread may be one that has given up the right to make any.
 * Of a stack that is not the thread's own (an alternative one, a coroutine's) nothing is copied. */
static void stall_on_signal(int number, siginfo_t *info, void *given)
{
    const ucontext_t *context = given;
    const uint32_t question = (uint32_t)info->si_value.sival_int;
    struct place *place = &places[question % PLACES];
    uint32_t asked = STATE(question, PLACE_ASKED);
    (void)number;
    if (info->si_code != SI_QUEUE ||
        !atomic_compare_exchange_strong_explicit(&place->state, &asked, STATE(question, PLACE_BUSY),
                                                 memory_order_acquire, memory_order_relaxed))
        return; /* somebody else's, or it was given up */
    struct stack_copy *copy = &place->copy;
    REGISTER(context, copy->code, copy->stack, copy->frame);
    copy->count = 0;
    if (copy->stack % sizeof(uint64_t) == 0 && copy->stack >= copy->where.start &&
        copy->stack < copy->where.end)
        copy_words(copy);
    atomic_store_explicit(&place->state, STATE(question, PLACE_DONE), memory_order_release);
}

static bool has_handler(void)
{
    struct sigaction now;
    return sigaction(SIGNAL, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
           now.sa_sigaction == stall_on_signal;
}

/* It stays for good: an answer may be on its way. */
static bool take_signal(void)
{
    struct sigaction ours = {.sa_sigaction = stall_on_signal,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    struct sigaction now;
    sigfillset(&ours.sa_mask);
    return has_handler() || (sigaction(SIGNAL, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
                             now.sa_handler == SIG_DFL && sigaction(SIGNAL, &ours, NULL) == 0);
}

#else

static bool has_handler(void)
{
    return false;
}
static bool take_signal(void)
{
    return false;
}

#endif

void signal_prepare(void)
{
    is_ours = take_signal();
    for (unsigned i = 0; i < PLACES; i++) /* what was asked in an earlier session */
        atomic_store_explicit(&places[i].state, PLACE_FREE, memory_order_relaxed);
}

bool signal_is_ours(void)
{
    is_ours = is_ours && has_handler();
    return is_ours;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* False: the thread holds the signal off, or nothing is known of it. */
static bool see(struct place *place)
{
    bool is_held;
    place->ran_ns = clock_thread_ran_ns(place->copy.os_id);
    return place->ran_ns >= 0 &&
           proc_thread_status(place->copy.os_id, SIGNAL, &place->waits, &is_held) && !is_held;
}

/* The one that is the thread's already, else a free one; NULL: there is none. */
static struct place *find_place(uint64_t os_id)
{
    struct place *free = NULL;
    for (struct place *place = places; place < places + PLACES; place++) {
        const bool is_free = how_far(place) == PLACE_FREE;
        if (!is_free && place->copy.os_id == os_id)
            return place;
        free = is_free ? place : free;
    }
    return free;
}

bool signal_want(const struct opened *opened, uint64_t ticks, uint64_t os_id,
                 const struct code_stack *where)
{
    struct place *place = find_place(os_id);
    const unsigned state = place ? how_far(place) : PLACE_FREE;
    if (state == PLACE_KEPT && place->copy.opened.since_ticks == opened->since_ticks)
        place->copy.ticks = ticks; /* it is this look's stack that will be taken */
    if (!place || (state != PLACE_FREE && (state != PLACE_KEPT || place->copy.ticks == ticks)))
        return place != NULL;
    place->copy.os_id = os_id;
    place->begun_ns = clock_now_ns(0);
    place->copy.opened = *opened;
    place->copy.ticks = ticks;
    place->copy.where = *where;
    atomic_store_explicit(&place->state, see(place) ? PLACE_KEPT : PLACE_FREE,
                          memory_order_relaxed);
    return true;
}

static void ask(struct place *place)
{
    const uint32_t question =
        (questions++ & (UINT32_MAX >> 8)) * PLACES + (uint32_t)(place - places);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_value.sival_int = (int)question;
    place->copy.is_asked = true;
    atomic_store_explicit(&place->state, STATE(question, PLACE_ASKED), memory_order_release);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)place->copy.os_id, SIGNAL, &info) != 0)
        atomic_store_explicit(&place->state, PLACE_FREE, memory_order_relaxed);
}

/* Some calls fail with EINTR where a signal comes, whatever its handler says of restarting. So none
 * is sent to a thread that waits, which is read from outside, nor to one that has been woken and
 * has no CPU yet, but only to one that has run for a while without a wait, and does. */
static void ask_if_it_runs(struct place *place)
{
    const struct place before = {.waits = place->waits, .ran_ns = place->ran_ns};
    const bool is_there = signal_is_ours() && opened_goes_on(&place->copy.opened) && see(place);
    const struct thread_state state = proc_thread_state(place->copy.os_id);
    if (!is_there)
        atomic_store_explicit(&place->state, PLACE_FREE, memory_order_relaxed);
    else if (stack_read_blocked(&place->copy, &state))
        atomic_store_explicit(&place->state, PLACE_DONE, memory_order_relaxed);
    else if (place->waits == before.waits && place->ran_ns - before.ran_ns < RAN_NS)
        place->ran_ns = before.ran_ns;
    else if (place->waits == before.waits && state.runs)
        ask(place);
}

bool signal_awaits(void)
{
    unsigned free = 0;
    while (free < PLACES && how_far(&places[free]) == PLACE_FREE)
        free++;
    return free < PLACES;
}

void signal_each_answer(void (*each)(const struct stack_copy *copy))
{
    const int64_t now_ns = clock_now_ns(0);
    for (struct place *place = places; place < places + PLACES; place++) {
        uint32_t state = atomic_load_explicit(&place->state, memory_order_acquire);
        const bool is_over = now_ns - place->begun_ns > ANSWER_NS;
        if (state % 8 == PLACE_DONE) {
            if (place->copy.is_asked)
                python_read(&place->copy);
            each(&place->copy);
            atomic_store_explicit(&place->state, PLACE_FREE, memory_order_release);
        } else if (is_over && (state % 8 == PLACE_KEPT || state % 8 == PLACE_ASKED)) {
            (void)atomic_compare_exchange_strong_explicit(
                &place->state, &state, PLACE_FREE, memory_order_relaxed, memory_order_relaxed);
        } else if (state % 8 == PLACE_KEPT) {
            ask_if_it_runs(place);
        }
    }
}
