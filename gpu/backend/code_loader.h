/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_loader.h - code and launches in CUDA and HIP, whose module calls are the same.
 *
 * Knows how text becomes a module and a module's functions are found and
 * launched, by the functions of code_driver.h.
 */
#ifndef RBWP_CODE_LOADER_H
#define RBWP_CODE_LOADER_H

#include "code_driver.h"

/* The rows of struct gpu_backend that are about code. */
enum rbwp_status code_module_load(struct gpu_context *context, const struct gpu_code_text *text,
                                  struct gpu_module **module_out, struct rbwp_error *error);
void code_module_unload(struct gpu_module *module);
int code_kernel_get(struct gpu_module *module, const char *name, struct gpu_kernel **kernel_out);
int code_launch(struct gpu_kernel *kernel, const struct gpu_launch *launch, void *stream);

#endif /* RBWP_CODE_LOADER_H */
