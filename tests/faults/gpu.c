/* SPDX-License-Identifier: Apache-2.0 */
/* gpu [FLAGS...] MODE with|without FOLDER - as faults.c, of calls that wait for their work on an
 * OpenCL device; PoCL is one that computes on the host's processors. */
#include "gpu_device.h"
#include "measure.h"

#include <rbwp_gpu.h>
#include <rbwp_record.h>
#include <rbwp_session.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 150, STALL_EACH = 50 };
static const struct gpu_code_text code = {
    .name = "faults",
    .source = "__kernel void turn(__global uint *to, uint rounds) {\n"
              "    for (uint r = 0; r < rounds; r++) to[0] = to[0] * 1664525u + 1013904223u;\n"
              "}\n"};
static struct rbwp_gpu_device *device;
static struct rbwp_gpu_stream *stream;
static struct gpu_context *context;
static struct gpu_kernel *kernel;
static struct gpu_memory memory;
static uint32_t rounds_a_ms;
static unsigned request, other;

static void must(bool good)
{
    if (!good)
        abort();
}

static void launch(unsigned slot, uint32_t rounds)
{
    const struct gpu_arg args[] = {{&memory.native, sizeof(void *)}, {&rounds, sizeof rounds}};
    const struct gpu_launch one = {
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .arg_count = 2, .args = args};
    struct rbwp_gpu_bracket bracket;
    rbwp_gpu_bracket_begin(&bracket, stream, slot);
    must(context->backend->launch(kernel, &one, gpu_stream_native(stream)) == GPU_OK);
    rbwp_gpu_bracket_end(&bracket);
    must(context->backend->stream_flush(context, gpu_stream_native(stream)) == GPU_OK);
}

static void wait_for_all(void)
{
    must(context->backend->stream_wait(context, gpu_stream_native(stream)) == GPU_OK);
}

static void call(uint32_t rounds)
{
    const struct begun begun = measure_begin();
    rbwp_begin(request);
    launch(request, rounds);
    wait_for_all();
    rbwp_end();
    measure_end(begun, begun.since_ns);
    sleep_ns(2 * MS);
}

static bool is_slow(int number)
{
    return with_fault && number % STALL_EACH == STALL_EACH / 2;
}

static void long_work(void)
{
    for (int i = 1; i <= CALLS; i++)
        call(is_slow(i) ? 60 * rounds_a_ms : rounds_a_ms / 4);
}

static void *copy(void *number)
{
    must(rbwp_thread_attach("copier") == RBWP_OK);
    rbwp_begin(other);
    launch(other, 60 * rounds_a_ms);
    rbwp_end();
    return number;
}

/* A thread of its own has launched work on the same stream just before. */
static void behind_work(void)
{
    pthread_t thread;
    for (int i = 1; i <= CALLS; i++) {
        if (is_slow(i)) {
            must(pthread_create(&thread, NULL, copy, NULL) == 0);
            pthread_join(thread, NULL);
        }
        call(rounds_a_ms / 4);
    }
}

static void prepare(struct rbwp_work_manager *manager)
{
    const struct rbwp_gpu_config config = {
        .size = sizeof config, .api = RBWP_GPU_OPENCL, .manager = manager, .no_bias = true};
    struct gpu_attached saved;
    struct gpu_module *module;
    struct rbwp_error error = {.text = ""};
    void *native = NULL;
    if (rbwp_gpu_device_open(&config, &device, &error) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    context = rbwp_extend_gpu_context(device);
    must(context->backend->attach(context, &saved) == GPU_OK &&
         context->backend->stream_create(context, &native) == GPU_OK &&
         context->backend->module_load(context, &code, &module, &error) == RBWP_OK &&
         context->backend->kernel_get(module, "turn", &kernel) == GPU_OK &&
         context->backend->memory_alloc(context, sizeof(uint32_t), &memory) == GPU_OK &&
         rbwp_gpu_stream_open(device, native, RBWP_GPU_USE_STREAM, &stream, &error) == RBWP_OK);
    rounds_a_ms = 1 << 20;
    launch(request, rounds_a_ms); /* it is made ready for the device */
    wait_for_all();
    const int64_t begin_ns = now_ns();
    launch(request, rounds_a_ms);
    wait_for_all();
    rounds_a_ms = (uint32_t)((double)rounds_a_ms * MS / (double)(now_ns() - begin_ns)) + 1;
}

static const struct mode modes[] = {
    {"gpu_long", long_work, "gpu", "request", "", .fault_ns = 60 * MS},
    {"gpu_behind", behind_work, "gpu_queue", "request", "copy", .fault_ns = 60 * MS},
    {.name = NULL},
};

int main(int argc, char **argv)
{
    struct rbwp_session *session = NULL;
    struct rbwp_session_config config = {.size = sizeof config};
    const struct rbwp_work_config work = {.size = sizeof work, .workers = 1};
    struct rbwp_work_manager *manager;
    struct rbwp_error error;
    must(rbwp_session_parse(&config, &argc, argv, &error) == RBWP_OK);
    const struct mode *mode = measure_mode(modes, argc, argv);
    if (!mode)
        return 2;
    must(rbwp_work_start(&work, &manager, &error) == RBWP_OK &&
         rbwp_work_item_register("request", &request) == RBWP_OK &&
         rbwp_work_item_register("copy", &other) == RBWP_OK);
    prepare(manager);
    must(rbwp_session_start(&config, &session, &error) == RBWP_OK &&
         rbwp_thread_attach("worker") == RBWP_OK);
    measure_run(mode);
    must(rbwp_session_stop(session, NULL) == RBWP_OK);
    return 0; /* the driver ends its own threads */
}
