/* SPDX-License-Identifier: Apache-2.0 */
#include "stall.h"

#include "clock.h"
#include "drain.h"
#include "known_tables.h"
#include "recording.h"
#include "record_extend.h"
#include "session_config.h"
#include "stall_proc.h"
#include "stall_stack.h"
#include "stray_rows.h"
#include "tables.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- names of system calls that may block, as this machine numbers them ---------------------- */

/* clang-format off */
#define CALL(name) {SYS_##name, #name}

static const struct {
    long number;
    char name[20];
} system_calls[] = {
    CALL(futex), CALL(read), CALL(readv), CALL(pread64), CALL(preadv), CALL(write), CALL(writev),
    CALL(pwrite64), CALL(pwritev), CALL(recvfrom), CALL(recvmsg), CALL(recvmmsg), CALL(sendto),
    CALL(sendmsg), CALL(sendmmsg), CALL(accept), CALL(accept4), CALL(connect), CALL(ppoll),
    CALL(pselect6), CALL(epoll_pwait), CALL(nanosleep), CALL(clock_nanosleep), CALL(wait4),
    CALL(waitid), CALL(fsync), CALL(fdatasync), CALL(sync), CALL(syncfs), CALL(msync),
    CALL(sync_file_range), CALL(openat), CALL(close), CALL(fallocate), CALL(ftruncate),
    CALL(unlinkat), CALL(mkdirat), CALL(getdents64), CALL(fcntl), CALL(ioctl), CALL(flock),
    CALL(splice), CALL(tee), CALL(vmsplice), CALL(sendfile), CALL(io_getevents), CALL(semtimedop),
    CALL(semop), CALL(msgrcv), CALL(msgsnd), CALL(mq_timedreceive), CALL(mq_timedsend),
    CALL(rt_sigtimedwait), CALL(rt_sigsuspend), CALL(mmap), CALL(munmap), CALL(mprotect),
    CALL(madvise), CALL(mremap), CALL(brk), CALL(execve), CALL(clone), CALL(exit_group),
    CALL(sched_yield), CALL(restart_syscall),
/* Of some machines, or of some years. */
#ifdef SYS_copy_file_range
    CALL(copy_file_range),
#endif
#ifdef SYS_epoll_pwait2
    CALL(epoll_pwait2),
#endif
#ifdef SYS_io_uring_enter
    CALL(io_uring_enter),
#endif
#ifdef SYS_open
    CALL(open),
#endif
#ifdef SYS_poll
    CALL(poll),
#endif
#ifdef SYS_select
    CALL(select),
#endif
#ifdef SYS_epoll_wait
    CALL(epoll_wait),
#endif
#ifdef SYS_pause
    CALL(pause),
#endif
};
/* clang-format on */
enum { SYSTEM_CALLS_NAMED = sizeof system_calls / sizeof system_calls[0] };

/* Makes room for their names. False: no memory. */
static bool system_calls_prepare(void)
{
    return tables_make_name_room(SYSTEM_CALLS_NAMED);
}

/* The number of its name in the file; 0: it is none of them. Allocates nothing. */
static uint64_t system_call_name(int64_t system_call)
{
    uint64_t number = 0;
    size_t i = 0;
    while (i < SYSTEM_CALLS_NAMED && system_calls[i].number != system_call)
        i++;
    if (i == SYSTEM_CALLS_NAMED)
        return 0;
    char *text = (char *)system_calls[i].name; /* NOLINT: nobody writes it */
    return tables_name_that_stays(&text, strlen(text), &number) == RBWP_OK ? number : 0;
}

#define LOOKS_MAX 64u        /* threads that are due, at a time */
#define EVERY_NS_MIN 1000000 /* between two looks */
#define EVERY_NS_MAX 25000000
#define EVERY_PART 4          /* of the limit */
#define COST_PART 100         /* of the time goes into looks at most, */
#define COST_NS_MAX 100000000 /* but so much of what was not needed before is theirs, too */
#define CODE_NS 10000000      /* so long known mappings are good for answers and objects */
#define OBJECT_BITS 16        /* what has no more is a descriptor or a process, no address */
#define ANSWER_NS 1000000     /* between two looks at what has been answered */

static const struct rbwp_schema open_schema = KNOWN_SCHEMA(open_call);
static const struct rbwp_schema word_schema = KNOWN_SCHEMA(stack_word);
static const struct rbwp_schema code_schema = KNOWN_SCHEMA(code_file);
static const struct rbwp_schema python_schema = KNOWN_SCHEMA(python_frame);
static unsigned open_table;

