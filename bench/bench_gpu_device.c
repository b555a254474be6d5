/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_gpu.h"
#include "rbwp_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 200u /* launches in a row that no driver's queue makes wait */
#define EVENTS 64u

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry bench_empty()\n{\nret;\n}\n";
static const char hip_source[] = "extern \"C\" __global__ void bench_empty() {}\n";
static const char opencl_source[] = "__kernel void bench_empty(void) {}\n";

void check(struct bench *b, int code, const char *what)
{
    struct rbwp_error error;
    if (code == GPU_OK)
        return;
    b->backend->describe(b->context->driver, code, what, &error);
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

void launch_empty(struct bench *b, unsigned stream)
{
    const struct gpu_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    check(b, b->backend->launch(b->empty, &launch, b->native[stream]), "launch");
}

void wait_for(struct bench *b, unsigned stream)
{
    check(b, b->backend->stream_wait(b->context, b->native[stream]), "wait");
    rbwp_work_drain(b->manager);
}

/* ---- host cost ------------------------------------------------------------------ */

enum way { BARE, RECORDS, BRACKETS, LAUNCH_BARE, LAUNCH_RECORDS, LAUNCH_BRACKETS, WAYS };

/* One batch; the host's time for one, in ns. */
static double issue(struct bench *b, enum way way, struct gpu_event *event)
{
    double begin = clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < BATCH; i++) {
        struct rbwp_gpu_bracket bracket;
        struct gpu_event *pair = &event[2 * i % EVENTS];
        if (way == RECORDS || way == LAUNCH_RECORDS)
            check(b, b->backend->event_record(b->context, &pair[0], b->native[0]), "record");
        if (way == BRACKETS || way == LAUNCH_BRACKETS)
            rbwp_gpu_bracket_begin(&bracket, b->stream[0], 1);
        if (way >= LAUNCH_BARE)
            launch_empty(b, 0);
        if (way == RECORDS || way == LAUNCH_RECORDS)
            check(b, b->backend->event_record(b->context, &pair[1], b->native[0]), "record");
        if (way == BRACKETS || way == LAUNCH_BRACKETS)
            rbwp_gpu_bracket_end(&bracket);
    }
    double each = (clock_ns(CLOCK_MONOTONIC) - begin) / BATCH;
    wait_for(b, 0);
    return each;
}

double host_cost(struct bench *b)
{
    static double each[WAYS][ROUNDS_MAX];
    struct gpu_event event[EVENTS];
    for (unsigned i = 0; i < EVENTS; i++)
        check(b, b->backend->event_create(b->context, &event[i]), "event");
    struct rbwp_session *session = start_session(1);
    for (int way = 0; way < WAYS; way++)
        (void)issue(b, (enum way)way, event); /* warm */
    for (unsigned round = 0; round < b->rounds; round++)
        for (int way = 0; way < WAYS; way++)
            each[way][round] = issue(b, (enum way)way, event);
    stop_session(session);
    for (unsigned i = 0; i < EVENTS; i++)
        b->backend->event_destroy(b->context, &event[i]);
    double ns[WAYS];
    for (int way = 0; way < WAYS; way++)
        ns[way] = median(each[way], b->rounds);
    printf("host cost, ns: two event records %.0f, a bracket %.0f: %+.0f (budget +100)\n",
           ns[RECORDS], ns[BRACKETS], ns[BRACKETS] - ns[RECORDS]);
    printf(
        "host cost, ns, around a launch of %.0f: two event records %.0f, a bracket %.0f: %+.0f\n",
        ns[LAUNCH_BARE], ns[LAUNCH_RECORDS], ns[LAUNCH_BRACKETS],
        ns[LAUNCH_BRACKETS] - ns[LAUNCH_RECORDS]);
    return ns[BRACKETS] - ns[RECORDS];
}

/* ---- records of the scratch file ------------------------------------------------------- */

void each_work(work_fn take, void *context)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct rbwp_record record;
    struct rbwp_record_iterator iterator;
    require(rbwp_reader_open(scratch_file(), NULL, &reader, NULL) == RBWP_OK, "reading back");
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        if (block.header.records == 0)
            continue;
        rbwp_record_first(&block, &iterator);
        while (rbwp_record_next(&iterator, &record))
            if (record.kind == RBWP_GPU_WORK)
                take(context, &record);
    }
    rbwp_reader_close(reader);
}

/* ---- device -------------------------------------------------------------------------------------
 */

void open_bench(struct bench *b, enum rbwp_gpu_api api, char **libraries)
{
    struct rbwp_error error = {.text = ""};
    struct rbwp_work_config work = {.size = sizeof work, .workers = 1};
    require(rbwp_work_start(&work, &b->manager, NULL) == RBWP_OK, "work manager");
    struct rbwp_gpu_config config = {.size = sizeof config, .api = api, .manager = b->manager};
    config.driver_library = libraries[0];
    config.compiler_library = libraries[0] ? libraries[1] : NULL;
    if (rbwp_gpu_device_open(&config, &b->device, &error) != RBWP_OK) {
        fprintf(stderr, "bench_gpu: %s\n", error.text);
        exit(1);
    }
    rbwp_gpu_device_facts(b->device, &b->facts);
    b->context = rbwp_extend_gpu_context(b->device);
    b->backend = b->context->backend;
    check(b, b->backend->attach(b->context, &b->saved), "attach");
    for (unsigned i = 0; i < STREAMS; i++) {
        check(b, b->backend->stream_create(b->context, &b->native[i]), "stream");
        require(rbwp_gpu_stream_open(b->device, b->native[i], RBWP_GPU_USE_STREAM, &b->stream[i],
                                     NULL) == RBWP_OK,
                "stream");
    }
    const struct gpu_code_text text = {
        .name = "bench", .ptx = ptx, .source = api == RBWP_GPU_OPENCL ? opencl_source : hip_source};
    if (b->backend->module_load(b->context, &text, &b->module, &error) != RBWP_OK) {
        fprintf(stderr, "bench_gpu: %s\n", error.text);
        exit(1);
    }
    check(b, b->backend->kernel_get(b->module, "bench_empty", &b->empty), "bench_empty");
    printf("device: %s %s; bias of busy streams %lld ns, spread %lld ns, %u rounds; of idle ones "
           "%lld ns, spread %lld ns, %u rounds\n",
           b->backend->name, b->facts.name, (long long)b->facts.bias_ns,
           (long long)b->facts.bias_spread_ns, b->facts.bias_rounds,
           (long long)b->facts.idle_bias_ns, (long long)b->facts.idle_spread_ns,
           b->facts.idle_rounds);
    require(rbwp_thread_attach("bench") == RBWP_OK, "attach");
}

void close_bench(struct bench *b)
{
    b->backend->module_unload(b->module);
    for (unsigned i = 0; i < STREAMS; i++) {
        (void)rbwp_gpu_stream_close(b->stream[i]);
        (void)b->backend->stream_destroy(b->context, b->native[i]);
    }
    b->backend->detach(b->context, &b->saved);
    (void)rbwp_gpu_device_close(b->device);
    (void)rbwp_work_stop(b->manager, true, NULL);
}

enum rbwp_gpu_api api_of(const char *name, const char *usage)
{
    unsigned api = 0;
    while (name && api < GPU_APIS && strcmp(name, rbwp_gpu_api_name(api)) != 0)
        api++;
    if (!name || api == GPU_APIS) {
        fprintf(stderr, "usage: %s\n", usage);
        exit(2);
    }
    return (enum rbwp_gpu_api)api;
}
