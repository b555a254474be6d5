/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl.c - OpenCL as a backend: devices of all platforms, queues, events, memory, code.
 *
 * An event is a marker enqueued on an
 * in-order queue; it is born when it is recorded, and the one before it is
 * released then. Out-of-order queues are refused: there a marker says nothing of
 * what comes behind it.
 */
#include "gpu_backend.h"
#include "gpu_loader.h"
#include "grow.h"
#include "opencl_abi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLATFORMS_MAX 16u

struct opencl_device {
    ocl_platform platform;
    ocl_device device;
};

struct opencl_driver {
    struct gpu_driver base;
    struct ocl_functions functions;
    struct opencl_device *device; /* base.devices of them, of all platforms */
    uint32_t device_room;
};

static const struct ocl_functions *opencl_of(const struct gpu_driver *driver)
{
    return &((const struct opencl_driver *)driver)->functions;
}

static ocl_device opencl_device_of(const struct gpu_context *context)
{
    return ((const struct opencl_driver *)context->driver)->device[context->ordinal].device;
}

static const char *const opencl_library_names[] = {"libOpenCL.so.1", NULL};

static const struct gpu_symbol opencl_symbols[] = {
#define OCL_SYMBOL(result, symbol, parameters)                                                     \
    {#symbol, offsetof(struct ocl_functions, symbol), false},
    OCL_FUNCTIONS(OCL_SYMBOL)
#undef OCL_SYMBOL
        {NULL, 0, false}};

/* ---- codes ------------------------------------------------------------------- */

static enum rbwp_status opencl_status_of(int code)
{
    switch (code) {
    case GPU_OK:
        return RBWP_OK;
    case GPU_NOT_READY:
        return RBWP_AGAIN;
    case GPU_INVALID:
        return RBWP_E_INVALID;
    case GPU_NO_MEMORY:
    case OCL_MEM_OBJECT_ALLOCATION_FAILURE:
    case OCL_OUT_OF_HOST_MEMORY:
    case OCL_OUT_OF_RESOURCES:
        return RBWP_E_MEMORY;
    case GPU_UNSUPPORTED:
    case OCL_DEVICE_NOT_FOUND:
    case OCL_PLATFORM_NOT_FOUND_KHR:
        return RBWP_E_UNSUPPORTED;
    case OCL_DEVICE_NOT_AVAILABLE:
    case OCL_INVALID_CONTEXT:
    case OCL_INVALID_COMMAND_QUEUE:
    case OCL_INVALID_EVENT:
        return RBWP_E_STATE;
    default:
        return RBWP_E_IO;
    }
}

static enum rbwp_status opencl_describe(const struct gpu_driver *driver, int code, const char *what,
                                        struct rbwp_error *error)
{
    return gpu_describe(driver, code, NULL, what, error);
}

/* ---- driver and devices -------------------------------------------------------- */

/* Adds the devices of one platform. Platforms before 1.2 lack markers and are passed over. */
static enum rbwp_status add_platform(struct opencl_driver *driver, ocl_platform platform)
{
    const struct ocl_functions *cl = &driver->functions;
    char version[1024] = "";
    ocl_uint count = 0;
    if (cl->clGetPlatformInfo(platform, OCL_PLATFORM_VERSION, sizeof version - 1, version, NULL) ||
        !strncmp(version, "OpenCL 1.0", 10) || !strncmp(version, "OpenCL 1.1", 10) ||
        cl->clGetDeviceIDs(platform, OCL_DEVICE_TYPE_ALL, 0, NULL, &count) || count == 0)
        return RBWP_OK;
    ocl_device *found = calloc(count, sizeof(ocl_device));
    if (!found || !grow_array32(&driver->device, &driver->device_room, driver->base.devices + count,
                                sizeof *driver->device)) {
        free(found);
        return RBWP_E_MEMORY;
    }
    if (cl->clGetDeviceIDs(platform, OCL_DEVICE_TYPE_ALL, count, found, NULL) == GPU_OK)
        for (ocl_uint i = 0; i < count; i++)
            driver->device[driver->base.devices++] = (struct opencl_device){platform, found[i]};
    int major = 0, minor = 0;
    if (version[0] && version[7] >= '1' && version[7] <= '9' && version[8] == '.') {
        major = version[7] - '0';
        minor = version[9] - '0';
    }
    if (major * 100 + minor > driver->base.version)
        driver->base.version = major * 100 + minor;
    free(found);
    return RBWP_OK;
}

static enum rbwp_status opencl_start(struct opencl_driver *driver, struct rbwp_error *error)
{
    ocl_platform platform[PLATFORMS_MAX];
    ocl_uint platforms = 0;
    int code = driver->functions.clGetPlatformIDs(PLATFORMS_MAX, platform, &platforms);
    if (code != GPU_OK && code != OCL_PLATFORM_NOT_FOUND_KHR) {
        (void)opencl_describe(&driver->base, code, "clGetPlatformIDs", error);
        if (error)
            error->status = RBWP_E_UNSUPPORTED;
        return RBWP_E_UNSUPPORTED;
    }
    enum rbwp_status status = RBWP_OK;
    for (ocl_uint i = 0; i < platforms && i < PLATFORMS_MAX && status == RBWP_OK; i++)
        status = add_platform(driver, platform[i]);
    if (status != RBWP_OK)
        return gpu_failure(error, status, "opencl: no memory");
    if (driver->base.devices == 0)
        return gpu_failure(error, RBWP_E_UNSUPPORTED,
                           "opencl: no device of version 1.2 or later: install a driver (an ICD)");
    return RBWP_OK;
}

static void opencl_close(struct gpu_driver *driver)
{
    if (driver)
        free(((struct opencl_driver *)driver)->device);
    free(driver);
}

static enum rbwp_status opencl_open(const struct gpu_libraries *libraries,
                                    struct gpu_driver **driver_out, struct rbwp_error *error)
{
    *driver_out = NULL;
    void *library = gpu_library_open(libraries ? libraries->driver : NULL, opencl_library_names,
                                     "opencl", error);
    if (!library)
        return RBWP_E_UNSUPPORTED;
    struct opencl_driver *driver = calloc(1, sizeof *driver);
    if (!driver)
        return gpu_failure(error, RBWP_E_MEMORY, "opencl: no memory");
    driver->base.backend = &gpu_opencl_backend;
    enum rbwp_status status =
        gpu_symbols_load(library, opencl_symbols, &driver->functions, "opencl", error);
    if (status == RBWP_OK)
        status = opencl_start(driver, error);
    if (status != RBWP_OK) {
        opencl_close(&driver->base);
        return status;
    }
    *driver_out = &driver->base;
    return RBWP_OK;
}

static uint64_t opencl_number(const struct ocl_functions *cl, ocl_device device, ocl_uint what,
                              size_t bytes)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    void *to = bytes == sizeof narrow ? (void *)&narrow : &wide;
    return cl->clGetDeviceInfo(device, what, bytes, to, NULL) == GPU_OK ? wide + narrow : 0;
}