/* Set before the first session. */
static rbwp_extend_wait_fn *stall_wait_of;
static uint64_t waits_limit_ns;

/* The session's, set before the writer looks. */
static bool takes_stacks;
static uint64_t limit_ticks;
static int64_t every_ns, next_ns;
static int64_t left_ns, left_at_ns; /* that looks may cost, and when it was so much */

/* What is due, and what was found of it. */
static struct due {
    struct opened opened;
    uint64_t os_id, ticks, object, holder;
    struct thread_state state;
} dues[LOOKS_MAX];
static struct code_stack stacks[LOOKS_MAX];
static int64_t code_ns; /* when the mappings were looked through; 0: they are not known */
static struct stack_copy read_copy;
static uint64_t missed; /* rows that there was no time or room for */

void rbwp_extend_show_waits(rbwp_extend_wait_fn *wait_of, uint64_t limit_ns)
{
    stall_wait_of = wait_of;
    waits_limit_ns = limit_ns;
}

void rbwp_extend_show_wait(const void *waiter)
{
    struct thread *thread = rbwp_self_.thread;
    if (thread)
        atomic_store_explicit(&thread->waiter, waiter, memory_order_relaxed);
}

/* ---- a look ---------------------------------------------------------------------------------- */

/* How many there are in dues. Recording threads never wait for this one: it leaves where they would
 * be kept out. */
static unsigned find_due(void)
{
    unsigned count = 0;
    struct opened opened;
    if (!thread_registry_try_lock())
        return 0;
    const bool records = recording_now && __atomic_load_n(&rbwp_level_, __ATOMIC_RELAXED) >= 1;
    for (struct thread *thread = records ? thread_registry_first() : NULL; thread;
         thread = thread->next) {
        const uint64_t since = opened_find(thread, &opened) ? opened.since_ticks : 0;
        const uint64_t ticks = rbwp_now_ticks();
        if (open_seen_is_due(&thread->seen, since, ticks, limit_ticks, count < LOOKS_MAX, &missed))
            dues[count++] = (struct due){.opened = opened, .os_id = thread->os_id, .ticks = ticks};
    }
    thread_registry_unlock();
    return count;
}

/* Where the stacks of all of them are. Of a thread that runs: its own has its thread-local
 * variables, or it is the main thread's. */
static void find_stacks(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        stacks[i].address = !dues[i].state.runs                   ? dues[i].state.stack
                            : dues[i].os_id == (uint64_t)getpid() ? 0
                                                                  : dues[i].opened.self;
    code_ns = code_load(stacks, count) ? clock_now_ns(0) : 0;
    if (code_ns == 0)
        memset(stacks, 0, sizeof stacks);
}

/* The stack of a thread that is blocked, into read_copy. */
static bool read_stack(const struct due *due, const struct code_stack *where)
{
    read_copy.opened = due->opened;
    read_copy.os_id = due->os_id;
    read_copy.ticks = due->ticks;
    read_copy.where = *where;
    return stack_read_blocked(&read_copy, &due->state);
}

static void find_holder(struct due *due)
{
    due->object = due->opened.wait.object;
    if (due->opened.item)
        due->object = holder_futex(&due->state, &due->holder);
    else
        due->holder = holder_of(due->opened.wait.lock, due->object);
    if (opened_goes_on(&due->opened))
        return;
    due->state = (struct thread_state){.system_call = -1};
    due->holder = 0;
    due->object = due->opened.wait.object;
}

static void write_open(const struct due *due)
{
    const uint64_t cells[COLUMNS_open_call] = {
        [AT_open_call_time] = due->ticks,
        [AT_open_call_thread] = due->opened.thread_id,
        [AT_open_call_since] = due->opened.since_ticks,
        [AT_open_call_kind] = due->opened.wait.kind,
        [AT_open_call_object] = due->object,
        [AT_open_call_holder] = due->holder,
        [AT_open_call_system_call] = (uint64_t)(due->state.system_call + 1),
        [AT_open_call_system_call_name] = system_call_name(due->state.system_call),
    };
    stray_rows_add(open_table, cells);
}

/* Rows are written by this thread alone, but for threads that are not attached: where these are at
 * it, it does not wait for them. */
static bool begin_rows(void)
{
    if (!stray_rows_begin())
        return false;
    if (missed)
        stray_rows_lose(missed);
    missed = 0;
    return true;
}

/* The mappings, unless it is long ago that they were looked through. */
static bool knows_code(void)
{
    const int64_t now_ns = clock_now_ns(0);
    if (now_ns - code_ns > CODE_NS)
        code_ns = code_load(NULL, 0) ? now_ns : 0;
    return code_ns != 0;
}

