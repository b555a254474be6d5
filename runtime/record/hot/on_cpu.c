/* SPDX-License-Identifier: Apache-2.0 */
#include "on_cpu.h"

#include "clock.h"
#include "known_tables.h"
#include "in_process.h"
#include "record_extend.h"
#include "recording.h"
#include "rows.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Such calls are asked in any case: page faults do not clear the word. */
#define LONG_NS 100000u
/* So long an answer is good where threads wait (rbwp_extend_ask_seldom). */
#define SELDOM_NS 1000000u
/* An end that is recorded so long after its time: the thread may have waited since. In less a host
 * takes nothing that counts. */
#define LATE_NS 10000u
/* Of a call: the time before it in which the thread may have run or waited may be no more. */
#define KNOWN_PART 5u
#define TRY_TRIES 8 /* of a wait that shall switch the thread out */
#define ASK_TRIES 4 /* of a begin whose thread was switched out while it asked */
/* Between two readings of one clock, the first of which is of the last tick. */
#define SAME_NS 20000000
#define SUM_NS 1000000000u /* a row of a thread's sum is due */
#define FILES_PART 8       /* of the descriptors that the process may have, for threads' counters */

enum on_cpu_state { UNSET, WATCHED, NOT_KNOWN };

static const struct rbwp_schema call_schema = KNOWN_SCHEMA(call_cpu);
static const struct rbwp_schema thread_schema = KNOWN_SCHEMA(thread_cpu);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_tables; /* on_cpu_prepare */

static bool word_tells; /* on_cpu_is_known */
static bool seldom;     /* rbwp_extend_ask_seldom */

/* ---- the word ----------------------------------------------------------------------------- */

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#if defined(__x86_64__)
#define SIGNATURE 0x53053053u
#else
#define SIGNATURE 0xd428bc00u
#endif
/* A critical section that no thread is ever in, for it is no code. The kernel looks for the
 * signature before its abort address, behind each switch: all of it is one cache line. */
static const struct section {
    uint32_t version, flags;
    const char *start;
    uint64_t bytes;
    const char *abort;
    uint32_t signature;
    char aborts, starts;
} section __attribute__((aligned(64))) = {
    .start = &section.starts, .bytes = 1, .abort = &section.aborts, .signature = SIGNATURE};

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* As the kernel's struct rseq begins. */
struct rseq_area {
    uint32_t cpu_id_start, cpu_id;
    uint64_t rseq_cs;
};

/* NULL: this thread has none. */
static struct rseq_area *rseq_area(void)
{
    char *thread_pointer;
    if (!&__rseq_size || __rseq_size == 0)
        return NULL;
#if defined(__x86_64__)
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
#else
    __asm__("mrs %0, tpidr_el0" : "=r"(thread_pointer));
#endif
    struct rseq_area *area = (struct rseq_area *)(thread_pointer + __rseq_offset);
    return (int32_t)area->cpu_id >= 0 ? area : NULL;
}
#define ARMED ((uint64_t)(uintptr_t)&section)

#else

struct rseq_area {
    uint32_t cpu_id;
    uint64_t rseq_cs;
};
static struct rseq_area *rseq_area(void)
{
    return NULL;
}
#define ARMED UINT64_C(1)

#endif

static uint64_t look(const struct rseq_area *area)
{
    return __atomic_load_n(&area->rseq_cs, __ATOMIC_RELAXED);
}

/*
 * Kernels up to 6.18 clear the word behind any switch. Later ones may do it only where an interrupt
 * took the thread out of its own code, and not where it waited in a system call: then a call of
 * which the word was not cleared may have waited, and nothing is known. So it is tried.
 */
static void try_word(void)
{
    struct rseq_area *area = rseq_area();
    struct rusage before, after;
    for (int tries = 0; area && tries < TRY_TRIES && look(area) == 0; tries++) {
        if (getrusage(RUSAGE_THREAD, &before) != 0)
            break; /* a sandbox does not let it: nothing could be known */
        __atomic_store_n(&area->rseq_cs, ARMED, __ATOMIC_RELAXED);
        nanosleep(&(struct timespec){0, INT64_C(1) << 3 * tries}, NULL);
        const bool cleared = look(area) == 0;
        (void)getrusage(RUSAGE_THREAD, &after);
        if (!cleared)
            __atomic_store_n(&area->rseq_cs, (uint64_t)0, __ATOMIC_RELAXED);
        word_tells = cleared;
        if (after.ru_nivcsw == before.ru_nivcsw && after.ru_nvcsw != before.ru_nvcsw)
            return; /* it has waited, and nothing else that clears the word */
    }
    word_tells = false;
}

