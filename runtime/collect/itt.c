/* SPDX-License-Identifier: Apache-2.0 */
/*
 * itt.c - Intel's interface for collectors: oneTBB's tasks, and the tasks that a program marks.
 *
 *     INTEL_LIBITTNOTIFY64=librbwp-itt.so program
 *
 * Each part of a program that is linked with ITT (the program, libtbb) hands over its table of
 * functions, and gets ours. oneTBB reports what its threads execute as entries into the stack of
 * who made it, without a name: so it is named by the code that had oneTBB make it.
 */
#include "collect.h"
#include "itt_abi.h"

#include "rbwp_record.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#ifdef __GLIBC__
#include <execinfo.h>
#else
#define backtrace(frames, most) 0
#endif

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

/* ---- who has oneTBB make tasks ----------------------------------------------------------------
 */
/*
 * The innermost frame outside of the library that says that it makes some. Once for each algorithm
 * and group, not for each task. Where what is mapped lies is looked up when a library hands over
 * its table: here the loader's lock may be another thread's.
 */

enum { PARTS_MAX = 64, FRAMES_MAX = 8 };
static struct part {
    _Atomic uintptr_t from, to; /* from is stored last; 0: none */
} parts[PARTS_MAX];

/* Of the part of the program that has this table. */
static int itt_see_part(struct dl_phdr_info *info, size_t bytes, void *global)
{
    static _Atomic unsigned count;
    uintptr_t from = UINTPTR_MAX, to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t at = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        from = at < from ? at : from;
        to = at + part->p_memsz > to ? at + part->p_memsz : to;
    }
    if ((uintptr_t)global < from || (uintptr_t)global >= to)
        return 0;
    const unsigned number = atomic_fetch_add(&count, 1);
    if (number < PARTS_MAX) {
        atomic_store(&parts[number].to, to);
        atomic_store(&parts[number].from, from);
    }
    return 1;
}

static bool itt_is_in(const struct part *part, const void *code)
{
    const uintptr_t from = atomic_load(&part->from);
    return from && (uintptr_t)code >= from && (uintptr_t)code < atomic_load(&part->to);
}

static const void *on_caller_create(void)
{
    void *frames[FRAMES_MAX];
    const void *const asks = __builtin_return_address(0);
    const struct part *part = parts;
    while (part < parts + PARTS_MAX && !itt_is_in(part, asks))
        part++;
    if (part == parts + PARTS_MAX)
        return tbb_task;
    const int count = backtrace(frames, FRAMES_MAX);
    int i = 0;
    while (i < count && !itt_is_in(part, frames[i])) /* ours */
        i++;
    while (i < count && itt_is_in(part, frames[i]))
        i++;
    return i < count ? collect_code(COLLECT_CALL, frames[i], tbb_task) : tbb_task;
}

static void on_callee_enter(const void *caller)
{
    itt_begin(caller ? caller : tbb_task, caller);
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
    void *frame;
    (void)backtrace(&frame, 1); /* it loads what it needs now, and not below a lock */
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
                {"__itt_stack_caller_create", (void *)on_caller_create},
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
    (void)dl_iterate_phdr(itt_see_part, global);
    for (struct itt_function *at = global->functions; recording && at->name; at++)
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            if (strcmp(at->name, ours[i].name) == 0)
                *at->function = ours[i].function;
}