static int opencl_device_info(struct gpu_driver *driver, unsigned ordinal,
                              struct gpu_device_info *info_out)
{
    const struct ocl_functions *cl = opencl_of(driver);
    *info_out = (struct gpu_device_info){0};
    if (ordinal >= driver->devices)
        return GPU_INVALID;
    ocl_device device = ((struct opencl_driver *)driver)->device[ordinal].device;
    char text[1024] = "";
    int code = cl->clGetDeviceInfo(device, OCL_DEVICE_NAME, sizeof text - 1, text, NULL);
    if (code != GPU_OK)
        return code;
    memcpy(info_out->name, text, sizeof info_out->name - 1);
    if (cl->clGetDeviceInfo(device, OCL_DEVICE_VERSION, sizeof text - 1, text, NULL) == GPU_OK)
        memcpy(info_out->arch, text, sizeof info_out->arch - 1);
    info_out->memory_bytes =
        opencl_number(cl, device, OCL_DEVICE_GLOBAL_MEM_SIZE, sizeof(uint64_t));
    info_out->multiprocessors =
        (uint32_t)opencl_number(cl, device, OCL_DEVICE_MAX_COMPUTE_UNITS, sizeof(ocl_uint));
    info_out->block_threads_max =
        (uint32_t)opencl_number(cl, device, OCL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
    info_out->shared_bytes_max =
        (uint32_t)opencl_number(cl, device, OCL_DEVICE_LOCAL_MEM_SIZE, sizeof(uint64_t));
    info_out->on_cpu =
        opencl_number(cl, device, OCL_DEVICE_TYPE, sizeof(ocl_flags)) & OCL_DEVICE_TYPE_CPU;
    return GPU_OK;
}

/* ---- contexts ------------------------------------------------------------------ */

static int context_of_queue(const struct ocl_functions *cl, ocl_device device, ocl_queue queue,
                            ocl_context *native_out)
{
    ocl_device of_queue = NULL;
    ocl_flags properties = 0;
    int code = cl->clGetCommandQueueInfo(queue, OCL_QUEUE_DEVICE, sizeof of_queue, &of_queue, NULL);
    if (code == GPU_OK)
        code = cl->clGetCommandQueueInfo(queue, OCL_QUEUE_PROPERTIES, sizeof properties,
                                         &properties, NULL);
    if (code == GPU_OK)
        code = cl->clGetCommandQueueInfo(queue, OCL_QUEUE_CONTEXT, sizeof *native_out, native_out,
                                         NULL);
    if (code == GPU_OK && (of_queue != device || (properties & OCL_QUEUE_OUT_OF_ORDER)))
        code = GPU_INVALID;
    return code == GPU_OK ? cl->clRetainContext(*native_out) : code;
}

static int opencl_context_open(struct gpu_driver *driver, unsigned ordinal, void *stream,
                               struct gpu_context **context_out)
{
    const struct ocl_functions *cl = opencl_of(driver);
    *context_out = NULL;
    if (ordinal >= driver->devices)
        return GPU_INVALID;
    struct gpu_context *context = calloc(1, sizeof *context);
    if (!context)
        return GPU_NO_MEMORY;
    *context = (struct gpu_context){&gpu_opencl_backend, driver, ordinal, NULL};
    const struct opencl_device *device = &((struct opencl_driver *)driver)->device[ordinal];
    int code = GPU_OK;
    if (stream) {
        code = context_of_queue(cl, device->device, stream, &context->native);
    } else {
        const ocl_property properties[] = {OCL_CONTEXT_PLATFORM, (ocl_property)device->platform, 0};
        context->native = cl->clCreateContext(properties, 1, &device->device, NULL, NULL, &code);
    }
    if (code != GPU_OK) {
        free(context);
        return code;
    }
    *context_out = context;
    return GPU_OK;
}

static void opencl_context_close(struct gpu_context *context)
{
    if (context)
        (void)opencl_of(context->driver)->clReleaseContext(context->native);
    free(context);
}

static int opencl_attach(struct gpu_context *context, struct gpu_attached *saved_out)
{
    (void)context; /* OpenCL has no current context */
    *saved_out = (struct gpu_attached){0};
    return GPU_OK;
}

static void opencl_detach(struct gpu_context *context, const struct gpu_attached *saved)
{
    (void)context, (void)saved;
}

/* ---- queues and events -------------------------------------------------------------- */

static int opencl_stream_create(struct gpu_context *context, void **stream_out)
{
    int code = GPU_OK;
    *stream_out = opencl_of(context->driver)
                      ->clCreateCommandQueue(context->native, opencl_device_of(context), 0, &code);
    return code;
}

static int opencl_stream_destroy(struct gpu_context *context, void *stream)
{
    return opencl_of(context->driver)->clReleaseCommandQueue(stream);
}

static int opencl_stream_flush(struct gpu_context *context, void *stream)
{
    return opencl_of(context->driver)->clFlush(stream);
}

static int opencl_stream_wait(struct gpu_context *context, void *stream)
{
    return opencl_of(context->driver)->clFinish(stream);
}

static bool opencl_stream_capturing(struct gpu_context *context, void *stream)
{
    (void)context, (void)stream; /* a queue of ours is none of recorded commands */
    return false;
}

static int opencl_event_create(struct gpu_context *context, struct gpu_event *event_out)
{
    (void)context;
    event_out->native = NULL;
    return GPU_OK;
}

static void opencl_event_destroy(struct gpu_context *context, struct gpu_event *event)
{
    if (event->native)
        (void)opencl_of(context->driver)->clReleaseEvent(event->native);
    event->native = NULL;
}

static int opencl_event_record(struct gpu_context *context, struct gpu_event *event, void *stream)
{
    opencl_event_destroy(context, event);
    return opencl_of(context->driver)->clEnqueueMarkerWithWaitList(stream, 0, NULL, &event->native);
}

static int opencl_event_query(struct gpu_context *context, const struct gpu_event *event)
{
    ocl_int state = 0;
    int code = opencl_of(context->driver)
                   ->clGetEventInfo(event->native, OCL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                    &state, NULL);
    if (code != GPU_OK)
        return code;
    return state > OCL_COMPLETE ? GPU_NOT_READY : state; /* negative: why the command failed */
}

/* ---- memory ---------------------------------------------------------------------------- */

static int opencl_memory_alloc(struct gpu_context *context, uint64_t bytes,
                               struct gpu_memory *memory_out)
{
    int code = GPU_OK;
    ocl_memory memory =
        opencl_of(context->driver)
            ->clCreateBuffer(context->native, OCL_MEM_READ_WRITE, bytes, NULL, &code);
    *memory_out = (struct gpu_memory){memory, code == GPU_OK ? bytes : 0};
    return code;
}

static void opencl_memory_free(struct gpu_context *context, struct gpu_memory *memory)
{
    if (memory->native)
        (void)opencl_of(context->driver)->clReleaseMemObject(memory->native);
    *memory = (struct gpu_memory){0};
}

/* OpenCL reaches any host memory; what it has for pinning needs mapped buffers. */
static int opencl_host_alloc(struct gpu_context *context, uint64_t bytes, void **host_out)
{
    (void)context;
    *host_out = NULL;
    return posix_memalign(host_out, 4096, bytes) == 0 ? GPU_OK : GPU_NO_MEMORY;
}

static void opencl_host_free(struct gpu_context *context, void *host)
{
    (void)context;
    free(host);
}

static int opencl_copy_flat(const struct ocl_functions *cl, const struct gpu_copy *part,
                            void *queue)
{
    const struct gpu_copy_side *dst = &part->dst, *src = &part->src;
    if (!src->device)
        return cl->clEnqueueWriteBuffer(queue, dst->device->native, OCL_FALSE, dst->offset_bytes,
                                        part->width_bytes, gpu_copy_address(src), 0, NULL, NULL);
    if (!dst->device)
        return cl->clEnqueueReadBuffer(queue, src->device->native, OCL_FALSE, src->offset_bytes,
                                       part->width_bytes, gpu_copy_address(dst), 0, NULL, NULL);
    return cl->clEnqueueCopyBuffer(queue, src->device->native, dst->device->native,
                                   src->offset_bytes, dst->offset_bytes, part->width_bytes, 0, NULL,
                                   NULL);
}

/* An origin's first number is in bytes and adds to the start, so it takes the whole offset. */
static int opencl_copy_part(struct gpu_context *context, const struct gpu_copy *part, bool is_flat,
                            void *queue)
{
    const struct ocl_functions *cl = opencl_of(context->driver);
    if (is_flat)
        return opencl_copy_flat(cl, part, queue);
    const struct gpu_copy_side *dst = &part->dst, *src = &part->src;
    const size_t to[3] = {dst->offset_bytes, 0, 0}, from[3] = {src->offset_bytes, 0, 0};
    const size_t region[3] = {part->width_bytes, part->height, part->depth};
    if (!src->device)
        return cl->clEnqueueWriteBufferRect(queue, dst->device->native, OCL_FALSE, to, from, region,
                                            dst->row_bytes, dst->slice_bytes, src->row_bytes,
                                            src->slice_bytes, src->host, 0, NULL, NULL);
    if (!dst->device)
        return cl->clEnqueueReadBufferRect(queue, src->device->native, OCL_FALSE, from, to, region,
                                           src->row_bytes, src->slice_bytes, dst->row_bytes,
                                           dst->slice_bytes, dst->host, 0, NULL, NULL);
    return cl->clEnqueueCopyBufferRect(queue, src->device->native, dst->device->native, from, to,
                                       region, src->row_bytes, src->slice_bytes, dst->row_bytes,
                                       dst->slice_bytes, 0, NULL, NULL);
}

/* Devices are opened with a context each, whose memory no other one's queue takes. */
static int opencl_peer_enable(struct gpu_context *context, struct gpu_context *peer,
                              bool *direct_out)
{
    *direct_out = !gpu_is_peer(context, peer);
    return *direct_out ? GPU_OK : GPU_UNSUPPORTED;
}

static int opencl_memory_share(struct gpu_context *context, const struct gpu_memory *memory,
                               uint8_t words[GPU_SHARE_BYTES])
{
    (void)context, (void)memory, (void)words;
    return GPU_UNSUPPORTED;
}

static int opencl_memory_map(struct gpu_context *context, const uint8_t words[GPU_SHARE_BYTES],
                             uint64_t bytes, struct gpu_memory *memory_out)
{
    (void)context, (void)words, (void)bytes;
    *memory_out = (struct gpu_memory){0};
    return GPU_UNSUPPORTED;
}

static void opencl_memory_unmap(struct gpu_context *context, struct gpu_memory *memory)
{
    (void)context, (void)memory;
}

static uint64_t opencl_timer_hz(struct gpu_context *context)
{
    (void)context; /* kernels have no timer */
    return 0;
}

/* ---- programs, kernels and launches -------------------------------------------------- */

/* It holds its arguments, so setting them and enqueueing is one step under a lock of the kernel. */
struct gpu_kernel {
    struct gpu_kernel *next; /* of the same module */
    const struct ocl_functions *functions;
    ocl_kernel native;
    pthread_mutex_t lock; /* guards the arguments in native; drivers take theirs inside it */
};

struct gpu_module {
    struct gpu_context *context;
    ocl_program program;
    pthread_mutex_t lock; /* guards kernels; nothing is taken inside it */
    struct gpu_kernel *kernels;
};

static enum rbwp_status opencl_explain(struct gpu_module *module, const struct gpu_code_text *text,
                                       struct rbwp_error *error)
{
    const struct ocl_functions *cl = opencl_of(module->context->driver);
    ocl_device device = opencl_device_of(module->context);
    size_t size = 0;
    char *log = NULL;
    if (cl->clGetProgramBuildInfo(module->program, device, OCL_PROGRAM_BUILD_LOG, 0, NULL, &size) ==
            GPU_OK &&
        (log = calloc(1, size + 1)))
        (void)cl->clGetProgramBuildInfo(module->program, device, OCL_PROGRAM_BUILD_LOG, size, log,
                                        NULL);
    gpu_failure(error, RBWP_E_INVALID, "%s does not compile: %.*s", text->name,
                (int)strcspn(log ? log : "", "\n"), log ? log : "");
    if (text->log && text->log_bytes)
        snprintf(text->log, text->log_bytes, "%s", log ? log : "");
    free(log);
    return RBWP_E_INVALID;
}

static enum rbwp_status build(struct gpu_module *module, const struct gpu_code_text *text,
                              struct rbwp_error *error)
{
    const struct gpu_context *context = module->context;
    const struct ocl_functions *cl = opencl_of(context->driver);
    const char *source = text->source;
    int code = GPU_OK;
    module->program = cl->clCreateProgramWithSource(context->native, 1, &source, NULL, &code);
    if (code != GPU_OK)
        return gpu_describe(context->driver, code, NULL, text->name, error);
    ocl_device device = opencl_device_of(context);
    code = cl->clBuildProgram(module->program, 1, &device, NULL, NULL, NULL);
    if (code == OCL_BUILD_PROGRAM_FAILURE)
        return opencl_explain(module, text, error);
    return code == GPU_OK ? RBWP_OK : gpu_describe(context->driver, code, NULL, text->name, error);
}

static void opencl_module_unload(struct gpu_module *module)
{
    if (!module)
        return;
    const struct ocl_functions *cl = opencl_of(module->context->driver);
    for (struct gpu_kernel *kernel = module->kernels, *next; kernel; kernel = next) {
        next = kernel->next;
        (void)cl->clReleaseKernel(kernel->native);
        pthread_mutex_destroy(&kernel->lock);
        free(kernel);
    }
    if (module->program)
        (void)cl->clReleaseProgram(module->program);
    pthread_mutex_destroy(&module->lock);
    free(module);
}

static enum rbwp_status opencl_module_load(struct gpu_context *context,
                                           const struct gpu_code_text *text,
                                           struct gpu_module **module_out, struct rbwp_error *error)
{
    *module_out = NULL;
    if (text->log && text->log_bytes)
        text->log[0] = 0;
    if (!text->source)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "opencl: no code that it can use in %s",
                           text->name);
    struct gpu_module *module = calloc(1, sizeof *module);
    if (!module)
        return gpu_failure(error, RBWP_E_MEMORY, "opencl: no memory for a module");
    module->context = context;
    pthread_mutex_init(&module->lock, NULL);
    enum rbwp_status status = build(module, text, error);
    if (status != RBWP_OK) {
        opencl_module_unload(module);
        return status;
    }
    *module_out = module;
    return RBWP_OK;
}