bool on_cpu_is_known(void)
{
    static pthread_once_t tried = PTHREAD_ONCE_INIT;
    int host_errno = errno;
    pthread_once(&tried, try_word);
    errno = host_errno;
    return word_tells;
}

/* ---- what inlined calls look at ----------------------------------------------------------------
 */

/* rbwp_has_stayed_ looks at any time. */
static void sit(struct rbwp_self_ *self, const uint64_t *seat, uint64_t seated, uint64_t long_ticks)
{
    __atomic_store_n(&self->seat, seat, __ATOMIC_RELAXED);
    __atomic_store_n(&self->seated, seated, __ATOMIC_RELAXED);
    self->long_ticks = long_ticks;
}

/* Nothing is asked as long as the session runs. */
static void look_away(struct rbwp_self_ *self)
{
    sit(self, &rbwp_seat_none_, 0, UINT64_MAX);
}

/* ---- the kernel's counters ------------------------------------------------------------------- */

/* The next number of a text; -1: there is none. */
static int64_t number_at(const char **text)
{
    int64_t number = 0;
    const char *at = *text;
    while (*at == ' ')
        at++;
    if (*at < '0' || *at > '9')
        return -1;
    for (; *at >= '0' && *at <= '9' && number < INT64_MAX / 10 - 9; at++)
        number = number * 10 + (*at - '0');
    *text = at;
    return number;
}

/* Descriptors of the kernel's counters, of all threads: the program is to find its own. */
static _Atomic int files;

static void close_counters(struct on_cpu *on)
{
    if (atomic_load(&on->counters.fd) < 0)
        return;
    (void)held_close(&on->counters);
    on->counters = HELD_NONE;
    atomic_fetch_sub(&files, 1);
}

static bool open_counters(struct on_cpu *on)
{
    struct rlimit limit;
    close_counters(on);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        (rlim_t)atomic_fetch_add(&files, 1) >= limit.rlim_cur / FILES_PART) {
        atomic_fetch_sub(&files, 1);
        return false;
    }
    held_take(&on->counters, open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    if (atomic_load(&on->counters.fd) < 0)
        atomic_fetch_sub(&files, 1);
    return atomic_load(&on->counters.fd) >= 0;
}

/* The time that the thread was ready to run and had no CPU, and what it has run. False: the kernel
 * does not say. Not by pread, which is a cancellation point. */
static bool read_counters(struct on_cpu *on, int64_t *ran_out, int64_t *runnable_out)
{
    char text[96];
    const ssize_t bytes =
        syscall(SYS_pread64, atomic_load(&on->counters.fd), text, sizeof text - 1, INT64_C(0));
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    const char *at = text;
    *ran_out = number_at(&at);
    *runnable_out = number_at(&at);
    on->stretches = number_at(&at);
    return true;
}

/* The file says what the clock says of the same time, else its descriptor was closed by the program
 * and leads elsewhere now. */
static bool are_counters_ours(const struct on_cpu *on, int64_t file_ns)
{
    const int64_t ahead_ns = on->now.ran_ns - file_ns;
    return on->now.runnable_ns >= 0 && ahead_ns > -SAME_NS && ahead_ns < SAME_NS;
}

/* What leads elsewhere is opened once more. */
static void check_counters(struct on_cpu *on, int64_t file_ns)
{
    if (on->no_counters || are_counters_ours(on, file_ns))
        return;
    const int host_cancel = cancel_hold();
    on->no_counters = !open_counters(on) || !read_counters(on, &file_ns, &on->now.runnable_ns);
    if (on->no_counters) {
        close_counters(on);
        on->now.runnable_ns = -1;
    }
    cancel_release(host_cancel);
}

/*
 * A thread is switched out best at the end of a system call, so the time that it was ready to run
 * is asked first; a switch behind that is taken off the counts, and what it took, as far as the
 * shortest asking shows, is away_ns. False: a sandbox refuses to ask.
 */
