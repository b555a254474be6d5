/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ompt.c - OpenMP's tool interface: parallel regions, explicit tasks, waits.
 *
 *     OMP_TOOL_LIBRARIES=librbwp-ompt.so program
 *
 * A thread's part in a region (its implicit task) is a call of the region, by the code that has it.
 * In it explicit tasks and waits are sub-items, and so are regions inside of regions. A tied task
 * that waits runs others in its wait, so that these nest. Of an untied task each piece counts.
 *
 * Critical sections and locks are reported whether they were free or not: those that took less than
 * a microsecond are not recorded.
 *
 * The runtime keeps a word of ours with each region and task: its name. The initial thread's task
 * outside of regions has none.
 */
#include "collect.h"
#include "ompt_abi.h"

#include "rbwp_record.h"

#include <stdio.h>

/* Those of the interface, which not every function needs. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define WHAT "OpenMP"

static const struct collect_name *any_region, *any_task;

/* By OpenMP's numbers. */
static const char *const region_waits[] = {NULL,
                                           "barrier",
                                           "implicit barrier",
                                           "explicit barrier",
                                           "barrier of the runtime",
                                           "taskwait",
                                           "taskgroup",
                                           "reduction",
                                           "barrier after a loop",
                                           "barrier after a region",
                                           "barrier of teams"};
static const char *const mutex_waits[] = {NULL,        "lock",     "lock",   "nest lock",
                                          "nest lock", "critical", "atomic", "ordered"};
enum {
    REGION_WAITS = sizeof region_waits / sizeof *region_waits,
    MUTEX_WAITS = sizeof mutex_waits / sizeof *mutex_waits
};
static const struct collect_name *region_wait_names[REGION_WAITS], *mutex_wait_names[MUTEX_WAITS];
static _Thread_local uint64_t acquire_ticks RBWP_TLS_MODEL_;

static void on_thread_begin(int type, union ompt_data *thread)
{
    collect_attach("OpenMP thread %u");
}

static void on_thread_end(union ompt_data *thread)
{
    collect_detach();
}

static void on_parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel,
                              unsigned threads, int flags, const void *code)
{
    parallel->value = collect_region_new(collect_code(COLLECT_REGION, code, any_region));
}

static void on_parallel_end(union ompt_data *parallel, union ompt_data *task, int flags,
                            const void *code)
{
    collect_region_over(parallel->value);
}

/* A thread's part in a region. At its end the runtime may give another task, or none. */
static void on_implicit_task(int endpoint, union ompt_data *parallel, union ompt_data *task,
                             unsigned threads, unsigned index, int flags)
{
    if (flags & OMPT_TASK_INITIAL)
        return;
    if (endpoint == OMPT_BEGIN)
        collect_region_begin(parallel ? parallel->value : 0);
    else
        collect_end(COLLECT_REGION, NULL);
}

static void on_task_create(union ompt_data *task, const void *frame, union ompt_data *made,
                           int flags, int has_dependences, const void *code)
{
    if (flags & OMPT_TASK_EXPLICIT)
        made->pointer = (void *)(uintptr_t)collect_code(COLLECT_TASK, code, any_task);
}

/* before: has ended, or a piece of it, where next goes on that it had interrupted; else it waits
 * and has the thread run next meanwhile. */
static void on_task_schedule(union ompt_data *before, int status, union ompt_data *next)
{
    if ((status != OMPT_SWITCH && status != OMPT_YIELD) || !next || !next->pointer ||
        collect_is_open(next))
        collect_end(COLLECT_TASK, before);
    else
        collect_begin(next->pointer, next);
}

static void on_sync_region_wait(int kind, int endpoint, union ompt_data *parallel,
                                union ompt_data *task, const void *code)
{
    if (kind <= 0 || kind >= REGION_WAITS)
        return;
    if (endpoint == OMPT_BEGIN)
        collect_begin(region_wait_names[kind], region_waits[kind]);
    else if (endpoint == OMPT_END)
        collect_end(COLLECT_WAIT, region_waits[kind]);
}

static void on_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t object,
                             const void *code)
{
    acquire_ticks = rbwp_now_ticks();
}

static void on_mutex_acquired(int kind, uint64_t object, const void *code)
{
    if (kind > 0 && kind < MUTEX_WAITS)
        collect_waited(mutex_wait_names[kind], acquire_ticks);
}

static void register_waits(const char *const *texts, const struct collect_name **names, int count)
{
    for (int i = 1; i < count; i++)
        names[i] = collect_text(COLLECT_WAIT, texts[i], texts[i]);
}

static int ompt_begin(ompt_lookup lookup, int device, union ompt_data *tool)
{
    static const struct {
        int event;
        bool needed;
        ompt_function callback;
    } callbacks[] = {{OMPT_THREAD_BEGIN, true, (ompt_function)on_thread_begin},
                     {OMPT_THREAD_END, true, (ompt_function)on_thread_end},
                     {OMPT_PARALLEL_BEGIN, true, (ompt_function)on_parallel_begin},
                     {OMPT_PARALLEL_END, true, (ompt_function)on_parallel_end},
                     {OMPT_IMPLICIT_TASK, true, (ompt_function)on_implicit_task},
                     {OMPT_TASK_CREATE, true, (ompt_function)on_task_create},
                     {OMPT_TASK_SCHEDULE, true, (ompt_function)on_task_schedule},
                     {OMPT_SYNC_REGION_WAIT, false, (ompt_function)on_sync_region_wait},
                     {OMPT_MUTEX_ACQUIRE, false, (ompt_function)on_mutex_acquire},
                     {OMPT_MUTEX_ACQUIRED, false, (ompt_function)on_mutex_acquired}};
    ompt_set_callback set = (ompt_set_callback)lookup("ompt_set_callback");
    if (!collect_start(WHAT))
        return 0;
    for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++)
        if ((!set || set(callbacks[i].event, callbacks[i].callback) < OMPT_SOMETIMES) &&
            callbacks[i].needed) {
            collect_refuse(WHAT, "its runtime does not report regions and tasks");
            collect_stop();
            return 0;
        }
    any_region = collect_text(COLLECT_REGION, &any_region, "parallel region");
    any_task = collect_text(COLLECT_TASK, &any_task, "task");
    register_waits(region_waits, region_wait_names, REGION_WAITS);
    register_waits(mutex_waits, mutex_wait_names, MUTEX_WAITS);
    return 1;
}

static void ompt_end(union ompt_data *tool)
{
    collect_stop();
}

__attribute__((visibility("default"))) struct ompt_start_result *
ompt_start_tool(unsigned version, const char *runtime);
struct ompt_start_result *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct ompt_start_result result = {ompt_begin, ompt_end, {0}};
    char why[256];
    if (version >= OMPT_OLDEST && version <= OMPT_NEWEST)
        return &result;
    snprintf(why, sizeof why, "version %u of its tool interface (%.100s) is not known", version,
             runtime ? runtime : "");
    collect_refuse(WHAT, why);
    return NULL;
}
