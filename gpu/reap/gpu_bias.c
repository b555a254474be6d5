/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_bias.c - by how much a bracket reads longer than what it brackets.
 *
 * Brackets the least that a kernel can do - store one word, since a kernel ends
 * when its stores have arrived - a number of times, through the same streams, nodes
 * and reaping as all others, with the reaper on a thread of its own as it is
 * in use. What that kernel seems to take is what a bracket adds, on a
 * stream that is idle, where the time from the launch to the device is in it. The
 * same on one that another kernel keeps busy meanwhile; start and end would
 * be seen in one go there if the kernel took nothing, so where one can time itself it
 * takes a while, which is subtracted; it stores a word as well. Where
 * there is no compiler for the kernels, or no thread, nothing is known.
 */
#include "gpu_stream.h"

#include "rbwp_record.h"

#include <sched.h>
#include <stdlib.h>

#define ROUNDS 101u                  /* odd: the median is one of them */
#define ROUNDS_WARM 8u               /* the first ones load the kernel and wake the device */
#define LIMIT_NS UINT64_C(250000000) /* for the rounds of one kind */
#define ROUND_LIMIT_NS UINT64_C(10000000000) /* some drivers compile at the first launch */

#define FILL_NS 30000 /* rbwp_fill's length where it can time itself, in PTX */
/* rbwp_fill runs so long, longer than a launch takes, or a bounded number of rounds. */
static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .global .align 4 .u32 rbwp_word;\n"
                          ".visible .entry rbwp_least()\n{\n.reg .u32 %one;\n"
                          "mov.u32 %one, 1;\nst.global.u32 [rbwp_word], %one;\nret;\n}\n"
                          ".visible .entry rbwp_fill()\n{\n.reg .u64 %now, %end;\n"
                          ".reg .u32 %i;\n.reg .pred %early, %more;\n"
                          "mov.u64 %end, %globaltimer;\nadd.u64 %end, %end, 30000;\n"
                          "mov.u32 %i, 0;\nagain:\nadd.u32 %i, %i, 1;\n"
                          "mov.u64 %now, %globaltimer;\nsetp.lt.u64 %early, %now, %end;\n"
                          "setp.lt.and.u32 %more, %i, 100000, %early;\n@%more bra again;\n"
                          "st.global.u32 [rbwp_word], %i;\nret;\n}\n";
static const char cuda_source[] =
    "__device__ unsigned rbwp_word;\n"
    "extern \"C\" __global__ void rbwp_least() { rbwp_word = 1; }\n"
    "extern \"C\" __global__ void rbwp_fill() { for (volatile int i = 0; i < 2000; i++); }\n";
static const char opencl_source[] = /* has no such words */
    "__kernel void rbwp_least(void) {}\n"
    "__kernel void rbwp_fill(void) { for (volatile int i = 0; i < 20000; i++); }\n";

/* The rounds of one kind: with an idle stream, or a busy one. */
struct rounds {
    unsigned good; /* those that say something */
    int64_t duration_ns[ROUNDS];
};

struct measurement {
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_stream *stream;
    struct gpu_kernel *least, *fill;
    bool fill_is_timed;
    uint64_t until_ticks;
    struct rounds *rounds; /* of the present kind; NULL: to warm up */
    bool idle;             /* the present kind */
    _Atomic bool stop;
    _Atomic unsigned finished; /* rounds; release: what follows */
    bool failed;
    struct rounds of_idle, of_busy;
};

static void measured(void *argument, enum rbwp_status outcome, int64_t duration_ns, bool idle)
{
    struct measurement *m = argument;
    m->failed |= outcome < 0;
    if (outcome == RBWP_OK && m->rounds && idle == m->idle)
        m->rounds->duration_ns[m->rounds->good++] =
            duration_ns - (idle || !m->fill_is_timed ? 0 : FILL_NS);
    atomic_fetch_add_explicit(&m->finished, 1, memory_order_release);
}

static void *reaper(void *argument)
{
    struct measurement *m = argument;
    while (!atomic_load_explicit(&m->stop, memory_order_relaxed)) {
        if (gpu_reaping_begin(m->device, true)) {
            (void)gpu_reap(m->device, true, UINT64_MAX);
            gpu_reaping_end(m->device);
        }
    }
    return NULL;
}

static bool launch(const struct measurement *m, struct gpu_kernel *kernel)
{
    const struct gpu_launch one = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    return m->device->driver->backend->launch(kernel, &one, m->stream->native) == GPU_OK;
}

