/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_bias.c - by how much a bracket reads longer than what it brackets.
 *
 * Brackets the least that a kernel can do - store one word, since a kernel ends
 * when its stores have arrived - a number of times, through the same streams, nodes
 * and reaping as all others, with the reaper on a thread of its own as it is
 * in use. What that kernel seems to take is what a bracket adds. Where
 * there is no compiler for the kernel, or no thread, nothing is known.
 */
#include "gpu_stream.h"

#include "rbwp_record.h"

#include <sched.h>
#include <stdlib.h>

#define ROUNDS 101u    /* odd: the median is one of them */
#define ROUNDS_WARM 8u /* the first ones load the kernel and wake the device */
#define LIMIT_NS UINT64_C(500000000)
#define LIMIT_WARM_NS UINT64_C(10000000000) /* some drivers compile at the first launch */

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .global .align 4 .u32 rbwp_word;\n"
                          ".visible .entry rbwp_least()\n{\n.reg .u32 %one;\n"
                          "mov.u32 %one, 1;\nst.global.u32 [rbwp_word], %one;\nret;\n}\n";
static const char cuda_source[] = "__device__ unsigned rbwp_word;\n"
                                  "extern \"C\" __global__ void rbwp_least() { rbwp_word = 1; }\n";
static const char opencl_source[] = "__kernel void rbwp_least(void) {}\n"; /* has no such words */

struct measurement {
    struct rbwp_gpu_device *device;
    uint64_t until_ticks;
    _Atomic bool stop;
    _Atomic unsigned rounds; /* finished; release: what follows */
    bool failed;
    unsigned good;               /* rounds after the warm ones that say something */
    int64_t duration_ns[ROUNDS]; /* of the good ones */
};

static void measured(void *argument, enum rbwp_status outcome, int64_t duration_ns)
{
    struct measurement *m = argument;
    unsigned round = atomic_load_explicit(&m->rounds, memory_order_relaxed);
    m->failed |= outcome < 0;
    if (outcome == RBWP_OK && round >= ROUNDS_WARM)
        m->duration_ns[m->good++] = duration_ns;
    atomic_store_explicit(&m->rounds, round + 1, memory_order_release);
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

/* One bracket, waited for. */
static bool measure_round(struct measurement *m, struct rbwp_gpu_stream *stream,
                          struct gpu_kernel *kernel, unsigned round)
{
    const struct gpu_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    struct rbwp_gpu_bracket bracket;
    gpu_bracket_measure(&bracket, stream, measured, m);
    if (!bracket.stream)
        return false;
    if (m->device->driver->backend->launch(kernel, &launch, stream->native) != GPU_OK) {
        rbwp_gpu_bracket_cancel(&bracket);
        return false;
    }
    rbwp_gpu_bracket_end(&bracket);
    while (atomic_load_explicit(&m->rounds, memory_order_acquire) == round) {
        if (rbwp_now_ticks() >= m->until_ticks)
            return false;
        sched_yield();
    }
    return !m->failed;
}

static void measure(struct measurement *m, struct rbwp_gpu_stream *stream,
                    struct gpu_kernel *kernel)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, reaper, m) != 0)
        return;
    m->until_ticks = rbwp_now_ticks() + rbwp_ticks_from_ns(LIMIT_WARM_NS);
    unsigned round = 0;
    while (round < ROUNDS_WARM && measure_round(m, stream, kernel, round))
        round++;
    m->until_ticks = rbwp_now_ticks() + rbwp_ticks_from_ns(LIMIT_NS);
    while (round >= ROUNDS_WARM && round < ROUNDS_WARM + ROUNDS &&
           measure_round(m, stream, kernel, round))
        round++;
    atomic_store(&m->stop, true);
    pthread_join(thread, NULL);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void conclude(struct measurement *m)
{
    unsigned rounds = m->good;
    int64_t *duration_ns = m->duration_ns;
    if (m->failed || rounds == 0)
        return;
    qsort(duration_ns, rounds, sizeof *duration_ns, by_size);
    struct rbwp_gpu_facts *facts = &m->device->facts;
    facts->bias_rounds = rounds;
    facts->bias_ns = duration_ns[rounds / 2];
    facts->bias_spread_ns = duration_ns[rounds - 1 - rounds / 4] - duration_ns[rounds / 4];
}

/* With the module loaded. Attached. */
static void measure_module(struct rbwp_gpu_device *device, struct gpu_module *module)
{
    const struct gpu_backend *backend = device->driver->backend;
    struct gpu_kernel *kernel;
    void *native;
    struct rbwp_gpu_stream *stream;
    struct measurement *m = calloc(1, sizeof *m);
    if (!m || backend->kernel_get(module, "rbwp_least", &kernel) != GPU_OK ||
        backend->stream_create(device->context, &native) != GPU_OK) {
        free(m);
        return;
    }
    if (rbwp_gpu_stream_open(device, native, RBWP_GPU_REAP_STREAM, &stream, NULL) == RBWP_OK) {
        m->device = device;
        measure(m, stream, kernel);
        (void)rbwp_gpu_stream_close(stream);
        conclude(m);
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
