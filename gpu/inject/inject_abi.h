/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_abi.h - what we use of the CUDA Driver API and of CUPTI, in our own words.
 *
 * Taken from cuda.h, cupti_callbacks.h, cupti_driver_cbid.h and generated_cuda_meta.h of CUDA 13.0.
 * Numbers of callbacks are only ever added to, and struct cupti_call is as it was in CUDA 12.
 * tests/gpu/abi_inject.c compares all of it with the real headers.
 */
#ifndef INJECT_ABI_H
#define INJECT_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifndef RBWP_ABI_REAL
typedef int inject_result; /* enums without negative values */
typedef int inject_attribute, inject_device_number, inject_capture_mode, inject_capture_status;
typedef void *inject_context, *inject_stream, *inject_event, *inject_module_handle;
typedef void *inject_function, *inject_kernel_handle;
typedef unsigned long long inject_address;
#endif

#define CUDA_OK 0
#define CUDA_NO_MEMORY 2
#define CUDA_NOT_READY 600
#define CUDA_NOTHING_CAPTURED 0
#define CUDA_LEAVE_CAPTURES_ALONE 2
#define CUDA_EVENT_WITHOUT_TIME 2
#define CUDA_STREAM_OF_ITS_OWN 1
#define CUDA_CLOCK_KHZ 13
#define CUDA_SMS 16
#define CUDA_STREAM_LEGACY ((void *)1)
#define CUDA_STREAM_PER_THREAD ((void *)2)

/* X(symbol, optional, parameters): all return inject_result. */
#define INJECT_FUNCTIONS(X)                                                                        \
    X(cuDriverGetVersion, 0, (int *))                                                              \
    X(cuDeviceGetAttribute, 0, (int *, inject_attribute, inject_device_number))                    \
    X(cuDeviceGetName, 0, (char *, int, inject_device_number))                                     \
    X(cuCtxPushCurrent_v2, 0, (inject_context))                                                    \
    X(cuCtxPopCurrent_v2, 0, (inject_context *))                                                   \
    X(cuCtxGetDevice, 0, (inject_device_number *))                                                 \
    X(cuStreamGetCtx, 0, (inject_stream, inject_context *))                                        \
    X(cuStreamGetId, 1, (inject_stream, unsigned long long *))                                     \
    X(cuStreamCreate, 0, (inject_stream *, unsigned))                                              \
    X(cuStreamIsCapturing, 0, (inject_stream, inject_capture_status *))                            \
    X(cuThreadExchangeStreamCaptureMode, 0, (inject_capture_mode *))                               \
    X(cuEventCreate, 0, (inject_event *, unsigned))                                                \
    X(cuEventDestroy_v2, 0, (inject_event))                                                        \
    X(cuEventRecord, 0, (inject_event, inject_stream))                                             \
    X(cuEventQuery, 0, (inject_event))                                                             \
    X(cuMemAlloc_v2, 0, (inject_address *, size_t))                                                \
    X(cuMemAllocHost_v2, 0, (void **, size_t))                                                     \
    X(cuMemGetInfo_v2, 0, (size_t *, size_t *))                                                    \
    X(cuMemsetD8Async, 0, (inject_address, unsigned char, size_t, inject_stream))                  \
    X(cuMemsetD32Async, 0, (inject_address, unsigned, size_t, inject_stream))                      \
    X(cuMemcpyDtoHAsync_v2, 0, (void *, inject_address, size_t, inject_stream))                    \
    X(cuStreamWriteValue64_v2, 1, (inject_stream, inject_address, uint64_t, unsigned))             \
    X(cuModuleLoadData, 0, (inject_module_handle *, const void *))                                 \
    X(cuModuleGetFunction, 0, (inject_function *, inject_module_handle, const char *))             \
    X(cuModuleGetGlobal_v2, 0, (inject_address *, size_t *, inject_module_handle, const char *))   \
    X(cuFuncGetModule, 0, (inject_module_handle *, inject_function))                               \
    X(cuKernelGetFunction, 1, (inject_function *, inject_kernel_handle))                           \
    X(cuLaunchKernel, 0,                                                                           \
      (inject_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,      \
       inject_stream, void **, void **))

