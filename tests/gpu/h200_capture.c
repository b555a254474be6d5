/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h200_capture.c - graph captures of a program beside brackets, notifications, channels and opening
 * devices, while worker threads reap, on a real NVIDIA driver: test_gpu_capture's questions, asked
 * of the driver itself. h200_capture ROUNDS FILE [checked]: checked leaves out what
 * compute-sanitizer disturbs itself, the question whether the default stream takes part in a
 * capture. Guards: in each of the three modes every capture ends well and has the nodes that the
 * program launched; no notification comes early; launches of the graphs are recorded. h200.sh
 * builds and runs it.
 */
#include "cuda_each.h"
#include "rbwp_gpu_channel.h"
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MODES = 3, NODES = 5, BYTES = 1 << 20 };
static const char *const mode_names[MODES] = {"global", "thread-local", "relaxed"};

#define CUDA_EACH(symbol, parameters) driver_result(*symbol) parameters;
static struct {
    CUDA_EACH_OF_BACKEND
} cu;
#undef CUDA_EACH
static driver_result (*begin_capture)(driver_stream, int);
static driver_result (*end_capture)(driver_stream, void **);
static driver_result (*graph_nodes)(void *, void **, size_t *);
static driver_result (*graph_make)(void **, void *, unsigned long long);
static driver_result (*graph_launch)(void *, driver_stream);
static driver_result (*graph_free)(void *), (*graph_exec_free)(void *);

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry spin(.param .u64 duration)\n{\n"
                          ".reg .u64 %d, %n, %e;\n.reg .pred %p;\n"
                          "ld.param.u64 %d, [duration];\nmov.u64 %e, %globaltimer;\n"
                          "add.u64 %e, %e, %d;\nagain:\nmov.u64 %n, %globaltimer;\n"
                          "setp.lt.u64 %p, %n, %e;\n@%p bra again;\nret;\n}\n";

static struct rbwp_work_manager *manager;
static struct rbwp_gpu_device *device;
static cuda_context context;
static driver_function spin;
static unsigned wrong;

static void must(bool good, const char *what)
{
    if (good)
        return;
    printf("h200_capture: %s\n", what);
    exit(1);
}

static void expect(bool good, const char *what, int mode)
{
    if (good)
        return;
    wrong++;
    printf("WRONG, %s mode: %s\n", mode_names[mode], what);
}

static void load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    must(library != NULL, "no libcuda.so.1");
#define CUDA_EACH(symbol, parameters) *(void **)&cu.symbol = dlsym(library, #symbol);
    CUDA_EACH_OF_BACKEND
    *(void **)&begin_capture = dlsym(library, "cuStreamBeginCapture_v2");
    *(void **)&end_capture = dlsym(library, "cuStreamEndCapture");
    *(void **)&graph_nodes = dlsym(library, "cuGraphGetNodes");
    *(void **)&graph_make = dlsym(library, "cuGraphInstantiateWithFlags");
    *(void **)&graph_launch = dlsym(library, "cuGraphLaunch");
    *(void **)&graph_free = dlsym(library, "cuGraphDestroy");
    *(void **)&graph_exec_free = dlsym(library, "cuGraphExecDestroy");
    driver_module module;
    must(cu.cuInit(0) == 0 && cu.cuDevicePrimaryCtxRetain(&context, 0) == 0, "no device");
    must(cu.cuCtxPushCurrent_v2(context) == 0, "no context");
    must(cu.cuModuleLoadData(&module, ptx) == 0, "the kernel does not load");
    must(cu.cuModuleGetFunction(&spin, module, "spin") == 0, "no kernel");
}

static bool launch(driver_stream stream, unsigned long long duration_ns)
{
    void *arguments[] = {&duration_ns};
    return cu.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL) == 0;
}

static struct rbwp_gpu_stream *use(driver_stream native)
{
    struct rbwp_gpu_stream *stream;
    struct rbwp_error error;
    if (rbwp_gpu_stream_open(device, native, RBWP_GPU_USE_STREAM, &stream, &error) != RBWP_OK)
        must(false, error.text);
    return stream;
}

static driver_stream make(unsigned flags)
{
    driver_stream native;
    must(cu.cuStreamCreate(&native, flags) == 0, "no stream");
    return native;
}

/* ---- beside: threads that launch, are notified, copy and open devices all the while ---- */

static _Atomic bool stop;
static _Atomic uint64_t brackets, notified, early, failed, copied, opened;

/* What a notification is to find: its work has run. */
struct promise {
    int64_t launched_ns, duration_ns;
};

