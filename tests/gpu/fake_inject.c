/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_inject.h"
#include "bytes.h"
#include "ptx_cell.h"
#include "ptx_probe.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS 1024

struct variables {
    struct variables *next;
    char *module;
    uint64_t buffer, dropped;
    struct ptx_shape shape;
};

static pthread_mutex_t fake_inject_lock = PTHREAD_MUTEX_INITIALIZER; /* guards modules */
static struct variables *modules;
static struct ptx_shape next_shape;
static uint32_t version = 130001;
static size_t memory_left = 1u << 30;

/* ---- CUPTI ---- */

static cupti_callback callback;
static void *callback_context;
static _Atomic bool enabled[2][IDS]; /* calls, resources */
static _Atomic bool runtime_enabled;
static _Thread_local uint32_t correlation_now = 77; /* of the call that the thread is in */

driver_result cuLaunchKernel(driver_function, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, unsigned, driver_stream, void **, void **);
#define CUPTI_DECLARE(symbol, optional, parameters) FAKE_API cupti_result symbol parameters;
CUPTI_FUNCTIONS(CUPTI_DECLARE)

void fake_cupti_version(uint32_t given)
{
    version = given;
}
cupti_result cuptiGetVersion(uint32_t *version_out)
{
    *version_out = version;
    return 0;
}
cupti_result cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback to, void *context)
{
    int code = fake_call("cupti_subscribe");
    if (code || callback)
        return code ? code : CUPTI_TAKEN;
    *subscriber = &callback;
    callback = to;
    callback_context = context;
    return 0;
}
cupti_result cuptiUnsubscribe(cupti_subscriber subscriber)
{
    (void)subscriber;
    callback = NULL;
    return 0;
}
cupti_result cuptiEnableCallback(uint32_t enable, cupti_subscriber subscriber, cupti_domain domain,
                                 uint32_t id)
{
    (void)subscriber;
    int code = fake_call("cupti_enable");
    if (code == 0)
        enabled[domain == CUPTI_DOMAIN_RESOURCE][id] = enable;
    return code;
}

/* ---- records of finished work ---- */

static pthread_mutex_t records_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of them */
static cupti_buffer_wanted buffer_wanted;
static cupti_buffer_filled buffer_filled;
static cupti_timestamp timestamp;
static _Atomic bool is_enabled[32]; /* by kind */
static uint8_t *buffer;
static size_t buffer_bytes, buffer_used, dropped;
static bool cleared; /* buffers that are given */
static uint64_t last_end_ns;
static uint64_t lasts_ns = 1000;
static _Atomic uint32_t last_correlation;
static bool runtime_apart, fake_inject_gone;

/* As what CUPTI makes at its first use is taken apart when the process exits. */
static void fake_inject_take_apart(void)
{
    fake_inject_gone = true;
}
static void must_be_there(void)
{
    if (fake_inject_gone)
        abort();
}

void fake_work_lasts(uint64_t ns)
{
    lasts_ns = ns;
}
void fake_runtime_apart(bool apart)
{
    runtime_apart = apart;
}

static size_t record_bytes(uint32_t kind)
{
    return kind == CUPTI_KERNEL      ? sizeof(struct cupti_kernel) + 64
           : kind == CUPTI_PEER_COPY ? sizeof(struct cupti_peer_copy)
           : kind == CUPTI_COPY      ? sizeof(struct cupti_copy) + 24
                                     : sizeof(struct cupti_set) + 16;
}

/* Locked: as CUPTI's own, it gives the buffer back without. */
static void hand_over(void)
{
    uint8_t *full = buffer;
    size_t used = buffer_used, bytes = buffer_bytes;
    buffer = NULL;
    if (!full)
        return;
    pthread_mutex_unlock(&records_lock);
    buffer_filled(NULL, 0, full, bytes, used);
    pthread_mutex_lock(&records_lock);
}