/* One bracket, waited for: the stream is idle then. */
static bool measure_round(struct measurement *m)
{
    struct rbwp_gpu_bracket bracket;
    const unsigned before = atomic_load_explicit(&m->finished, memory_order_relaxed);
    if (!m->idle && !launch(m, m->fill))
        return false;
    gpu_bracket_measure(&bracket, m->stream, measured, m);
    if (!bracket.stream)
        return false;
    if (!launch(m, !m->idle && m->fill_is_timed ? m->fill : m->least)) {
        rbwp_gpu_bracket_cancel(&bracket);
        return false;
    }
    rbwp_gpu_bracket_end(&bracket);
    while (atomic_load_explicit(&m->finished, memory_order_acquire) == before) {
        if (rbwp_now_ticks() >= m->until_ticks)
            return false;
        sched_yield();
    }
    return !m->failed;
}

/* As many as there is time for. False if one failed or did not end. */
static bool measure_rounds(struct measurement *m, struct rounds *rounds, bool idle, unsigned count)
{
    m->rounds = rounds;
    m->idle = idle;
    const uint64_t begin_ticks = rbwp_now_ticks();
    m->until_ticks = begin_ticks + rbwp_ticks_from_ns(ROUND_LIMIT_NS);
    for (unsigned round = 0; round < count; round++) {
        if (rounds && rbwp_now_ticks() - begin_ticks >= rbwp_ticks_from_ns(LIMIT_NS))
            return true;
        if (!measure_round(m))
            return false;
    }
    return true;
}

static void measure(struct measurement *m)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, reaper, m) != 0)
        return;
    (void)(measure_rounds(m, NULL, true, ROUNDS_WARM) &&
           measure_rounds(m, &m->of_idle, true, ROUNDS) &&
           measure_rounds(m, NULL, false, ROUNDS_WARM) &&
           measure_rounds(m, &m->of_busy, false, ROUNDS));
    atomic_store(&m->stop, true);
    pthread_join(thread, NULL);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Median, and distance of the quartiles. */
static unsigned conclude(struct rounds *rounds, int64_t *bias_ns, int64_t *spread_ns)
{
    const unsigned good = rounds->good;
    int64_t *duration_ns = rounds->duration_ns;
    if (good == 0)
        return 0;
    qsort(duration_ns, good, sizeof *duration_ns, by_size);
    *bias_ns = duration_ns[good / 2] > 0 ? duration_ns[good / 2] : 0;
    *spread_ns = duration_ns[good - 1 - good / 4] - duration_ns[good / 4];
    return good;
}

static void conclude_both(struct measurement *m)
{
    struct rbwp_gpu_facts *facts = &m->device->facts;
    if (m->failed)
        return;
    facts->bias_rounds = conclude(&m->of_busy, &facts->bias_ns, &facts->bias_spread_ns);
    facts->idle_rounds = conclude(&m->of_idle, &facts->idle_bias_ns, &facts->idle_spread_ns);
}

/* With the module loaded. Attached. */
static void measure_module(struct rbwp_gpu_device *device, struct gpu_module *module)
{
    const struct gpu_backend *backend = device->driver->backend;
    void *native;
    struct measurement *m = calloc(1, sizeof *m);
    if (!m || backend->kernel_get(module, "rbwp_least", &m->least) != GPU_OK ||
        backend->kernel_get(module, "rbwp_fill", &m->fill) != GPU_OK ||
        backend->stream_create(device->context, &native) != GPU_OK) {
        free(m);
        return;
    }
    m->device = device;
    m->fill_is_timed = device->api == RBWP_GPU_CUDA;
    if (rbwp_gpu_stream_open(device, native, RBWP_GPU_USE_STREAM, &m->stream, NULL) == RBWP_OK) {
        measure(m);
        (void)rbwp_gpu_stream_close(m->stream);
        conclude_both(m);
    }
    (void)backend->stream_destroy(device->context, native);
    free(m);
}

void gpu_bias_measure(struct rbwp_gpu_device *device)
{
    const struct gpu_backend *backend = device->driver->backend;
    const struct gpu_code_text text = {
        .name = "the kernel that measures bias",
        .source = device->api == RBWP_GPU_OPENCL ? opencl_source : cuda_source,
        .ptx = ptx,
    };
    struct gpu_attached saved;
    struct gpu_module *module;
    if (backend->attach(device->context, &saved) != GPU_OK)
        return;
    if (backend->module_load(device->context, &text, &module, NULL) == RBWP_OK) {
        measure_module(device, module);
        backend->module_unload(module);
    }
    backend->detach(device->context, &saved);
}
