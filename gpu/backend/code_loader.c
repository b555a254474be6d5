/* SPDX-License-Identifier: Apache-2.0 */
#include "code_loader.h"

#include "gpu_failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the drivers of CUDA and HIP, which are found, started and closed alike ------------------ */
/*
 * A backend of the two says what is its own - names of libraries and symbols,
 * which compiler - and which of its functions do what both can do.
 */

static enum rbwp_status start(struct code_driver *driver, struct rbwp_error *error)
{
    const struct code_driver_kind *kind = driver->kind;
    int devices = 0;
    const char *what = kind->init_name;
    int code = driver->functions.init(0);
    if (code == GPU_OK) {
        what = kind->count_name;
        code = driver->functions.count(&devices);
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
    (void)driver->functions.version(&driver->base.version);
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
    enum rbwp_status status = gpu_symbols_load(
        library, kind->symbols, (char *)driver + kind->functions_offset, name, error);
    if (status == RBWP_OK) {
        driver->functions = kind->functions(driver);
        status = start(driver, error);
    }
    if (status != RBWP_OK) {
        code_driver_close(&driver->base);
        return status;
    }
    *driver_out = &driver->base;
    return RBWP_OK;
}

void code_driver_close(struct gpu_driver *base)
{
    struct code_driver *driver = (struct code_driver *)base;
    if (!driver)
        return;
    pthread_mutex_destroy(&driver->compiler_lock);
    free(driver->compiler_path);
    free(driver);
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

static enum rbwp_status load(struct gpu_context *context, const char *image, const char *name,
                             struct gpu_module **module_out, struct rbwp_error *error)
{
    struct gpu_module *module = calloc(1, sizeof *module);
    if (!module)
        return gpu_failure(error, RBWP_E_MEMORY, "%s: no memory for a module",
                           context->backend->name);
    module->driver = (struct code_driver *)context->driver;
    int code = module->driver->functions.load(&module->native, image);
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
        return load(context, text->ptx, text->name, module_out, error);
    if (!text->source)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "%s: no code that it can use in %s",
                           context->backend->name, text->name);
    char *code = NULL;
    enum rbwp_status status = compile(context, text, &code, error);
    if (status == RBWP_OK)
        status = load(context, code, text->name, module_out, error);
    free(code);
    return status;
}

void code_module_unload(struct gpu_module *module)
{
    if (!module)
        return;
    (void)module->driver->functions.unload(module->native);
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
    int code = module->driver->functions.get(&kernel->function, module->native, name);
    if (code != GPU_OK) {
        free(kernel);
        return code;
    }
    kernel->launch = module->driver->functions.launch;
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