/* Of who gives cleared buffers, and may be believed. */
static void expect_cleared(void)
{
    for (size_t i = 0; buffer && cleared && i < buffer_bytes; i++)
        if (buffer[i])
            abort();
}

static void add_record(const void *record, size_t bytes)
{
    size_t records_max, all = record_bytes(*(const uint32_t *)record);
    pthread_mutex_lock(&records_lock);
    if (buffer && buffer_used + all > buffer_bytes)
        hand_over();
    if (!buffer && buffer_wanted) {
        buffer_used = 0;
        buffer_wanted(&buffer, &buffer_bytes, &records_max);
        expect_cleared();
    }
    dropped += !buffer;
    last_end_ns = timestamp ? timestamp() + lasts_ns : 0;
    if (buffer) {
        memset(buffer + buffer_used, 0xee, all); /* what a later version adds */
        memcpy(buffer + buffer_used, record, bytes);
        buffer_used += all;
    }
    pthread_mutex_unlock(&records_lock);
}

static void tell_kernel(const char *symbol, const struct cuda_launch_params *launch,
                        uint32_t correlation, uint64_t node)
{
    static const char *const kept[] = {"_Z5saxpyfPfS_", "first", "second", "third"};
    uint64_t now_ns = timestamp ? timestamp() : 0;
    struct cupti_kernel kernel = {.kind = CUPTI_KERNEL,
                                  .registers = 32,
                                  .start = now_ns,
                                  .end = now_ns + lasts_ns,
                                  .stream = launch->stream ? 13 : 7,
                                  .static_shared = 16,
                                  .dynamic_shared = (int)launch->shared_bytes,
                                  .correlation = correlation,
                                  .graph_node = node};
    const unsigned *sizes = &launch->grid_x;
    for (int i = 0; i < 3; i++) {
        kernel.grid[i] = (int)sizes[i];
        kernel.block[i] = (int)sizes[3 + i];
    }
    kernel.name = kept[3];
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strcmp(kept[i], symbol) == 0)
            kernel.name = kept[i];
    if (is_enabled[CUPTI_KERNEL])
        add_record(&kernel, sizeof kernel);
}

void fake_work_call(uint32_t id, uint32_t kind, size_t bytes, void *stream)
{
    fake_cupti_call(CUPTI_ENTER, id, NULL, NULL, NULL);
    uint64_t now_ns = timestamp ? timestamp() : 0;
    const struct cupti_copy copy = {.kind = CUPTI_COPY,
                                    .way = 1,
                                    .from = 1,
                                    .to = 3,
                                    .bytes = bytes,
                                    .start = now_ns,
                                    .end = now_ns + lasts_ns,
                                    .stream = stream ? 13 : 7,
                                    .correlation = correlation_now};
    const struct cupti_set set = {.kind = CUPTI_SET,
                                  .memory = 3,
                                  .bytes = bytes,
                                  .start = now_ns,
                                  .end = now_ns + lasts_ns,
                                  .stream = stream ? 13 : 7,
                                  .correlation = correlation_now};
    if (kind == CUPTI_COPY && is_enabled[kind])
        add_record(&copy, sizeof copy);
    if (kind == CUPTI_SET && is_enabled[kind])
        add_record(&set, sizeof set);
    fake_cupti_call(CUPTI_EXIT, id, NULL, NULL, NULL);
}

cupti_result cuptiActivityRegisterTimestampCallback(cupti_timestamp read)
{
    timestamp = read;
    return 0;
}
cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_wanted wanted, cupti_buffer_filled filled)
{
    (void)atexit(fake_inject_take_apart);
    buffer_wanted = wanted;
    buffer_filled = filled;
    return fake_call("cupti_activity");
}
cupti_result cuptiActivitySetAttribute(cupti_attribute attribute, size_t *bytes, void *value)
{
    if (attribute != CUPTI_CLEARED_BUFFERS || *bytes != 1)
        return 1;
    cleared = *(const uint8_t *)value;
    return 0;
}
cupti_result cuptiActivityEnable(cupti_kind kind)
{
    is_enabled[kind] = true;
    return 0;
}
cupti_result cuptiActivityDisable(cupti_kind kind)
{
    must_be_there();
    is_enabled[kind] = false;
    return 0;
}
/* Unless it is forced, a buffer stays that has work which has not ended. */
cupti_result cuptiActivityFlushAll(uint32_t how)
{
    must_be_there();
    pthread_mutex_lock(&records_lock);
    if (how == CUPTI_FLUSH_FORCED || !timestamp || timestamp() >= last_end_ns)
        hand_over();
    pthread_mutex_unlock(&records_lock);
    return fake_call("cupti_flush");
}

