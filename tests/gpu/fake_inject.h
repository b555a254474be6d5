/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_inject.h - of the fake driver what programs that are watched need: CUPTI, modules with
 * variables, and kernels that have probes.
 *
 * A module is a text. If "rbwp_probed" stands in it, it has the variables of ptx_shape.h, and its
 * kernels store into the buffer that is set as probes would: one lane with one record.
 */
#ifndef FAKE_INJECT_H
#define FAKE_INJECT_H

#include "fake.h"
#include "inject_abi.h"
#include "ptx_shape.h"

/* ---- for tests ---- */

FAKE_API void fake_cupti_version(uint32_t version); /* default: 130001 */
/* Modules that are loaded from now on have this. */
FAKE_API void fake_shape(const struct ptx_shape *shape);
/* What a module's variable holds. */
FAKE_API uint64_t fake_buffer_of(const void *module);
/* The GPU's memory that is left; default: 1 GiB. */
FAKE_API void fake_memory_left(size_t bytes);
FAKE_API void fake_context_goes(void *context);
/* The kernel of no context that a function is of, which the program did not get. */
FAKE_API void *fake_kernel_of(void *function);
FAKE_API int cuLaunchKernelEx(const struct cuda_launch_config *config, void *function,
                              void **arguments, void **extra);
FAKE_API int cuLibraryGetKernel(void **kernel, void *library, const char *name);
FAKE_API int cuLibraryUnload(void *library);
FAKE_API int cuCtxDestroy_v2(void *context);
FAKE_API int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
FAKE_API int cuGetProcAddress_v2(const char *symbol, void **function, int of_version,
                                 uint64_t flags, int *status);
FAKE_API int cuLaunchCooperativeKernel_ptsz(void *function, unsigned grid_x, unsigned grid_y,
                                            unsigned grid_z, unsigned block_x, unsigned block_y,
                                            unsigned block_z, unsigned shared_bytes, void *stream,
                                            void **arguments);

/* Work that CUPTI reports ran for so long, from the middle of its call on; default: 1000 ns. */
FAKE_API void fake_work_lasts(uint64_t ns);
/* The driver's calls have other correlations than the runtime's around them, by which work is told
 * of then. */
FAKE_API void fake_runtime_apart(bool apart);
/* A kernel by cudaLaunchKernel. */
FAKE_API int fake_runtime_launch(void *function, void *stream);
/* Whether CUPTI calls back for a call of the driver. */
FAKE_API bool fake_cupti_watches(uint32_t id);
FAKE_API int cuGraphLaunch(void *nodes, void *stream);

/* ---- for the driver ---- */

/* Beginning and end of a call that puts work on a GPU: a copy or set of so many bytes. */
void fake_work_call(uint32_t id, uint32_t kind, size_t bytes, void *stream);

void *fake_context(void);
void fake_module_loaded(char *module);
void fake_module_gone(const char *module);
void fake_cupti_call(int site, uint32_t id, const void *params, const char *symbol, int *result);
void fake_cupti_resource(uint32_t id, void *context, void *handle);
/* The launch of launch, between the two activities that CUPTI reports of params. */
int fake_traced_launch(uint32_t id, const void *params, const struct cuda_launch_params *launch);

#endif /* FAKE_INJECT_H */