static bool ask(struct on_cpu *on, const struct rseq_area *area)
{
    struct on_cpu_counts *now = &on->now;
    struct timespec ran = {0};
    struct rusage usage = {0};
    int64_t file_ns = 0;
    const uint64_t began = rbwp_now_ticks();
    now->runnable_ns = -1;
    on->stretches = INT64_MAX;
    if (!on->no_counters)
        (void)read_counters(on, &file_ns, &now->runnable_ns);
    const bool cut = look(area) != ARMED;
    const bool said =
        getrusage(RUSAGE_THREAD, &usage) == 0 && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran) == 0;
    now->ticks = rbwp_now_ticks();
    now->ran_ns = ran.tv_sec * INT64_C(1000000000) + ran.tv_nsec;
    now->voluntary = (uint64_t)usage.ru_nvcsw;
    now->involuntary = (uint64_t)usage.ru_nivcsw -
                       (cut && usage.ru_nvcsw + usage.ru_nivcsw >= on->stretches); /* no signal */
    now->minor = usage.ru_minflt;
    now->major = usage.ru_majflt;
    now->cpu = area->cpu_id;
    const uint64_t took = now->ticks - began;
    on->least_ticks = on->least_ticks && on->least_ticks < took ? on->least_ticks : took;
    now->away_ns = look(area) == ARMED ? 0 : (int64_t)clock_ns_from_ticks(took - on->least_ticks);
    check_counters(on, file_ns);
    return said;
}

/*
 * Of a thread that was not switched out since it was asked last: it was not in the queue either,
 * so what remains is its faults, and the time that a host took, unless that was just now. A switch
 * meanwhile comes behind the call; the next begin asks.
 */
static bool ask_rest(struct on_cpu *on, const struct rseq_area *area)
{
    struct on_cpu_counts *now = &on->now;
    struct timespec ran;
    struct rusage usage;
    const uint64_t began = rbwp_now_ticks();
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return false;
    now->minor = usage.ru_minflt;
    now->major = usage.ru_majflt;
    if (began - now->ticks < on->late_ticks)
        return true;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran) != 0)
        return false;
    now->ticks = rbwp_now_ticks();
    now->ran_ns = ran.tv_sec * INT64_C(1000000000) + ran.tv_nsec;
    const uint64_t took = now->ticks - began;
    const bool away = look(area) != ARMED && took > on->least_ticks;
    now->away_ns = away ? (int64_t)clock_ns_from_ticks(took - on->least_ticks) : 0;
    return true;
}