static void *want(void *unused)
{
    static uint8_t *other; /* stays with us */
    size_t bytes, records_max;
    buffer_wanted(&other, &bytes, &records_max);
    return unused;
}
/* A thread that launches may want a buffer while another one is read: it must not wait for that.
 * Once a process. */
static void want_meanwhile(void)
{
    enum { LONG_S = 20 };
    static atomic_flag done = ATOMIC_FLAG_INIT;
    pthread_t thread;
    struct timespec until;
    if (!buffer_wanted || atomic_flag_test_and_set(&done))
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONG_S;
    if (pthread_create(&thread, NULL, want, NULL) != 0 ||
        pthread_timedjoin_np(thread, NULL, &until) != 0)
        abort();
}

cupti_result cuptiActivityGetNextRecord(uint8_t *from, size_t bytes, cupti_record **record)
{
    uint8_t *at = *record ? (uint8_t *)*record + record_bytes(*(uint32_t *)*record) : from;
    if (at >= from + bytes)
        return CUPTI_END_OF_BUFFER;
    want_meanwhile();
    *record = (void *)at;
    return 0;
}
cupti_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    pthread_mutex_lock(&records_lock);
    *count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&records_lock);
    return 0;
}
cupti_result cuptiEnableDomain(uint32_t enable, cupti_subscriber subscriber, cupti_domain domain)
{
    (void)subscriber;
    runtime_enabled = enable && domain == CUPTI_DOMAIN_RUNTIME;
    return fake_call("cupti_domain");
}

static void runtime_call(int site, uint32_t correlation)
{
    const struct cupti_call call = {.site = site,
                                    .name = "cudaLaunchKernel_v7000",
                                    .correlation = correlation,
                                    .context = fake_context()};
    if (callback && runtime_enabled)
        callback(callback_context, CUPTI_DOMAIN_RUNTIME, 211, &call);
}

static _Thread_local uint32_t runtime_correlation; /* of the call of the runtime; 0: none */

int fake_runtime_launch(void *function, void *stream)
{
    uint32_t correlation = ++last_correlation;
    runtime_call(CUPTI_ENTER, correlation);
    runtime_correlation = correlation;
    int code = cuLaunchKernel(function, 3, 2, 1, 64, 1, 1, 0, stream, NULL, NULL);
    runtime_correlation = 0;
    runtime_call(CUPTI_EXIT, correlation);
    return code;
}

int cuGraphLaunch(void *nodes, void *stream)
{
    struct cuda_launch_params launch = {NULL, 3, 2, 1, 64, 1, 1, 0, stream, NULL};
    fake_cupti_call(CUPTI_ENTER, CUPTI_CALL_cuGraphLaunch, NULL, NULL, NULL);
    for (uintptr_t i = 0; i < (uintptr_t)nodes; i++)
        tell_kernel("second", &launch, correlation_now, i + 1);
    fake_cupti_call(CUPTI_EXIT, CUPTI_CALL_cuGraphLaunch, NULL, NULL, NULL);
    return 0;
}

/* ---- calls ---- */

static const char *name_of(uint32_t id)
{
#define NAME(symbol, number)                                                                       \
    case number:                                                                                   \
        return #symbol;
    switch (id) {
        CUPTI_CALLS(NAME)
        CUPTI_WORK_CALLS(NAME)
        CUPTI_WAIT_CALLS(NAME)
    default:
        return "cuCall";
    }
#undef NAME
}

