/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl.h - what opencl.c and opencl_code.c share.
 */
#ifndef RBWP_OPENCL_H
#define RBWP_OPENCL_H

#include "gpu_backend.h"
#include "opencl_abi.h"

struct opencl_device {
    ocl_platform platform;
    ocl_device device;
};

struct opencl_driver {
    struct gpu_driver base;
    struct ocl_functions functions;
    struct opencl_device *device; /* base.devices of them, of all platforms */
};

static inline const struct ocl_functions *opencl_of(const struct gpu_driver *driver)
{
    return &((const struct opencl_driver *)driver)->functions;
}

static inline ocl_device opencl_device_of(const struct gpu_context *context)
{
    return ((const struct opencl_driver *)context->driver)->device[context->ordinal].device;
}

/* The rows of struct gpu_backend that are about code. */
enum rbwp_status opencl_module_load(struct gpu_context *context, const struct gpu_code_text *text,
                                    struct gpu_module **module_out, struct rbwp_error *error);
void opencl_module_unload(struct gpu_module *module);
int opencl_kernel_get(struct gpu_module *module, const char *name, struct gpu_kernel **kernel_out);
int opencl_launch(struct gpu_kernel *kernel, const struct gpu_launch *launch, void *stream);

#endif /* RBWP_OPENCL_H */