/* Sets the word, then asks. The program's errno stays as it is. */
static bool settle(struct on_cpu *on, struct rseq_area *area)
{
    const int host_errno = errno;
    const bool stayed =
        on->state == WATCHED && on->armed_ticks == on->now.ticks && look(area) == ARMED;
    if (!stayed)
        __atomic_store_n(&area->rseq_cs, ARMED, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const bool said = stayed ? ask_rest(on, area) : ask(on, area);
    on->armed_ticks = on->now.ticks;
    errno = host_errno;
    return said;
}

/* ---- rows -------------------------------------------------------------------------------------
 */

static bool say_thread(uint64_t thread_id, uint64_t ticks, bool known, uint64_t since_ticks,
                       int64_t ran_ns)
{
    const uint64_t cells[COLUMNS_thread_cpu] = {[AT_thread_cpu_time] = ticks,
                                                [AT_thread_cpu_thread] = thread_id,
                                                [AT_thread_cpu_known] = known,
                                                [AT_thread_cpu_since] = since_ticks,
                                                [AT_thread_cpu_ran] = (uint64_t)ran_ns};
    return rows_add_shared(SHARED_THREAD_CPU, cells);
}

/* thread_id 0: of all threads. */
static bool say_known(uint64_t thread_id, uint64_t ticks, bool known)
{
    return say_thread(thread_id, ticks, known, ticks, -1);
}

/* Where there was no room for a row, nothing is known from then on until the next one: said as soon
 * as there is. */
static bool is_all_said(struct thread *thread)
{
    struct on_cpu *on = &thread->on_cpu;
    if (on->unsaid_ticks && say_known(thread->thread_id, on->unsaid_ticks, false))
        on->unsaid_ticks = 0;
    return on->unsaid_ticks == 0;
}

static void add_row(struct thread *thread, const uint64_t *cells)
{
    if (is_all_said(thread) && !rows_add_shared(SHARED_CALL_CPU, cells))
        thread->on_cpu.unsaid_ticks = cells[AT_call_cpu_start];
}

/* How long the thread ran since the last such row; where there was no room for one, the next has
 * both. ran_ns: by its clock. */
static void sum_up(struct thread *thread, uint64_t ticks, int64_t ran_ns, bool ends)
{
    struct on_cpu *on = &thread->on_cpu;
    const uint64_t since = on->summed_ticks;
    const bool is_due = since && (ends || clock_ns_from_ticks(ticks - since) >= SUM_NS);
    const bool is_said =
        is_due && ran_ns >= on->summed_ns && is_all_said(thread) &&
        say_thread(thread->thread_id, ticks, on->state == WATCHED, since, ran_ns - on->summed_ns);
    if (is_said || !since) {
        on->summed_ticks = ticks;
        on->summed_ns = ran_ns;
    }
}

static void give_up(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks)
{
    thread->on_cpu.state = NOT_KNOWN;
    look_away(self);
    if (is_all_said(thread))
        thread->on_cpu.unsaid_ticks = ticks;
    (void)is_all_said(thread);
}

/* Faults since before: of this call, if it was asked when that began, or if there are none. */
static uint64_t faults(bool asked, int64_t before, int64_t now)
{
    return now == before || asked ? (uint64_t)(now - before) : UINT64_MAX;
}

struct call {
    unsigned slot;
    uint64_t begin_ticks, end_ticks;
    bool asked; /* when it began */
    /* Before it, since the kernel was asked, and behind it: the thread may have waited so long. 0:
     * all switches since then are the call's. */
    uint64_t unsure_ticks;
    uint64_t late_ticks; /* of it behind the call, in a wait */
};

/* How the call's time is split. Between before and begin, and from the end to now, the thread ran,
 * but for a part of which that is not known, and the wait behind the call. */
static void split_call(const struct on_cpu *on, const struct call *call, int64_t length_ns,
                       int64_t *running_out, int64_t *runnable_out)
{
    const struct on_cpu_counts *a = &on->before, *b = &on->now;
    const uint64_t away_ticks = (call->unsure_ticks + call->late_ticks) / 2;
    const int64_t around =
        (int64_t)clock_ns_from_ticks(b->ticks - a->ticks - away_ticks) - length_ns - b->away_ns;
    const int64_t ran = b->ran_ns - a->ran_ns - (around > 0 ? around : 0);
    const bool is_queue_known = a->runnable_ns >= 0 && b->runnable_ns >= 0;
    const int64_t running = ran < 0 ? 0 : ran < length_ns ? ran : length_ns;
    int64_t runnable = is_queue_known ? b->runnable_ns - a->runnable_ns : -1;
    if (is_queue_known)
        runnable = runnable < 0 ? 0 : runnable < length_ns ? runnable : length_ns;
    /* It never waited, or not for so long: what a host took from a guest is in the rest, too. */
    if (b->voluntary == a->voluntary || (is_queue_known && running > length_ns - runnable))
        runnable = length_ns - running;
    *running_out = running;
    *runnable_out = runnable;
}

/* Times and CPUs; switches and faults are left as not known. */
static void fill_row(uint64_t *cells, const struct thread *thread, const struct call *call)
{
    const struct on_cpu *on = &thread->on_cpu;
    const uint64_t length = call->end_ticks - call->begin_ticks;
    int64_t running = -1, runnable = -1;
    if (call->unsure_ticks == 0 || call->unsure_ticks < length / KNOWN_PART)
        split_call(on, call, (int64_t)clock_ns_from_ticks(length), &running, &runnable);
    for (unsigned i = 0; i < COLUMNS_call_cpu; i++)
        cells[i] = UINT64_MAX;
    cells[AT_call_cpu_start] = call->begin_ticks;
    cells[AT_call_cpu_stop] = call->end_ticks;
    cells[AT_call_cpu_thread] = thread->thread_id;
    cells[AT_call_cpu_slot] = call->slot;
    cells[AT_call_cpu_running] = (uint64_t)running;
    cells[AT_call_cpu_runnable] = (uint64_t)runnable;
    cells[AT_call_cpu_cpu_begin] = on->before.cpu;
    cells[AT_call_cpu_cpu_end] = on->now.cpu;
}

static void add_call(struct thread *thread, const struct call *call)
{
    const struct on_cpu_counts *a = &thread->on_cpu.before, *b = &thread->on_cpu.now;
    uint64_t cells[COLUMNS_call_cpu];
    fill_row(cells, thread, call);
    if (call->unsure_ticks == 0) {
        cells[AT_call_cpu_voluntary] = b->voluntary - a->voluntary;
        cells[AT_call_cpu_involuntary] = b->involuntary - a->involuntary;
    }
    cells[AT_call_cpu_minor_faults] = faults(call->asked, a->minor, b->minor);
    cells[AT_call_cpu_major_faults] = faults(call->asked, a->major, b->major);
    add_row(thread, cells);
}

/* The kernel's counters of another thread, which is in no recording call. */
static bool ask_for(struct thread *thread)
{
    struct on_cpu *on = &thread->on_cpu;
    int64_t file_ns = 0;
    on->before = on->now;
    on->now.runnable_ns = -1;
    on->now.ticks = rbwp_now_ticks();
    if (!on->no_counters)
        (void)read_counters(on, &file_ns, &on->now.runnable_ns);
    on->now.ran_ns = clock_thread_ran_ns(thread->os_id);
    if (on->now.ran_ns < 0)
        return false;
    on->now.away_ns = 0;
    on->now.voluntary++;                 /* it may have waited */
    if (!are_counters_ours(on, file_ns)) /* only the thread itself could open them again */
        on->now.runnable_ns = -1;
    return true;
}

/* ---- calls -------------------------------------------------------------------------------------
 */

/* The thread's first call in the session that is looked at. */
static void watch(struct on_cpu *on)
{
    on->state = WATCHED;
    on->good_ticks = rbwp_ticks_from_ns(SELDOM_NS);
    on->late_ticks = rbwp_ticks_from_ns(LATE_NS);
    on->long_ticks = seldom ? UINT64_MAX : rbwp_ticks_from_ns(LONG_NS);
}

static void look_at_begin(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks)
{
    struct on_cpu *on = &thread->on_cpu;
    struct rseq_area *area = rseq_area();
    const uint64_t word = area ? look(area) : 0;
    if (!area || (word != 0 && word != ARMED)) {
        give_up(self, thread, ticks == RBWP_NOT_READ_ ? rbwp_now_ticks() : ticks);
        return;
    }
    /* A call that begins where the last one ended has what happened since. */
    if (on->state == WATCHED && self->seated == ARMED && on->now.ticks >= ticks)
        return;
    for (int tries = 0; tries == 0 || (look(area) == 0 && tries < ASK_TRIES); tries++)
        if (!settle(on, area)) {
            give_up(self, thread, rbwp_now_ticks());
            return;
        }
    if (!recording_now->said_cpu &&
        !atomic_exchange_explicit(&recording_now->said_cpu, true, memory_order_relaxed) &&
        !say_known(0, recording_now->began_ticks, true)) {
        recording_now->began_ticks = rbwp_now_ticks(); /* of calls before there is nothing */
        recording_now->said_cpu = false;
    }
    if (on->state != WATCHED)
        watch(on);
    sit(self, &area->rseq_cs, ARMED, on->long_ticks);
    on->asked_at = self->next;
    sum_up(thread, on->now.ticks, on->now.ran_ns, false);
}

void rbwp_extend_ask_cpu(uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    if (rbwp_has_stayed_(self) || self->item || thread->nest.lost_item)
        return;
    if (recording_is_there() && recording_now->asks_cpu)
        look_at_begin(self, thread, ticks);
    else
        look_away(self);
}

void rbwp_ask_cpu_(uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    /* Who asks counts it. */
    const bool refused = __atomic_load_n(&self->in_call, __ATOMIC_RELAXED) != 0;
    if (!self->thread || refused || !rbwp_enter_(self, 1))
        return;
    rbwp_extend_ask_cpu(ticks);
    rbwp_leave_(self);
}

/* Another thread ends it. The word says nothing: of a thread that has not come back from its wait
 * it is as it was. */
static void end_for(struct rbwp_self_ *self, struct thread *thread, struct call call)
{
    uint64_t cells[COLUMNS_call_cpu];
    if (self->seated == 0)
        return; /* nothing is asked */
    if (!ask_for(thread))
        call.unsure_ticks = UINT64_MAX;
    fill_row(cells, thread, &call);
    add_row(thread, cells);
}

/* Where begins do not always ask, and an end may be put behind the wait that came after it. */
static void find_unsure(const struct on_cpu *on, struct call *call)
{
    const uint64_t late = rbwp_now_ticks() - call->end_ticks;
    call->late_ticks = late < on->late_ticks ? 0 : late;
    call->unsure_ticks = (call->asked ? 0 : on->armed_ticks - on->now.ticks) + call->late_ticks;
}

void on_cpu_end(struct rbwp_self_ *self, struct thread *thread, const uint64_t *item, unsigned slot,
                uint64_t begin_ticks, uint64_t end_ticks)
{
    struct on_cpu *on = &thread->on_cpu;
    const bool asked = item == on->asked_at;
    struct call call = {slot, begin_ticks, end_ticks, asked, 0, 0};
    if (on->state != WATCHED || on->ran_to_ticks == end_ticks)
        return;
    if (seldom)
        find_unsure(on, &call);
    if (self != &rbwp_self_) {
        end_for(self, thread, call);
        return;
    }
    struct rseq_area *area = rseq_area();
    const uint64_t word = look(area);
    const bool is_long = end_ticks - begin_ticks >= self->long_ticks;
    on->before = on->now;
    if ((word != 0 && word != ARMED) || ((word == 0 || is_long) && !settle(on, area))) {
        give_up(self, thread, begin_ticks);
    } else if (word == 0 || is_long) {
        const bool moved = call.unsure_ticks || on->now.voluntary + on->now.involuntary !=
                                                    on->before.voluntary + on->before.involuntary;
        if (moved || is_long)
            add_call(thread, &call);
        sum_up(thread, on->now.ticks, on->now.ran_ns, false);
        if (is_long) /* the next begin asks, so that its faults are its own */
            self->seated = SEATED_ASK;
    }
}

bool rbwp_extend_stays(uint64_t ticks)
{
    const struct rbwp_self_ *self = &rbwp_self_;
    struct on_cpu *on = &((struct thread *)self->thread)->on_cpu;
    if (rbwp_has_stayed_(self))
        return true;
    if (on->state != WATCHED || self->seated != ARMED || ticks - on->now.ticks >= on->good_ticks)
        return false;
    uint64_t none = 0;
    if (!__atomic_compare_exchange_n((uint64_t *)(uintptr_t)self->seat, &none, ARMED, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return false;
    on->armed_ticks = ticks;
    return true;
}

bool rbwp_extend_ran(void)
{
    const struct rbwp_self_ *self = &rbwp_self_;
    return rbwp_has_stayed_(self) && self->seated == ARMED;
}

void rbwp_extend_ran_to(uint64_t ticks)
{
    struct thread *thread = rbwp_self_.thread;
    thread->on_cpu.ran_to_ticks = ticks;
}

void rbwp_extend_ask_seldom(void)
{
    seldom = true;
}

void on_cpu_stop(struct rbwp_self_ *self, struct thread *thread)
{
    if (thread->on_cpu.summed_ticks)
        sum_up(thread, rbwp_now_ticks(), clock_thread_ran_ns(thread->os_id), true);
    thread->on_cpu.summed_ticks = 0;
    if (!is_all_said(thread) && recording_now->said_cpu)
        thread_lose(thread, RBWP_LOSS_ROWS, 1, thread->on_cpu.unsaid_ticks);
    thread->on_cpu.unsaid_ticks = 0;
    thread->on_cpu.state = UNSET;
    close_counters(&thread->on_cpu);
    sit(self, &rbwp_seat_none_, SEATED_ASK, UINT64_MAX);
}

static void on_cpu_make_tables(void)
{
    unsigned calls, threads;
    if (rbwp_extend_row_register(&call_schema, &calls) != RBWP_OK ||
        rbwp_extend_row_register(&thread_schema, &threads) != RBWP_OK)
        return;
    rows_share(SHARED_CALL_CPU, calls);
    rows_share(SHARED_THREAD_CPU, threads);
    have_tables = true;
}

/* Before the registry forgets the parent's threads: the child has their descriptors, too. */
static void on_cpu_forget_in_child(void)
{
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next) {
        close_counters(&thread->on_cpu);
        thread->on_cpu = (struct on_cpu){.counters = HELD_NONE};
    }
}

ON_FORK(8, NULL, NULL, on_cpu_forget_in_child)

bool on_cpu_prepare(void)
{
    pthread_once(&once, on_cpu_make_tables);
    return have_tables;
}

void on_cpu_attach(struct thread *thread)
{
    thread->on_cpu.counters = HELD_NONE;
}

void on_cpu_detach(struct thread *thread)
{
    close_counters(&thread->on_cpu);
}