void fake_cupti_call(int site, uint32_t id, const void *params, const char *symbol, int *result)
{
    if (site == CUPTI_ENTER && buffer_wanted)
        correlation_now =
            runtime_correlation && !runtime_apart ? runtime_correlation : ++last_correlation;
    struct cupti_call call = {.site = site,
                              .name = name_of(id),
                              .params = params,
                              .symbol = symbol,
                              .result = result,
                              .correlation = correlation_now};
    call.context = fake_context();
    if (callback && enabled[0][id])
        callback(callback_context, CUPTI_DOMAIN_DRIVER, id, &call);
}
bool fake_cupti_watches(uint32_t id)
{
    return callback && enabled[0][id];
}
void fake_cupti_resource(uint32_t id, void *context, void *handle)
{
    const struct cupti_resource resource = {context, handle, NULL};
    if (callback && enabled[1][id])
        callback(callback_context, CUPTI_DOMAIN_RESOURCE, id, &resource);
}
void fake_context_goes(void *context)
{
    fake_cupti_resource(CUPTI_CONTEXT_GOES, context, NULL);
}

/* ---- modules ---- */

void fake_shape(const struct ptx_shape *shape)
{
    next_shape = *shape;
}

void fake_module_loaded(char *module)
{
    struct variables *variables = calloc(1, sizeof *variables);
    variables->module = module;
    const uint64_t *words = (const uint64_t *)&next_shape;
    for (size_t i = 0; i < PTX_SHAPE_WORDS; i++)
        store_le64((uint64_t *)&variables->shape + i, words[i]);
    pthread_mutex_lock(&fake_inject_lock);
    variables->next = modules;
    modules = variables;
    pthread_mutex_unlock(&fake_inject_lock);
}

/* Those of the module in which address stands; NULL: none. */
static struct variables *fake_inject_find(const void *address)
{
    const char *at = address;
    pthread_mutex_lock(&fake_inject_lock);
    struct variables *found = modules;
    while (found && (at < found->module || at >= found->module + strlen(found->module)))
        found = found->next;
    pthread_mutex_unlock(&fake_inject_lock);
    return found;
}

void fake_module_gone(const char *module)
{
    struct variables *variables = fake_inject_find(module);
    pthread_mutex_lock(&fake_inject_lock);
    for (struct variables **link = &modules; *link; link = &(*link)->next)
        if (*link == variables) {
            *link = variables->next;
            break;
        }
    pthread_mutex_unlock(&fake_inject_lock);
    free(variables);
}

uint64_t fake_buffer_of(const void *module)
{
    return load_le64(&fake_inject_find(module)->buffer);
}

FAKE_API int cuModuleGetGlobal_v2(cuda_pointer *address, size_t *bytes, void *module,
                                  const char *name);
int cuModuleGetGlobal_v2(cuda_pointer *address, size_t *bytes, void *module, const char *name)
{
    struct variables *variables = fake_inject_find(module);
    if (!variables || !strstr(module, "rbwp_probed"))
        return 500;
    void *found = strcmp(name, PTX_BUFFER_NAME) == 0  ? (void *)&variables->buffer
                  : strcmp(name, PTX_SHAPE_NAME) == 0 ? (void *)&variables->shape
                  : load_le64(&variables->shape.cells) == PTX_CELLS_COMPAT
                      ? (void *)&variables->dropped
                      : NULL;
    *address = (uintptr_t)found;
    *bytes = found == &variables->shape ? sizeof variables->shape : sizeof(uint64_t);
    return found ? 0 : 500;
}

FAKE_API int cuFuncGetModule(void **module, void *function);
int cuFuncGetModule(void **module, void *function)
{
    struct variables *variables = fake_inject_find(function);
    if (!variables)
        abort(); /* as a driver may that is given what is no function */
    *module = variables->module;
    return 0;
}