static void write_due(struct due *due, const struct code_stack *where)
{
    const bool has_stack = takes_stacks && read_stack(due, where);
    find_holder(due);
    const bool is_address = due->object >> OBJECT_BITS && knows_code();
    if (!begin_rows()) {
        missed++;
        return;
    }
    write_open(due);
    if (is_address && !code_say_below(due->object))
        missed++;
    if (has_stack)
        stack_write(&read_copy);
    stray_rows_end();
    if (takes_stacks && due->state.runs && signal_is_ours())
        missed += !signal_want(&due->opened, due->ticks, due->os_id, where);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void write_answer(const struct stack_copy *copy)
{
    if (!knows_code() || !opened_goes_on(&copy->opened) || !begin_rows())
        return;
    stack_write(copy);
    stray_rows_end();
}

/* ---- the writer thread's --------------------------------------------------------------------- */

static void stall_look(void)
{
    const unsigned count = find_due();
    for (unsigned i = 0; i < count; i++)
        dues[i].state = proc_thread_state(dues[i].os_id);
    if (count && takes_stacks)
        find_stacks(count);
    for (unsigned i = 0; i < count; i++)
        write_due(&dues[i], &stacks[i]);
}

/* A look at who is due costs little; what is done of those is paid for later, if there are many. */
static int64_t next_look(int64_t now_ns)
{
    left_ns += (now_ns - left_at_ns) / COST_PART;
    left_ns = left_ns < COST_NS_MAX ? left_ns : COST_NS_MAX;
    left_at_ns = now_ns;
    const int64_t rest_ns = left_ns < 0 ? -left_ns * COST_PART : 0;
    return now_ns + (rest_ns > every_ns ? rest_ns : every_ns);
}

/* In how many ns again. */
static int64_t stall_visit(void)
{
    const int64_t now_ns = clock_now_ns(0);
    const bool is_asked = takes_stacks && signal_awaits(), is_time = now_ns >= next_ns;
    if (is_asked || is_time) {
        const int64_t before_ns = clock_thread_ran_ns(0);
        if (is_asked)
            signal_each_answer(write_answer);
        if (is_time)
            stall_look();
        left_ns -= clock_thread_ran_ns(0) - before_ns;
    }
    if (is_time)
        next_ns = next_look(now_ns);
    const int64_t until_ns = next_ns - clock_now_ns(0);
    if (takes_stacks && signal_awaits() && until_ns > ANSWER_NS)
        return ANSWER_NS;
    return until_ns > 0 ? until_ns : 1;
}

static bool prepare_tables(struct drain *drain)
{
    uint64_t call_name;
    unsigned tables[4];
    if (rbwp_extend_row_register(&open_schema, &tables[0]) != RBWP_OK ||
        rbwp_extend_row_register(&word_schema, &tables[1]) != RBWP_OK ||
        rbwp_extend_row_register(&code_schema, &tables[2]) != RBWP_OK ||
        rbwp_extend_row_register(&python_schema, &tables[3]) != RBWP_OK ||
        rbwp_name_intern("call", 4, &call_name) != RBWP_OK || !stray_rows_prepare(tables, 4) ||
        !drain_prepare_rows(drain) || !system_calls_prepare())
        return false;
    open_table = tables[0];
    opened_prepare(call_name, stall_wait_of);
    takes_stacks = code_prepare(tables[2]) && takes_stacks;
    stack_prepare(tables[1]);
    python_prepare(tables[3]);
    if (takes_stacks)
        signal_prepare();
    return true;
}

void stall_begin_session(const struct session_settings *settings, struct drain *drain)
{
    const int64_t limit_ns = settings->stacks_ns ? settings->stacks_ns : (int64_t)waits_limit_ns;
    takes_stacks = settings->stacks_ns > 0;
    if (limit_ns == 0 || settings->strict || !prepare_tables(drain))
        return;
    limit_ticks = rbwp_ticks_from_ns((uint64_t)limit_ns);
    every_ns = limit_ns / EVERY_PART;
    every_ns = every_ns < EVERY_NS_MIN   ? EVERY_NS_MIN
               : every_ns > EVERY_NS_MAX ? EVERY_NS_MAX
                                         : every_ns;
    next_ns = left_at_ns = clock_now_ns(0);
    left_ns = COST_NS_MAX;
    code_ns = 0;
    missed = 0;
    drain_set_visit(drain, stall_visit);
}