static void kept(void *argument, enum rbwp_status outcome, int64_t seen_ns)
{
    struct promise *promise = argument;
    atomic_fetch_add(&notified, 1);
    if (outcome != RBWP_OK)
        atomic_fetch_add(&failed, 1);
    if (seen_ns - promise->launched_ns < promise->duration_ns)
        atomic_fetch_add(&early, 1);
    free(promise);
}

static void *launch_beside(void *unused)
{
    must(rbwp_thread_attach("beside") == RBWP_OK, "attach");
    must(cu.cuCtxPushCurrent_v2(context) == 0, "context");
    driver_stream native = make(DRIVER_STREAM_NON_BLOCKING);
    struct rbwp_gpu_stream *stream = use(native);
    while (!atomic_load(&stop)) {
        struct rbwp_gpu_bracket bracket;
        struct promise *promise = malloc(sizeof *promise);
        must(promise != NULL, "memory");
        promise->duration_ns = 40000;
        rbwp_gpu_bracket_begin(&bracket, stream, 1);
        promise->launched_ns = rbwp_now_ns();
        must(launch(native, 50000), "launch beside a capture");
        rbwp_gpu_bracket_end(&bracket);
        atomic_fetch_add(&brackets, 1);
        if (rbwp_gpu_notify(stream, kept, promise) != RBWP_OK)
            atomic_fetch_add(&failed, 1);
        if (atomic_load(&brackets) % 8 == 0)
            while (rbwp_gpu_drain(device, 1000000) == RBWP_AGAIN)
                ;
    }
    while (rbwp_gpu_drain(device, 1000000) == RBWP_AGAIN)
        ;
    (void)rbwp_gpu_stream_close(stream);
    (void)rbwp_thread_detach();
    return unused;
}

static void copy_done(void *argument, const struct rbwp_transfer_result *result)
{
    atomic_fetch_add(result->status == RBWP_OK ? &copied : &failed, 1);
    atomic_store((_Atomic bool *)argument, true);
}

static void *copy_beside(void *unused)
{
    struct rbwp_gpu_channel *channel;
    const struct rbwp_gpu_channel_config config = {
        .size = sizeof config, .device = device, .manager = manager, .name = "copies beside"};
    void *pageable = malloc(BYTES);
    must(pageable && rbwp_gpu_channel_new(&config, &channel, NULL) == RBWP_OK, "channel");
    while (!atomic_load(&stop)) {
        struct rbwp_gpu_buffer buffer;
        _Atomic bool done = false;
        must(rbwp_gpu_buffer_alloc(device, BYTES, &buffer, NULL) == RBWP_OK, "memory");
        const struct rbwp_gpu_transfer transfer = {.size = sizeof transfer,
                                                   .what = {.size = sizeof transfer.what,
                                                            .kind = RBWP_TRANSFER_COPY,
                                                            .dimensions = 1,
                                                            .element_bytes = 1,
                                                            .extent = {BYTES},
                                                            .source.memory = pageable,
                                                            .done = copy_done,
                                                            .argument = (void *)&done},
                                                   .target = buffer};
        must(rbwp_gpu_channel_submit(channel, &transfer, NULL, NULL) == RBWP_OK, "submit");
        while (!atomic_load(&done))
            ;
        rbwp_gpu_buffer_free(device, &buffer);
    }
    must(rbwp_gpu_channel_free(channel) == RBWP_OK, "free the channel");
    free(pageable);
    return unused;
}

static void *open_beside(void *unused)
{
    while (!atomic_load(&stop)) {
        struct rbwp_gpu_device *another;
        const struct rbwp_gpu_config config = {.size = sizeof config, .proc_id = 99};
        must(rbwp_gpu_device_open(&config, &another, NULL) == RBWP_OK, "open beside a capture");
        must(rbwp_gpu_device_close(another) == RBWP_OK, "close");
        atomic_fetch_add(&opened, 1);
    }
    return unused;
}

/* ---- the captures ------------------------------------------------------------------- */

static void pause_ns(int64_t ns)
{
    for (int64_t until = rbwp_now_ns() + ns; rbwp_now_ns() < until;)
        ;
}

/* The graph of a capture that has ended; NULL if it was disturbed. */
static void *end(driver_stream native, size_t nodes, int mode)
{
    void *graph = NULL;
    size_t count = 0;
    const int code = end_capture(native, &graph);
    char what[80];
    snprintf(what, sizeof what, "the capture was destroyed: %d", code);
    expect(code == 0, what, mode);
    if (code == 0)
        (void)graph_nodes(graph, NULL, &count);
    snprintf(what, sizeof what, "%zu nodes, not %zu", count, nodes);
    expect(code != 0 || count == nodes, what, mode);
    return code == 0 ? graph : NULL;
}

/* One capture with a bracket and a notification inside it, one bracket around its begin and one
 * around its end, and a bracketed launch of what was captured. */