/* A library is its module; a kernel of no context is its function's address below 0. */
void *fake_kernel_of(void *function)
{
    return (void *)~(uintptr_t)function;
}
int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    const struct cuda_get_params params = {kernel, library};
    void *function = strstr(library, name);
    int code = function ? 0 : 500;
    *kernel = fake_kernel_of(function);
    fake_cupti_call(CUPTI_EXIT, CUPTI_CALL_cuLibraryGetKernel, &params, NULL, &code);
    return code;
}
int cuLibraryUnload(void *library)
{
    fake_cupti_call(CUPTI_ENTER, CUPTI_CALL_cuLibraryUnload, &library, NULL, NULL);
    fake_module_gone(library);
    free(library);
    return 0;
}
FAKE_API int cuKernelGetFunction(void **function, void *kernel);
int cuKernelGetFunction(void **function, void *kernel)
{
    const struct cuda_get_params params = {function, kernel};
    *function = fake_kernel_of(kernel);
    int code = fake_inject_find(*function) ? 0 : 400;
    fake_cupti_call(CUPTI_EXIT, CUPTI_CALL_cuKernelGetFunction, &params, NULL, &code);
    return code;
}

/* ---- events ---- */

FAKE_API int cuCtxGetCurrent(void **context);
int cuCtxGetCurrent(void **context)
{
    *context = fake_context();
    return 0;
}
FAKE_API int cuEventElapsedTime(float *ms, void *from, void *to);
int cuEventElapsedTime(float *ms, void *from, void *to)
{
    int code = fake_unsafe_call("event_elapsed");
    return code ? code : fake_event_elapsed(from, to, ms);
}
FAKE_API int cuCtxSynchronize(void);
int cuCtxSynchronize(void)
{
    return fake_call("context_synchronize");
}
FAKE_API int cuCtxSynchronize_v2(void *context); /* of CUDA 13 */
int cuCtxSynchronize_v2(void *context)
{
    return context == (void *)1 ? fake_call("context_synchronize") : 1;
}
int cuCtxDestroy_v2(void *context)
{
    fake_context_goes(context);
    return fake_call("context_destroy");
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream, (void)event;
    return flags ? 1 : fake_call("wait_event");
}

/* ---- how functions are found, as the CUDA runtime does ---- */

int cuGetProcAddress_v2(const char *symbol, void **function, int of_version, uint64_t flags,
                        int *status)
{
    static const char *const endings[] = {"_ptsz", "_v2", ""};
    const bool is_old = strcmp(symbol, "cuCtxSynchronize") == 0 && of_version < 13000;
    char name[64];
    *function = NULL;
    for (int i = is_old ? 2 : flags & 2 ? 0 : 1; i < 3 && !*function; i++) {
        snprintf(name, sizeof name, "%s%s", symbol, endings[i]);
        *function = dlsym(RTLD_DEFAULT, name);
    }
    *status = !*function;
    return *function && of_version ? 0 : 500;
}

/* ---- memory ---- */

void fake_memory_left(size_t bytes)
{
    memory_left = bytes;
}
FAKE_API int cuMemGetInfo_v2(size_t *left, size_t *all);
int cuMemGetInfo_v2(size_t *left, size_t *all)
{
    *left = *all = memory_left;
    return 0;
}
FAKE_API int cuMemsetD8Async(cuda_pointer to, unsigned char value, size_t count, void *stream);
int cuMemsetD8Async(cuda_pointer to, unsigned char value, size_t count, void *stream)
{
    int code = fake_call("memset");
    if (code == 0) {
        fake_work_call(CUPTI_CALL_cuMemsetD8Async, CUPTI_SET, count, stream);
        memset((void *)(uintptr_t)to, value, count);
        fake_enqueue(stream);
    }
    return code;
}
FAKE_API int cuMemsetD32Async(cuda_pointer to, unsigned value, size_t count, void *stream);
int cuMemsetD32Async(cuda_pointer to, unsigned value, size_t count, void *stream)
{
    int code = fake_call("memset32");
    for (size_t i = 0; i < count && code == 0; i++)
        store_le32((char *)(uintptr_t)to + 4 * i, value);
    if (code == 0)
        fake_enqueue(stream);
    return code;
}
#ifndef FAKE_PLAIN
FAKE_API int cuStreamWriteValue64_v2(void *stream, cuda_pointer to, uint64_t value, unsigned flags);
int cuStreamWriteValue64_v2(void *stream, cuda_pointer to, uint64_t value, unsigned flags)
{
    (void)flags;
    int code = fake_call("write_value");
    if (code == 0) {
        store_le64((void *)(uintptr_t)to, value);
        fake_enqueue(stream);
    }
    return code;
}
#endif

