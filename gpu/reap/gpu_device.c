/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_device.c - devices are opened and closed.
 */
#include "gpu_stream.h"

#include "gpu_backend.h"
#include "rbwp_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAIN_LIMIT_NS UINT64_C(1000000000)

_Static_assert((int)GPU_CUDA == RBWP_GPU_CUDA && (int)GPU_HIP == RBWP_GPU_HIP &&
                   (int)GPU_OPENCL == RBWP_GPU_OPENCL,
               "one numbering");

static const struct gpu_backend *const backends[GPU_APIS] = {[GPU_CUDA] = &gpu_cuda_backend,
                                                             [GPU_HIP] = &gpu_hip_backend,
                                                             [GPU_OPENCL] = &gpu_opencl_backend};

const char *rbwp_gpu_api_name(unsigned api)
{
    return api < GPU_APIS ? backends[api]->name : "unknown";
}

enum rbwp_status rbwp_gpu_count(enum rbwp_gpu_api api, const char *driver_library,
                                unsigned *count_out, struct rbwp_error *error)
{
    *count_out = 0;
    if ((unsigned)api >= GPU_APIS)
        return gpu_failure(error, RBWP_E_INVALID, "%d is no GPU API", (int)api);
    struct gpu_driver *driver;
    const struct gpu_libraries libraries = {.driver = driver_library};
    enum rbwp_status status = backends[api]->open(&libraries, &driver, error);
    if (status != RBWP_OK)
        return status;
    *count_out = driver->devices;
    backends[api]->close(driver);
    return RBWP_OK;
}

struct gpu_context *rbwp_extend_gpu_context(struct rbwp_gpu_device *device)
{
    return device->context;
}

void rbwp_gpu_device_facts_sized(const struct rbwp_gpu_device *device,
                                 struct rbwp_gpu_facts *facts_out, size_t facts_bytes)
{
    static const struct rbwp_gpu_facts none;
    sized_give(facts_out, facts_bytes, device ? &device->facts : &none, sizeof none);
}

/* ---- open ------------------------------------------------------------------------ */

/* The names of reaping at level 2, once per process; ids are never given back. */
static void name_reaps(unsigned sub_item[4])
{
    static const char *const names[4] = {"stream reap", "device-to-host", "host-to-device",
                                         "device-to-device"};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned ids[4];
    static bool named[4];
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < 4; i++) {
        if (!named[i])
            named[i] = rbwp_sub_item_register(RBWP_GPU_REAP, names[i], &ids[i]) == RBWP_OK;
        sub_item[i] = named[i] ? ids[i] : RBWP_SUB_ITEMS_MAX; /* refused and counted */
    }
    pthread_mutex_unlock(&lock);
}

/* The driver, the device and its context. */
static enum rbwp_status open_context(struct rbwp_gpu_device *device,
                                     const struct rbwp_gpu_config *config, struct rbwp_error *error)
{
    const struct gpu_backend *backend = backends[config->api];
    const struct gpu_libraries libraries = {config->driver_library, config->compiler_library};
    enum rbwp_status status = backend->open(&libraries, &device->driver, error);
    if (status != RBWP_OK)
        return status;
    if (config->ordinal >= device->driver->devices)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "%s: no device %u: there are %u",
                           backend->name, config->ordinal, device->driver->devices);
    struct gpu_device_info info;
    int code = backend->device_info(device->driver, config->ordinal, &info);
    if (code == GPU_OK)
        code = backend->context_open(device->driver, config->ordinal, NULL, &device->context);
    if (code != GPU_OK)
        return backend->describe(device->driver, code, "the device can't be opened", error);
    memcpy(device->facts.name, info.name, sizeof device->facts.name);
    device->facts.multiprocessors = info.multiprocessors;
    device->facts.memory_bytes = info.memory_bytes;
    device->facts.on_cpu = info.on_cpu;
    return RBWP_OK;
}

