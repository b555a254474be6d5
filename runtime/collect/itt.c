/* SPDX-License-Identifier: Apache-2.0 */
/*
 * itt.c - Intel's interface for collectors: oneTBB's tasks, and the tasks that a program marks.
 *
 *     INTEL_LIBITTNOTIFY64=librbwp-itt.so program
 *
 * Each part of a program that is linked with ITT (the program, libtbb) hands over its table of
 * functions, and gets ours. oneTBB reports what its threads execute as entries into the stack of
 * who made it, without a name.
 */
#include "collect.h"
#include "itt_abi.h"

#include "rbwp_record.h"

#include <stdatomic.h>
#include <string.h>

/* Those of the interface, which not every function needs. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define WHAT "ITT"

static const struct collect_name *tbb_task;

static void itt_begin(const struct collect_name *name, const void *what)
{
    collect_attach("thread %u");
    collect_begin(name, what);
}

static void on_task_begin(const void *domain, struct itt_id task, struct itt_id parent,
                          const struct itt_string *name)
{
    itt_begin(name && name->text ? collect_text(COLLECT_CALL, name, name->text) : NULL, domain);
}

static void on_task_begin_function(const void *domain, struct itt_id task, struct itt_id parent,
                                   const void *function)
{
    itt_begin(collect_code(COLLECT_CALL, function, NULL), domain);
}

static void on_task_end(const void *domain)
{
    collect_end(COLLECT_CALL, domain);
}

static void on_callee_enter(const void *caller)
{
    itt_begin(tbb_task, caller);
}

static void on_callee_leave(const void *caller)
{
    collect_end(COLLECT_CALL, caller);
}

static void on_thread_name(const char *name)
{
    collect_attach("thread %u");
    if (name)
        (void)rbwp_thread_attach(name);
}

static bool recording;

static void itt_start(void)
{
    recording = collect_start(WHAT);
    tbb_task = recording ? collect_text(COLLECT_CALL, "oneTBB task", "oneTBB task") : NULL;
}

/* Those that make what others are given (domains, texts) are left as they are. */
__attribute__((visibility("default"))) void __itt_api_init(struct itt_global *global,
                                                           unsigned groups);
void __itt_api_init(struct itt_global *global, unsigned groups)
{
    static const struct {
        const char *name;
        void *function;
    } ours[] = {{"__itt_task_begin", (void *)on_task_begin},
                {"__itt_task_begin_fn", (void *)on_task_begin_function},
                {"__itt_task_end", (void *)on_task_end},
                {"__itt_stack_callee_enter", (void *)on_callee_enter},
                {"__itt_stack_callee_leave", (void *)on_callee_leave},
                {"__itt_thread_set_name", (void *)on_thread_name}};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (memcmp(global->magic, ITT_MAGIC, ITT_MAGIC_BYTES) != 0 || global->version != ITT_VERSION) {
        static _Atomic bool said; /* each part of the program may hand over one */
        if (!atomic_exchange(&said, true))
            collect_refuse(WHAT, "another version of its interface");
        return;
    }
    (void)pthread_once(&once, itt_start);
    for (struct itt_function *at = global->functions; recording && at->name; at++)
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            if (strcmp(at->name, ours[i].name) == 0)
                *at->function = ours[i].function;
}
