/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a device's timer, by a kernel of one thread that stores it: where it is in the time
 * between launch and the end of waiting is not known, but the quickest of many launches takes a few
 * microseconds.
 */
#include "device_clock.h"
#include "bytes.h"
#include "device_memory.h"
#include "gpu_failure.h"
#include "rbwp_record.h"
#include "sized.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char clock_ptx[] = ".version 6.0\n"
                                ".target sm_50\n"
                                ".address_size 64\n"
                                ".visible .entry rbwp_clock(.param .u64 to)\n"
                                "{\n"
                                "    .reg .u64 %rd<3>;\n"
                                "    ld.param.u64 %rd1, [to];\n"
                                "    cvta.to.global.u64 %rd1, %rd1;\n"
                                "    mov.u64 %rd2, %globaltimer;\n"
                                "    st.global.u64 [%rd1], %rd2;\n"
                                "    ret;\n"
                                "}\n";
static const char clock_source[] =
    "extern \"C\" __global__ void rbwp_clock(unsigned long long *to)\n"
    "{\n"
    "#if defined(__HIP_PLATFORM_AMD__) || defined(__AMDGCN__)\n"
    "    *to = wall_clock64();\n"
    "#else\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(*to));\n"
    "#endif\n"
    "}\n";

struct rbwp_device_clock {
    struct device_memory memory; /* where the kernel stores */
    struct gpu_module *module;
    struct gpu_kernel *kernel;
    struct rbwp_device_clock_sample first[RBWP_DEVICE_CLOCK_SAMPLES];
    struct rbwp_device_clock_line line;
};

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int device_clock_store(const struct rbwp_device_clock *clock, void *to, void *stream)
{
    const struct gpu_arg argument = {&to, sizeof to};
    const struct gpu_launch launch = {
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .arg_count = 1, .args = &argument};
    return clock->memory.context->backend->launch(clock->kernel, &launch, stream);
}

/* Attached. The clocks are read so close that a reading of the one is one of the other. */
static int take_sample(struct rbwp_device_clock *clock, struct rbwp_device_clock_sample *sample)
{
    struct gpu_context *context = clock->memory.context;
    void *stream = clock->memory.stream;
    sample->monotonic_before_ns = monotonic_ns();
    sample->before_ns = rbwp_now_ns();
    int code = device_clock_store(clock, clock->memory.memory.native, stream);
    if (code == GPU_OK)
        code = context->backend->stream_wait(context, stream);
    sample->after_ns = rbwp_now_ns();
    sample->monotonic_after_ns = monotonic_ns();
    return code;
}

static enum rbwp_status take_samples(struct rbwp_device_clock *clock,
                                     struct rbwp_device_clock_sample *samples,
                                     struct rbwp_error *error)
{
    struct gpu_context *context = clock->memory.context;
    enum rbwp_status status = RBWP_OK;
    for (unsigned i = 0; i < RBWP_DEVICE_CLOCK_SAMPLES && status == RBWP_OK; i++) {
        struct gpu_attached saved;
        int code = context->backend->attach(context, &saved);
        if (code == GPU_OK) {
            code = take_sample(clock, &samples[i]);
            context->backend->detach(context, &saved);
        }
        if (code != GPU_OK)
            return context->backend->describe(context->driver, code, "reading its clock", error);
        status = device_memory_read(&clock->memory, 0, sizeof(uint64_t), NULL, error);
        samples[i].ticks = load_le_i64(clock->memory.host);
    }
    return status;
}

static enum rbwp_status load(struct rbwp_device_clock *clock, struct rbwp_error *error)
{
    static const struct gpu_code_text text = {
        .name = "rbwp_clock.cu", .source = clock_source, .ptx = clock_ptx};
    struct gpu_context *context = clock->memory.context;
    struct gpu_attached saved;
    int code = context->backend->attach(context, &saved);
    if (code != GPU_OK)
        return context->backend->describe(context->driver, code, "its clock", error);
    enum rbwp_status status = context->backend->module_load(context, &text, &clock->module, error);
    if (status == RBWP_OK) {
        code = context->backend->kernel_get(clock->module, "rbwp_clock", &clock->kernel);
        if (code != GPU_OK)
            status = context->backend->describe(context->driver, code, "its clock", error);
    }
    context->backend->detach(context, &saved);
    return status;
}

/* Old drivers of HIP do not tell; CDNA's timers have that rate. */
static uint64_t usual_hz(struct gpu_context *context)
{
    uint64_t hz = context->backend->timer_hz(context);
    return hz ? hz : 100000000;
}

enum rbwp_status rbwp_device_clock_new(struct rbwp_gpu_device *device, uint64_t hz,
                                       struct rbwp_device_clock **clock_out,
                                       struct rbwp_error *error)
{
    struct rbwp_device_clock *clock = calloc(1, sizeof *clock);
    *clock_out = NULL;
    if (!clock)
        return gpu_failure(error, RBWP_E_MEMORY, "no memory for a device's clock");
    enum rbwp_status status = device_memory_new(&clock->memory, device, sizeof(uint64_t), error);
    if (status == RBWP_OK)
        status = load(clock, error);
    if (status == RBWP_OK)
        status = take_samples(clock, clock->first, error);
    if (status == RBWP_OK) {
        clock->line.size = sizeof clock->line;
        hz = hz ? hz : usual_hz(clock->memory.context);
        status = rbwp_device_clock_fit(clock->first, RBWP_DEVICE_CLOCK_SAMPLES, NULL, 0, hz,
                                       &clock->line, error);
    }
    if (status == RBWP_OK)
        *clock_out = clock;
    else
        rbwp_device_clock_free(clock);
    return status;
}

enum rbwp_status rbwp_device_clock_again(struct rbwp_device_clock *clock, struct rbwp_error *error)
{
    struct rbwp_device_clock_sample last[RBWP_DEVICE_CLOCK_SAMPLES] = {0};
    enum rbwp_status status = take_samples(clock, last, error);
    if (status == RBWP_OK)
        status =
            rbwp_device_clock_fit(clock->first, RBWP_DEVICE_CLOCK_SAMPLES, last,
                                  RBWP_DEVICE_CLOCK_SAMPLES, clock->line.hz, &clock->line, error);
    return status;
}

void rbwp_device_clock_get(const struct rbwp_device_clock *clock,
                           struct rbwp_device_clock_line *line_out)
{
    size_t size = line_out->size;
    sized_give(line_out, size, &clock->line, sizeof clock->line);
    line_out->size = size;
}

void rbwp_device_clock_free(struct rbwp_device_clock *clock)
{
    struct gpu_attached saved;
    if (!clock)
        return;
    struct gpu_context *context = clock->memory.context;
    if (clock->module && context->backend->attach(context, &saved) == GPU_OK) {
        context->backend->module_unload(clock->module);
        context->backend->detach(context, &saved);
    }
    device_memory_free(&clock->memory);
    free(clock);
}
