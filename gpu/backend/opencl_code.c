/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_code.c - programs, kernels and launches of OpenCL.
 *
 * A cl_kernel holds its arguments, so setting them and enqueueing is one step
 * under a lock of the kernel.
 */
#include "opencl.h"

#include "gpu_failure.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static enum rbwp_status explain(struct gpu_module *module, const struct gpu_code_text *text,
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
        return explain(module, text, error);
    return code == GPU_OK ? RBWP_OK : gpu_describe(context->driver, code, NULL, text->name, error);
}

enum rbwp_status opencl_module_load(struct gpu_context *context, const struct gpu_code_text *text,
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

void opencl_module_unload(struct gpu_module *module)
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

int opencl_kernel_get(struct gpu_module *module, const char *name, struct gpu_kernel **kernel_out)
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

int opencl_launch(struct gpu_kernel *kernel, const struct gpu_launch *launch, void *stream)
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
