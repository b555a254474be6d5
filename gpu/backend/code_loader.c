/* SPDX-License-Identifier: Apache-2.0 */
#include "code_loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVRTC_SYMBOL(member, parameters, nvrtc, hiprtc)                                            \
    {#nvrtc, offsetof(struct rtc_functions, member), false},
#define HIPRTC_SYMBOL(member, parameters, nvrtc, hiprtc)                                           \
    {#hiprtc, offsetof(struct rtc_functions, member), false},
static const struct rtc_library {
    const char *name;
    const char *const *libraries;
    const struct gpu_symbol *symbols;
} rtc_libraries[] = {
    [RTC_NVRTC] = {"nvrtc",
                   (const char *const[]){"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                         "libnvrtc.so.11.2", NULL},
                   (const struct gpu_symbol[]){RTC_CALLS(NVRTC_SYMBOL){NULL, 0, false}}},
    [RTC_HIPRTC] = {"hiprtc",
                    (const char *const[]){"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6",
                                          "libhiprtc.so.5", NULL},
                    (const struct gpu_symbol[]){RTC_CALLS(HIPRTC_SYMBOL){NULL, 0, false}}},
};

/*
 * Opens the compiler: given, or the usual names, or else (may be NULL) a library that is open
 * already. RBWP_E_UNSUPPORTED with the reason.
 */
static enum rbwp_status rtc_open(enum rtc_kind kind, const char *given, void *else_library,
                                 struct rtc_functions *functions_out, struct rbwp_error *error)
{
    const struct rtc_library *row = &rtc_libraries[kind];
    void *library = gpu_library_open(given, row->libraries, row->name, error);
    if (!library && !given)
        library = else_library;
    if (!library)
        return RBWP_E_UNSUPPORTED;
    return gpu_symbols_load(library, row->symbols, functions_out, row->name, error);
}

/* The compiler's words go to text->log, their first line with an error into error. */
static enum rbwp_status rtc_explain(const struct rtc_functions *rtc, rtc_program program,
                                    const struct gpu_code_text *text, struct rbwp_error *error)
{
    size_t size = 0;
    char *log = NULL;
    if (rtc->log_size(program, &size) == 0 && (log = calloc(1, size + 1)))
        rtc->log(program, log);
    const char *line = log ? strstr(log, "error") : NULL;
    while (line && line > log && line[-1] != '\n')
        line--;
    line = line ? line : log ? log : "";
    gpu_failure(error, RBWP_E_INVALID, "%s does not compile: %.*s", text->name,
                (int)strcspn(line, "\n"), line);
    if (log && text->log && text->log_bytes) {
        size_t kept = size < text->log_bytes ? size : text->log_bytes - 1;
        memcpy(text->log, log, kept);
        text->log[kept] = 0;
    }
    free(log);
    return RBWP_E_INVALID;
}

static enum rbwp_status take_code(const struct rtc_functions *rtc, rtc_program program,
                                  const struct gpu_code_text *text, char **code_out,
                                  struct rbwp_error *error)
{
    size_t size = 0;
    if (rtc->code_size(program, &size) != 0)
        return gpu_failure(error, RBWP_E_IO, "%s: the compiler gives no code", text->name);
    char *code = calloc(1, size + 1);
    if (!code)
        return gpu_failure(error, RBWP_E_MEMORY, "no memory for the code of %s", text->name);
    if (rtc->code(program, code) != 0) {
        free(code);
        return gpu_failure(error, RBWP_E_IO, "%s: the compiler gives no code", text->name);
    }
    *code_out = code;
    return RBWP_OK;
}

/*
 * Compiles text->source with the option `arch` unless it is NULL. *code_out is to be freed.
 * RBWP_E_INVALID if it does not compile (first line of the log in error, all in text->log),
 * RBWP_E_MEMORY, RBWP_E_IO.
 */
static enum rbwp_status rtc_compile(const struct rtc_functions *rtc,
                                    const struct gpu_code_text *text, const char *arch,
                                    char **code_out, struct rbwp_error *error)
{
    rtc_program program = NULL;
    if (rtc->create(&program, text->source, text->name, 0, NULL, NULL) != 0)
        return gpu_failure(error, RBWP_E_IO, "%s: the compiler does not start", text->name);
    enum rbwp_status status = rtc->compile(program, arch != NULL, &arch) == 0
                                  ? take_code(rtc, program, text, code_out, error)
                                  : rtc_explain(rtc, program, text, error);
    rtc->destroy(&program);
    return status;
}

/* ---- the drivers of CUDA and HIP, which are found, started and closed alike ------------------ */
/*
 * A backend of the two says what is its own: names of libraries and symbols, numbers of
 * attributes, which compiler.
 */

_Static_assert(GPU_NOT_READY == DRIVER_NOT_READY && GPU_UNSUPPORTED == DRIVER_NOT_SUPPORTED &&
                   GPU_CAPTURING == DRIVER_CAPTURE_UNSUPPORTED &&
                   GPU_CAPTURING_LAST == DRIVER_CAPTURE_IMPLICIT &&
                   GPU_SHARE_BYTES == sizeof(struct driver_share_words),
               "codes are shared, and shares are whole");

static enum rbwp_status code_loader_start(struct code_driver *driver, struct rbwp_error *error)
{
    const struct code_driver_kind *kind = driver->kind;
    int devices = 0;
    const char *what = kind->init_name;
    int code = driver->calls.init(0);
    if (code == GPU_OK) {
        what = kind->count_name;
        code = driver->calls.device_count(&devices);
    }
    if (code != GPU_OK) {
        kind->backend->describe(&driver->base, code, what, error);
        if (error)
            error->status = RBWP_E_UNSUPPORTED;
        return RBWP_E_UNSUPPORTED;
    }
    if (devices <= 0)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "%s: the driver has no device",
                           kind->backend->name);
    driver->base.devices = (unsigned)devices;
    (void)driver->calls.version(&driver->base.version);
    return RBWP_OK;
}

static struct code_driver *make_driver(const struct code_driver_kind *kind,
                                       const struct gpu_libraries *libraries)
{
    const char *path = libraries ? libraries->compiler : NULL;
    struct code_driver *driver = calloc(1, kind->driver_bytes);
    if (!driver)
        return NULL;
    if (path && !(driver->compiler_path = strdup(path))) {
        free(driver);
        return NULL;
    }
    driver->base.backend = kind->backend;
    driver->kind = kind;
    pthread_mutex_init(&driver->compiler_lock, NULL);
    return driver;
}

enum rbwp_status code_driver_open(const struct code_driver_kind *kind,
                                  const struct gpu_libraries *libraries,
                                  struct gpu_driver **driver_out, struct rbwp_error *error)
{
    const char *name = kind->backend->name;
    *driver_out = NULL;
    void *library =
        gpu_library_open(libraries ? libraries->driver : NULL, kind->so_names, name, error);
    if (!library)
        return RBWP_E_UNSUPPORTED;
    struct code_driver *driver = make_driver(kind, libraries);
    if (!driver)
        return gpu_failure(error, RBWP_E_MEMORY, "%s: no memory", name);
    driver->library = library;
    enum rbwp_status status = gpu_symbols_load(library, kind->symbols, driver, name, error);
    if (status == RBWP_OK)
        status = code_loader_start(driver, error);
    if (status != RBWP_OK) {
        code_close(&driver->base);
        return status;
    }
    *driver_out = &driver->base;
    return RBWP_OK;
}

void code_close(struct gpu_driver *base)
{
    struct code_driver *driver = (struct code_driver *)base;
    if (!driver)
        return;
    pthread_mutex_destroy(&driver->compiler_lock);
    free(driver->compiler_path);
    free(driver);
}

uint32_t code_attribute(const struct gpu_driver *driver, driver_device device,
                        driver_attribute which)
{
    int value = 0;
    int code = code_calls(driver)->device_attribute(&value, which, device);
    return code == GPU_OK && value > 0 ? (uint32_t)value : 0;
}

int code_device_info(const struct gpu_driver *driver, driver_device device,
                     struct gpu_device_info *info_out)
{
    const struct driver_functions *calls = code_calls(driver);
    const struct code_driver_kind *kind = ((const struct code_driver *)driver)->kind;
    size_t memory_bytes = 0;
    int code = calls->device_name(info_out->name, sizeof info_out->name - 1, device);
    if (code != GPU_OK)
        return code;
    if (calls->device_bytes(&memory_bytes, device) == GPU_OK)
        info_out->memory_bytes = memory_bytes;
    info_out->multiprocessors = code_attribute(driver, device, kind->multiprocessors);
    info_out->warp_threads = code_attribute(driver, device, kind->warp_threads);
    info_out->block_threads_max = code_attribute(driver, device, kind->block_threads_max);
    info_out->shared_bytes_max = code_attribute(driver, device, kind->shared_bytes_max);
    return GPU_OK;
}

driver_capture_mode code_spare_captures(const struct gpu_driver *driver)
{
    driver_capture_mode mode = DRIVER_CAPTURE_RELAXED;
    if (code_calls(driver)->exchange_capture_mode)
        (void)code_calls(driver)->exchange_capture_mode(&mode);
    return mode;
}

void code_restore_captures(const struct gpu_driver *driver, driver_capture_mode mode)
{
    if (code_calls(driver)->exchange_capture_mode)
        (void)code_calls(driver)->exchange_capture_mode(&mode);
}

/* ---- streams and events, memory -------------------------------------------------------------- */

static const struct driver_functions *calls_of(const struct gpu_context *context)
{
    return code_calls(context->driver);
}

int code_stream_create(struct gpu_context *context, void **stream_out)
{
    return calls_of(context)->stream_create(stream_out, DRIVER_STREAM_NON_BLOCKING);
}

int code_stream_destroy(struct gpu_context *context, void *stream)
{
    return calls_of(context)->stream_destroy(stream);
}

int code_stream_flush(struct gpu_context *context, void *stream)
{
    (void)context, (void)stream; /* CUDA submits at once, and hipEventQuery what it waits for */
    return GPU_OK;
}

int code_stream_wait(struct gpu_context *context, void *stream)
{
    return calls_of(context)->stream_wait(stream);
}

/* The default stream answers with an error while a stream that waits for it is captured. */
bool code_stream_capturing(struct gpu_context *context, void *stream)
{
    const struct driver_functions *calls = calls_of(context);
    driver_capture_status status = DRIVER_CAPTURE_NONE;
    int code = calls->stream_capturing ? calls->stream_capturing(stream, &status) : GPU_OK;
    return code == GPU_OK ? status != DRIVER_CAPTURE_NONE : gpu_is_capturing(code);
}

int code_event_create(struct gpu_context *context, struct gpu_event *event_out)
{
    return calls_of(context)->event_create(&event_out->native, DRIVER_EVENT_DISABLE_TIMING);
}

void code_event_destroy(struct gpu_context *context, struct gpu_event *event)
{
    if (event->native)
        (void)calls_of(context)->event_destroy(event->native);
    event->native = NULL;
}

int code_event_record(struct gpu_context *context, struct gpu_event *event, void *stream)
{
    return calls_of(context)->event_record(event->native, stream);
}

int code_event_query(struct gpu_context *context, const struct gpu_event *event)
{
    driver_capture_mode mode = code_spare_captures(context->driver);
    int code = calls_of(context)->event_query(event->native);
    code_restore_captures(context->driver, mode);
    return gpu_is_capturing(code) ? GPU_NOT_READY : code;
}

void code_host_free(struct gpu_context *context, void *host)
{
    if (host)
        (void)calls_of(context)->host_free(host);
}

/* ---- code loader ----------------------------------------------------------------------------- */

struct gpu_kernel {
    struct gpu_kernel *next; /* of the same module */
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    void *function;
};

struct gpu_module {
    struct code_driver *driver;
    void *native;
    pthread_mutex_t lock; /* guards kernels; nothing is taken inside it */
    struct gpu_kernel *kernels;
};

static enum rbwp_status open_compiler(struct code_driver *driver, struct rbwp_error *error)
{
    enum rbwp_status status = RBWP_OK;
    pthread_mutex_lock(&driver->compiler_lock);
    if (!driver->compiler_open)
        status = rtc_open(driver->kind->compiler_kind, driver->compiler_path,
                          driver->kind->may_have_compiler ? driver->library : NULL,
                          &driver->compiler, error);
    driver->compiler_open = status == RBWP_OK;
    pthread_mutex_unlock(&driver->compiler_lock);
    return status;
}

/* Compiles the source for the context's device. */
static enum rbwp_status compile(struct gpu_context *context, const struct gpu_code_text *text,
                                char **code_out, struct rbwp_error *error)
{
    struct code_driver *driver = (struct code_driver *)context->driver;
    enum rbwp_status status = open_compiler(driver, error);
    if (status != RBWP_OK)
        return status;
    struct gpu_device_info info;
    char arch[sizeof info + 32];
    bool names_arch =
        driver->kind->names_arch &&
        context->backend->device_info(context->driver, context->ordinal, &info) == GPU_OK &&
        strncmp(info.arch, "sm_", 3) == 0;
    if (names_arch)
        snprintf(arch, sizeof arch, "--gpu-architecture=compute_%s", info.arch + 3);
    return rtc_compile(&driver->compiler, text, names_arch ? arch : NULL, code_out, error);
}

static enum rbwp_status code_loader_load(struct gpu_context *context, const char *image,
                                         const char *name, struct gpu_module **module_out,
                                         struct rbwp_error *error)
{
    struct gpu_module *module = calloc(1, sizeof *module);
    if (!module)
        return gpu_failure(error, RBWP_E_MEMORY, "%s: no memory for a module",
                           context->backend->name);
    module->driver = (struct code_driver *)context->driver;
    int code = module->driver->calls.module_load(&module->native, image);
    if (code != GPU_OK) {
        free(module);
        return context->backend->describe(context->driver, code, name, error);
    }
    pthread_mutex_init(&module->lock, NULL);
    *module_out = module;
    return RBWP_OK;
}

enum rbwp_status code_module_load(struct gpu_context *context, const struct gpu_code_text *text,
                                  struct gpu_module **module_out, struct rbwp_error *error)
{
    *module_out = NULL;
    if (text->log && text->log_bytes)
        text->log[0] = 0;
    const struct code_driver *driver = (const struct code_driver *)context->driver;
    if (driver->kind->takes_ptx && text->ptx)
        return code_loader_load(context, text->ptx, text->name, module_out, error);
    if (!text->source)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "%s: no code that it can use in %s",
                           context->backend->name, text->name);
    char *code = NULL;
    enum rbwp_status status = compile(context, text, &code, error);
    if (status == RBWP_OK)
        status = code_loader_load(context, code, text->name, module_out, error);
    free(code);
    return status;
}

void code_module_unload(struct gpu_module *module)
{
    if (!module)
        return;
    (void)module->driver->calls.module_unload(module->native);
    for (struct gpu_kernel *kernel = module->kernels, *next; kernel; kernel = next) {
        next = kernel->next;
        free(kernel);
    }
    pthread_mutex_destroy(&module->lock);
    free(module);
}

int code_kernel_get(struct gpu_module *module, const char *name, struct gpu_kernel **kernel_out)
{
    *kernel_out = NULL;
    struct gpu_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return GPU_NO_MEMORY;
    int code = module->driver->calls.module_function(&kernel->function, module->native, name);
    if (code != GPU_OK) {
        free(kernel);
        return code;
    }
    kernel->launch = module->driver->calls.launch;
    pthread_mutex_lock(&module->lock);
    kernel->next = module->kernels;
    module->kernels = kernel;
    pthread_mutex_unlock(&module->lock);
    *kernel_out = kernel;
    return GPU_OK;
}

int code_launch(struct gpu_kernel *kernel, const struct gpu_launch *launch, void *stream)
{
    void *arguments[GPU_ARGS_MAX];
    if (launch->arg_count > GPU_ARGS_MAX)
        return GPU_INVALID;
    for (uint32_t i = 0; i < launch->arg_count; i++)
        arguments[i] = (void *)(uintptr_t)launch->args[i].value;
    return kernel->launch(kernel->function, launch->grid[0], launch->grid[1], launch->grid[2],
                          launch->block[0], launch->block[1], launch->block[2],
                          launch->shared_bytes, stream, arguments, NULL);
}