/* The work item that reaps, asleep. */
static enum rbwp_status add_reaper(struct rbwp_gpu_device *device, struct rbwp_error *error)
{
    char name[64];
    snprintf(name, sizeof name, "gpu reap %s:%u", device->driver->backend->name,
             device->context->ordinal);
    if (!device->manager)
        return RBWP_OK;
    enum rbwp_status status =
        rbwp_work_add(device->manager, name, gpu_reap_work, device, -1, &device->work);
    if (status != RBWP_OK)
        return gpu_failure(error, status, "%s: no work item for it: %s", name,
                           rbwp_status_text(status));
    atomic_store(&device->idle, true);
    return RBWP_OK;
}

static void free_device(struct rbwp_gpu_device *device)
{
    if (device->context)
        device->context->backend->context_close(device->context);
    if (device->driver)
        device->driver->backend->close(device->driver);
    pthread_cond_destroy(&device->reaping_ended);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

/* Measures, and takes part in the ends of sessions. */
static enum rbwp_status introduce(struct rbwp_gpu_device *device,
                                  const struct rbwp_gpu_config *config, struct rbwp_error *error)
{
    if (!config->no_bias)
        gpu_bias_measure(device);
    gpu_rows_prepare(device);
    enum rbwp_status status = gpu_session_join(device);
    return status == RBWP_OK ? RBWP_OK
                             : gpu_failure(error, status, "%s: no room for another GPU",
                                           device->driver->backend->name);
}

enum rbwp_status rbwp_gpu_device_open(const struct rbwp_gpu_config *given,
                                      struct rbwp_gpu_device **device_out, struct rbwp_error *error)
{
    struct rbwp_gpu_config own;
    const struct rbwp_gpu_config *const config = &own;
    *device_out = NULL;
    enum rbwp_status status = sized_take(&own, sizeof own, given, "rbwp_gpu_config", error);
    if (status != RBWP_OK)
        return status;
    if ((unsigned)config->api >= GPU_APIS)
        return gpu_failure(error, RBWP_E_INVALID, "%d is no GPU API", (int)config->api);
    (void)rbwp_ticks_per_second(); /* decides which clock ticks are of, before any is read */
    struct rbwp_gpu_device *device = gpu_lines_alloc(sizeof *device);
    if (!device)
        return gpu_failure(error, RBWP_E_MEMORY, "no memory for a GPU");
    pthread_mutex_init(&device->lock, NULL);
    pthread_cond_init(&device->reaping_ended, NULL);
    gpu_device_claim(device);
    device->api = config->api;
    device->manager = config->manager;
    device->drain_limit_ns = config->drain_limit_ns ? config->drain_limit_ns : DRAIN_LIMIT_NS;
    device->facts.proc_id =
        config->proc_id ? config->proc_id : ((uint64_t)config->api + 1) << 32 | config->ordinal;
    name_reaps(device->sub_item);
    status = open_context(device, config, error);
    if (status == RBWP_OK)
        status = introduce(device, config, error);
    if (status == RBWP_OK && (status = add_reaper(device, error)) != RBWP_OK)
        gpu_session_leave(device);
    if (status != RBWP_OK) {
        free_device(device);
        return status;
    }
    *device_out = device;
    return RBWP_OK;
}

/* ---- close ---------------------------------------------------------------------------- */

enum rbwp_status rbwp_gpu_device_close(struct rbwp_gpu_device *device)
{
    if (!device || !gpu_device_is_ours(device))
        return RBWP_OK;
    if (!gpu_reaping_begin(device, true))
        return RBWP_E_STATE;
    gpu_reaping_end(device);
    gpu_session_leave(device);
    if (device->manager)
        (void)rbwp_work_remove(device->manager, device->work);
    atomic_store(&device->idle, false);
    (void)gpu_reaping_begin(device, true);
    gpu_drain_streams(device);
    gpu_reaping_end(device);
    free_device(device);
    return RBWP_OK;
}