/* ---- launches ---- */

static void store(uint64_t at, uint64_t value)
{
    store_le64((void *)(uintptr_t)at, value);
}

/* What the probes of a kernel of one warp store. */
static void run_probes(struct variables *variables)
{
    const struct ptx_shape *shape = &variables->shape;
    uint64_t at = load_le64(&variables->buffer), timer = (uint64_t)fake_timer();
    if (!at)
        return;
    if (load_le64(&shape->cells) == PTX_CELLS_COMPAT) {
        store(at, 1000);
        store(at + 8, 2000);
        store_le64(&variables->dropped, load_le64(&variables->dropped) + 3);
        return;
    }
    store(at, PTX_WIDE_MAGIC);
    store(at + 8, load_le64(&shape->hash));
    store(at + 32, timer);
    store(at + 40, 500);
    store(at + 56, UINT64_C(20) << 32 | 5); /* cycles of a pair, dropped */
    store(at + 64, 1000);
    store(at + 72, 2000);
    store(at + 80, timer + 10);
}

int fake_traced_launch(uint32_t id, const void *params, const struct cuda_launch_params *launch)
{
    char symbol[64];
    int status = 0, code;
    void *function = launch->function;
    struct variables *variables = fake_inject_find(function);
    if (!variables && fake_inject_find((void *)~(uintptr_t)function)) {
        function = (void *)~(uintptr_t)function;
        variables = fake_inject_find(function);
    }
    snprintf(symbol, sizeof symbol, "%.*s", (int)strcspn(function, " "), (const char *)function);
    fake_cupti_call(CUPTI_ENTER, id, params, symbol, NULL);
    bool bad = !launch->grid_x || !launch->grid_y || !launch->grid_z || !launch->block_x ||
               !launch->block_y || !launch->block_z;
    code = bad ? 1 : fake_launch(function, launch->stream, launch->arguments);
    bool runs = code == 0 && fake_is_capturing(launch->stream, &status) == 0 && status == 0;
    if (runs && variables)
        run_probes(variables);
    if (runs)
        tell_kernel(symbol, launch, runtime_correlation ? runtime_correlation : correlation_now, 0);
    fake_cupti_call(CUPTI_EXIT, id, params, symbol, &code);
    return code;
}

int cuLaunchKernelEx(const struct cuda_launch_config *config, void *function, void **arguments,
                     void **extra)
{
    (void)extra;
    const struct cuda_launch_params launch = {
        function,        config->grid_x,  config->grid_y,       config->grid_z, config->block_x,
        config->block_y, config->block_z, config->shared_bytes, config->stream, arguments};
    const struct cuda_launch_ex_params params = {config, function};
    return fake_traced_launch(CUPTI_CALL_cuLaunchKernelEx, &params, &launch);
}

int cuLaunchCooperativeKernel_ptsz(void *function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes, void *stream,
                                   void **arguments)
{
    struct cuda_launch_params launch = {function, grid_x,  grid_y,       grid_z, block_x,
                                        block_y,  block_z, shared_bytes, stream, arguments};
    struct cuda_launch_params params = launch;
    launch.stream = stream ? stream : CUDA_STREAM_PER_THREAD;
    return fake_traced_launch(CUPTI_CALL_cuLaunchCooperativeKernel_ptsz, &params, &launch);
}