struct inject_functions {
#define INJECT_MEMBER(symbol, optional, parameters) inject_result(*symbol) parameters;
    INJECT_FUNCTIONS(INJECT_MEMBER)
#undef INJECT_MEMBER
};

/* What a launch gets beside its arguments, by cuLaunchKernelEx. */
struct cuda_launch_config {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void *stream, *attributes;
    unsigned attribute_count;
};

/* ---- CUPTI ----------------------------------------------------------------------------- */

#ifndef RBWP_ABI_REAL
typedef int cupti_result, cupti_domain;
typedef void *cupti_subscriber;
typedef void (*cupti_callback)(void *context, cupti_domain domain, uint32_t id, const void *data);
#endif

#define CUPTI_OK 0
#define CUPTI_TAKEN 39 /* by another tool */
#define CUPTI_DOMAIN_DRIVER 1
#define CUPTI_DOMAIN_RESOURCE 3
#define CUPTI_CONTEXT_GOES 2 /* these are of the domain of resources */
#define CUPTI_STREAM_GOES 4
#define CUPTI_ENTER 0
#define CUPTI_EXIT 1

/* X(symbol, id): calls of the driver. Those of _ptsz are for streams per thread. */
#define CUPTI_CALLS(X)                                                                             \
    X(cuLaunchKernel, 307)                                                                         \
    X(cuLaunchKernel_ptsz, 442)                                                                    \
    X(cuLaunchKernelEx, 652)                                                                       \
    X(cuLaunchKernelEx_ptsz, 653)                                                                  \
    X(cuLaunchCooperativeKernel, 477)                                                              \
    X(cuLaunchCooperativeKernel_ptsz, 478)                                                         \
    X(cuModuleGetFunction, 23)                                                                     \
    X(cuLibraryGetKernel, 681)                                                                     \
    X(cuKernelGetFunction, 683)                                                                    \
    X(cuModuleUnload, 22)                                                                          \
    X(cuLibraryUnload, 680)

enum cupti_call_id {
#define CUPTI_CALL_ID(symbol, id) CUPTI_CALL_##symbol = (id),
    CUPTI_CALLS(CUPTI_CALL_ID)
#undef CUPTI_CALL_ID
};

/* A call of the driver, at its beginning and at its end. */
struct cupti_call {
    int site;
    const char *name;
    const void *params; /* a struct of the call's parameters */
    void *result;       /* at its end: of type inject_result */
    const char *symbol; /* of launches: the kernel */
    void *context;      /* current to the thread; NULL: none */
    uint32_t context_id;
    uint64_t *between;
    uint32_t correlation;
};

struct cupti_resource {
    void *context, *handle, *descriptor;
};

/* Parameters of cuLaunchKernel; those of cuLaunchCooperativeKernel are the same up to arguments. */
struct cuda_launch_params {
    void *function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void *stream;
    void **arguments;
};
struct cuda_launch_ex_params {
    const struct cuda_launch_config *config;
    void *function;
};

/* Parameters of cuModuleGetFunction, cuLibraryGetKernel and cuKernelGetFunction begin so. */
struct cuda_get_params {
    void **made;
    void *from;
};

#define CUPTI_FUNCTIONS(X)                                                                         \
    X(cuptiGetVersion, (uint32_t *))                                                               \
    X(cuptiSubscribe, (cupti_subscriber *, cupti_callback, void *))                                \
    X(cuptiUnsubscribe, (cupti_subscriber))                                                        \
    X(cuptiEnableCallback, (uint32_t, cupti_subscriber, cupti_domain, uint32_t))

struct cupti_functions {
#define CUPTI_MEMBER(symbol, parameters) cupti_result(*symbol) parameters;
    CUPTI_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
};

#endif /* INJECT_ABI_H */
