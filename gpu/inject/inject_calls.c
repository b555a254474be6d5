/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_calls.h"
#include "inject_library.h"
#include "inject_names.h"
#include "inject_rows.h"
#include "inject_session.h"

#include "rbwp_record.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { CALLS = 1 << 18, UNKNOWN_MAX = 64 };

/* Written by the thread that makes the call; correlation last, and 0 meanwhile. Times are ticks. */
struct call {
    _Alignas(64) _Atomic uint32_t correlation;
    _Atomic uint64_t begin, end, thread, range;
    _Atomic(const char *) called;
    _Atomic(const void *) function;
};
static struct call *calls;
static cupti_subscriber calls_subscribed;
static _Atomic uint32_t calls_known, unknown; /* calls that were looked for */

bool inject_calls_open(void)
{
    void *room;
    if (calls)
        return true;
    room = mmap(NULL, CALLS * sizeof *calls, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    calls = room == MAP_FAILED ? NULL : room;
    inject_ticks_open();
    return calls != NULL;
}

/* Else each launch would be the first in some place. */
void inject_calls_prepare(void)
{
    (void)madvise(calls, CALLS * sizeof *calls, MADV_POPULATE_WRITE);
}

/* ---- which calls ---------------------------------------------------------------------------- */

static const uint32_t work_ids[] = {CUPTI_CALL_cuLaunchKernel,
                                    CUPTI_CALL_cuLaunchKernel_ptsz,
                                    CUPTI_CALL_cuLaunchKernelEx,
                                    CUPTI_CALL_cuLaunchKernelEx_ptsz,
                                    CUPTI_CALL_cuLaunchCooperativeKernel,
                                    CUPTI_CALL_cuLaunchCooperativeKernel_ptsz,
#define ID(symbol, id) id,
                                    CUPTI_WORK_CALLS(ID)};
static const uint32_t wait_ids[] = {CUPTI_WAIT_CALLS(ID)};
#undef ID
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_wait(uint32_t id)
{
    switch (id) {
#define CASE(symbol, id) case id:
        CUPTI_WAIT_CALLS(CASE)
#undef CASE
        return true;
    default:
        return false;
    }
}

bool inject_calls_watch(cupti_subscriber subscriber, bool watch)
{
    bool good = true;
    calls_subscribed = subscriber;
    /* In whichever window it is launched. */
    (void)cupti.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER,
                                    CUPTI_CALL_cuModuleGetFunction);
    for (size_t i = 0; i < COUNT(work_ids); i++) /* some are not there in older versions */
        if (cupti.cuptiEnableCallback(watch, subscriber, CUPTI_DOMAIN_DRIVER, work_ids[i]) !=
            CUPTI_OK)
            good &= i != 0;
    for (size_t i = 0; i < COUNT(wait_ids); i++)
        (void)cupti.cuptiEnableCallback(watch, subscriber, CUPTI_DOMAIN_DRIVER, wait_ids[i]);
    return good;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static struct call *calls_place(uint32_t correlation)
{
    return &calls[correlation % CALLS];
}

/* What a call of the driver launches. */
static const void *function_of(uint32_t id, const struct cupti_call *made)
{
    switch (made->params ? id : 0) {
    case CUPTI_CALL_cuLaunchKernel:
    case CUPTI_CALL_cuLaunchKernel_ptsz:
    case CUPTI_CALL_cuLaunchCooperativeKernel:
    case CUPTI_CALL_cuLaunchCooperativeKernel_ptsz:
        return ((const struct cuda_launch_params *)made->params)->function;
    case CUPTI_CALL_cuLaunchKernelEx:
    case CUPTI_CALL_cuLaunchKernelEx_ptsz:
        return ((const struct cuda_launch_ex_params *)made->params)->function;
    default:
        return NULL;
    }
}

/* function: NULL, or what it launches. */
static void calls_begin(const struct cupti_call *made, const void *function)
{
    struct call *call = calls_place(made->correlation);
    /* Of a call of the runtime and the driver's inside it, which may have one number, the outer one
     * counts. */
    if (atomic_load_explicit(&call->correlation, memory_order_relaxed) == made->correlation)
        return;
    atomic_store_explicit(&call->correlation, 0, memory_order_release);
    atomic_store_explicit(&call->thread, inject_thread(), memory_order_release);
    atomic_store_explicit(&call->range, inject_range_now(), memory_order_release);
    atomic_store_explicit(&call->called, made->name, memory_order_release);
    atomic_store_explicit(&call->function, function, memory_order_release);
    atomic_store_explicit(&call->end, 0, memory_order_release);
    atomic_store_explicit(&call->begin, rbwp_now_ticks(), memory_order_release);
    atomic_store_explicit(&call->correlation, made->correlation, memory_order_release);
}

/* The place of a call was last touched by the thread that read it, calls ago: what a loop launches
 * next is most likely as far from this one as this one from the one before. */
static void await_next(uint32_t correlation)
{
    static _Thread_local uint32_t last RBWP_TLS_MODEL_;
    __builtin_prefetch(calls_place(2 * correlation - last), 1);
    last = correlation;
}

static void calls_end(const struct cupti_call *made)
{
    struct call *call = calls_place(made->correlation);
    if (atomic_load_explicit(&call->correlation, memory_order_relaxed) == made->correlation)
        atomic_store_explicit(&call->end, rbwp_now_ticks(), memory_order_release);
    await_next(made->correlation);
}

/* A program that uses the driver itself gets its kernels so. */
static void got_function(const struct cupti_call *call)
{
    const struct cuda_get_params *params = call->params;
    if (call->site == CUPTI_EXIT && params && params->made && call->result &&
        *(const driver_result *)call->result == DRIVER_OK)
        inject_kernel_got(*params->made, "", true); /* CUPTI reports its name */
}

void inject_calls_told(cupti_domain domain, uint32_t id, const struct cupti_call *call)
{
    static _Thread_local uint64_t waits_since_ns RBWP_TLS_MODEL_;
    bool waits = domain == CUPTI_DOMAIN_DRIVER && is_wait(id);
    if (domain == CUPTI_DOMAIN_DRIVER && id == CUPTI_CALL_cuModuleGetFunction) {
        got_function(call);
        return;
    }
    if (!inject_records() || !call->correlation)
        return;
    inject_rows_look();
    if (!waits && call->site == CUPTI_ENTER)
        calls_begin(call, domain == CUPTI_DOMAIN_DRIVER ? function_of(id, call) : NULL);
    else if (!waits)
        calls_end(call);
    else if (call->site == CUPTI_ENTER)
        waits_since_ns = inject_now_ns();
    else if (waits_since_ns) {
        inject_rows_wait(call->name, waits_since_ns, inject_now_ns(), call->correlation);
        waits_since_ns = 0;
    }
}

/* ---- work that is finished ------------------------------------------------------------------ */

static bool calls_find(uint32_t correlation, struct inject_call *call_out)
{
    struct call *call = calls_place(correlation);
    if (!correlation ||
        atomic_load_explicit(&call->correlation, memory_order_acquire) != correlation)
        return false;
    call_out->thread = atomic_load_explicit(&call->thread, memory_order_acquire);
    call_out->range = atomic_load_explicit(&call->range, memory_order_acquire);
    call_out->called = atomic_load_explicit(&call->called, memory_order_acquire);
    call_out->function = atomic_load_explicit(&call->function, memory_order_acquire);
    const uint64_t end = atomic_load_explicit(&call->end, memory_order_acquire);
    const uint64_t begin = atomic_load_explicit(&call->begin, memory_order_acquire);
    if (atomic_load_explicit(&call->correlation, memory_order_relaxed) != correlation)
        return false;
    call_out->begin_ns = inject_ticks_ns(begin);
    call_out->end_ns = end ? inject_ticks_ns(end) : 0;
    return true;
}

bool inject_call_find(uint32_t correlation, struct inject_call *call_out)
{
    memset(call_out, 0, sizeof *call_out);
    if (calls_find(correlation, call_out)) {
        atomic_store_explicit(&calls_known, 1, memory_order_relaxed);
        return true;
    }
    if (!atomic_load_explicit(&calls_known, memory_order_relaxed) &&
        atomic_fetch_add(&unknown, 1) == UNKNOWN_MAX && cupti.cuptiEnableDomain)
        (void)cupti.cuptiEnableDomain(1, calls_subscribed, CUPTI_DOMAIN_RUNTIME);
    memset(call_out, 0, sizeof *call_out);
    return false;
}