static void capture_once(driver_stream native, struct rbwp_gpu_stream *stream,
                         struct rbwp_gpu_stream *of_default, int mode)
{
    struct rbwp_gpu_bracket before, inside, behind, of_null;
    struct promise unused;
    rbwp_gpu_bracket_begin(&before, stream, 2);
    expect(begin_capture(native, mode) == 0, "no capture begins", mode);
    for (unsigned i = 0; i < NODES; i++) {
        rbwp_gpu_bracket_begin(&inside, stream, 3);
        expect(launch(native, 2000), "launch into the capture", mode);
        rbwp_gpu_bracket_end(&inside);
        pause_ns(20000);
    }
    rbwp_gpu_bracket_end(&before);
    expect(rbwp_gpu_notify(stream, kept, &unused) == RBWP_E_BUSY, "a notification was taken", mode);
    if (of_default) {
        rbwp_gpu_bracket_begin(&of_null, of_default, 4);
        rbwp_gpu_bracket_end(&of_null);
    }
    rbwp_gpu_bracket_begin(&behind, stream, 5);
    void *graph = end(native, NODES, mode), *exec = NULL;
    rbwp_gpu_bracket_end(&behind);
    if (!graph)
        return;
    expect(graph_make(&exec, graph, 0) == 0, "the graph can't be made", mode);
    struct rbwp_gpu_bracket bracket;
    rbwp_gpu_bracket_begin(&bracket, stream, 6);
    expect(graph_launch(exec, native) == 0, "the graph can't be launched", mode);
    rbwp_gpu_bracket_end(&bracket);
    expect(cu.cuStreamSynchronize(native) == 0, "the graph fails", mode);
    (void)graph_exec_free(exec);
    (void)graph_free(graph);
}

static void capture_mode(int mode, unsigned rounds, bool ask_default)
{
    driver_stream native = make(0); /* the default stream waits for it */
    struct rbwp_gpu_stream *stream = use(native), *of_default = use(NULL);
    for (unsigned i = 0; i < rounds; i++)
        capture_once(native, stream, ask_default && i % 4 == 0 ? of_default : NULL, mode);
    (void)rbwp_gpu_stream_close(stream);
    (void)rbwp_gpu_stream_close(of_default);
}

int main(int argc, char **argv)
{
    must(argc > 2, "usage: h200_capture ROUNDS FILE [checked]");
    const unsigned rounds = (unsigned)atoi(argv[1]);
    const bool ask_default = argc == 3;
    const struct rbwp_work_config work = {.size = sizeof work, .workers = 2};
    struct rbwp_session_config config;
    struct rbwp_session *session;
    struct rbwp_session_summary summary;
    load_driver();
    rbwp_session_defaults(&config);
    config.level = 1;
    config.logfile = argv[2];
    must(rbwp_work_start(&work, &manager, NULL) == RBWP_OK, "work manager");
    const struct rbwp_gpu_config gpu = {.size = sizeof gpu, .manager = manager};
    must(rbwp_gpu_device_open(&gpu, &device, NULL) == RBWP_OK, "device");
    must(rbwp_session_start(&config, &session, NULL) == RBWP_OK, "session");
    must(rbwp_thread_attach("captures") == RBWP_OK, "attach");
    pthread_t thread[3];
    pthread_create(&thread[0], NULL, launch_beside, NULL);
    pthread_create(&thread[1], NULL, copy_beside, NULL);
    pthread_create(&thread[2], NULL, open_beside, NULL);
    for (int mode = 0; mode < MODES; mode++)
        capture_mode(mode, rounds, ask_default);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    must(rbwp_session_stop(session, &summary) == RBWP_OK, "stop");
    /* Lost: NODES inside and two around each capture, and the default stream's in every fourth. */
    const uint64_t of_default = ask_default ? (rounds + 3) / 4 : 0;
    const uint64_t lost = MODES * ((uint64_t)rounds * (NODES + 2) + of_default);
    printf("captures: 3 modes x %u, disturbed or wrong %u; beside them %llu brackets, %llu "
           "notifications (%llu early, %llu failed), %llu copies, %llu devices opened; lost %llu, "
           "expected %llu: %s\n",
           rounds, wrong, (unsigned long long)brackets, (unsigned long long)notified,
           (unsigned long long)early, (unsigned long long)failed, (unsigned long long)copied,
           (unsigned long long)opened, (unsigned long long)summary.lost_records,
           (unsigned long long)lost,
           wrong + early + failed || summary.lost_records != lost ? "WRONG" : "good");
    must(rbwp_gpu_device_close(device) == RBWP_OK, "close");
    must(rbwp_work_stop(manager, true, NULL) == RBWP_OK, "work stop");
    return wrong + early + failed || summary.lost_records != lost;
}