static int opencl_kernel_get(struct gpu_module *module, const char *name,
                             struct gpu_kernel **kernel_out)
{
    *kernel_out = NULL;
    struct gpu_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return GPU_NO_MEMORY;
    int code = GPU_OK;
    kernel->functions = opencl_of(module->context->driver);
    kernel->native = kernel->functions->clCreateKernel(module->program, name, &code);
    if (code != GPU_OK) {
        free(kernel);
        return code;
    }
    pthread_mutex_init(&kernel->lock, NULL);
    pthread_mutex_lock(&module->lock);
    kernel->next = module->kernels;
    module->kernels = kernel;
    pthread_mutex_unlock(&module->lock);
    *kernel_out = kernel;
    return GPU_OK;
}

static int opencl_launch(struct gpu_kernel *kernel, const struct gpu_launch *launch, void *stream)
{
    const struct ocl_functions *cl = kernel->functions;
    if (launch->shared_bytes || launch->arg_count > GPU_ARGS_MAX)
        return GPU_INVALID;
    size_t global[3], local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = launch->block[i];
        global[i] = (size_t)launch->grid[i] * launch->block[i];
    }
    int code = GPU_OK;
    pthread_mutex_lock(&kernel->lock);
    for (uint32_t i = 0; i < launch->arg_count && code == GPU_OK; i++)
        code = cl->clSetKernelArg(kernel->native, i, launch->args[i].bytes, launch->args[i].value);
    if (code == GPU_OK)
        code = cl->clEnqueueNDRangeKernel(stream, kernel->native, 3, NULL, global, local, 0, NULL,
                                          NULL);
    pthread_mutex_unlock(&kernel->lock);
    return code;
}

const struct gpu_backend gpu_opencl_backend =
    GPU_BACKEND(opencl, opencl, GPU_OPENCL, opencl_status_of);
