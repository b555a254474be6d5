/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_abi.h - what we use of the CUDA Driver API beyond driver_abi.h: the backend, and gpu/inject.
 */
#ifndef RBWP_CUDA_ABI_H
#define RBWP_CUDA_ABI_H

#include "driver_abi.h"

#include <stdint.h>

#ifndef RBWP_ABI_REAL
typedef void *cuda_context, *cuda_kernel;
typedef unsigned long long cuda_pointer;
typedef struct cuda_copy_3d cuda_copy, cuda_copy_peer;
#endif

#define CUDA_MEMORY_HOST 1
#define CUDA_MEMORY_DEVICE 2

struct cuda_copy_3d {
    size_t src_x, src_y, src_z, src_lod;
    int src_type;
    const void *src_host;
    cuda_pointer src_device;
    void *src_array, *src_context; /* NULL, but in a copy between contexts */
    size_t src_pitch, src_height;
    size_t dst_x, dst_y, dst_z, dst_lod;
    int dst_type;
    void *dst_host;
    cuda_pointer dst_device;
    void *dst_array, *dst_context;
    size_t dst_pitch, dst_height;
    size_t width, height, depth;
};

#define CUDA_ATTRIBUTE_MAX_THREADS_PER_BLOCK 1
#define CUDA_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK 8
#define CUDA_ATTRIBUTE_WARP_SIZE 10
#define CUDA_ATTRIBUTE_CLOCK_KHZ 13
#define CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT 16
#define CUDA_ATTRIBUTE_CAPABILITY_MAJOR 75
#define CUDA_ATTRIBUTE_CAPABILITY_MINOR 76

/* X(symbol, parameters, the backend's use, gpu/inject's use): all return driver_result. */
#define CUDA_CALLS(X)                                                                              \
    X(cuGetErrorName, (driver_result, const char **), NEEDED, UNUSED)                              \
    X(cuDeviceGet, (driver_device *, int), NEEDED, UNUSED)                                         \
    X(cuDevicePrimaryCtxRetain, (cuda_context *, driver_device), NEEDED, UNUSED)                   \
    X(cuDevicePrimaryCtxRelease_v2, (driver_device), NEEDED, UNUSED)                               \
    X(cuCtxPushCurrent_v2, (cuda_context), NEEDED, NEEDED)                                         \
    X(cuCtxPopCurrent_v2, (cuda_context *), NEEDED, NEEDED)                                        \
    X(cuCtxGetDevice, (driver_device *), NEEDED, NEEDED)                                           \
    X(cuCtxGetCurrent, (cuda_context *), UNUSED, WANTED)                                           \
    X(cuCtxEnablePeerAccess, (cuda_context, unsigned), NEEDED, UNUSED)                             \
    X(cuStreamGetCtx, (driver_stream, cuda_context *), NEEDED, NEEDED)                             \
    X(cuStreamGetId, (driver_stream, unsigned long long *), UNUSED, WANTED)                        \
    X(cuStreamWriteValue64_v2, (driver_stream, cuda_pointer, uint64_t, unsigned), UNUSED, WANTED)  \
    X(cuEventElapsedTime, (float *, driver_event, driver_event), UNUSED, WANTED)                   \
    X(cuMemAlloc_v2, (cuda_pointer *, size_t), NEEDED, NEEDED)                                     \
    X(cuMemFree_v2, (cuda_pointer), NEEDED, UNUSED)                                                \
    X(cuMemAllocHost_v2, (void **, size_t), NEEDED, NEEDED)                                        \
    X(cuMemGetInfo_v2, (size_t *, size_t *), UNUSED, NEEDED)                                       \
    X(cuMemsetD8Async, (cuda_pointer, unsigned char, size_t, driver_stream), UNUSED, NEEDED)       \
    X(cuMemsetD32Async, (cuda_pointer, unsigned, size_t, driver_stream), UNUSED, NEEDED)           \
    X(cuMemcpyHtoDAsync_v2, (cuda_pointer, const void *, size_t, driver_stream), NEEDED, UNUSED)   \
    X(cuMemcpyDtoHAsync_v2, (void *, cuda_pointer, size_t, driver_stream), NEEDED, NEEDED)         \
    X(cuMemcpyDtoDAsync_v2, (cuda_pointer, cuda_pointer, size_t, driver_stream), NEEDED, UNUSED)   \
    X(cuMemcpy3DAsync_v2, (const cuda_copy *, driver_stream), NEEDED, UNUSED)                      \
    X(cuMemcpyPeerAsync,                                                                           \
      (cuda_pointer, cuda_context, cuda_pointer, cuda_context, size_t, driver_stream), NEEDED,     \
      UNUSED)                                                                                      \
    X(cuMemcpy3DPeerAsync, (const cuda_copy_peer *, driver_stream), NEEDED, UNUSED)                \
    X(cuIpcGetMemHandle, (driver_share *, cuda_pointer), NEEDED, UNUSED)                           \
    X(cuIpcOpenMemHandle_v2, (cuda_pointer *, driver_share, unsigned), NEEDED, UNUSED)             \
    X(cuIpcCloseMemHandle, (cuda_pointer), NEEDED, UNUSED)                                         \
    X(cuModuleGetGlobal_v2, (cuda_pointer *, size_t *, driver_module, const char *), UNUSED,       \
      NEEDED)                                                                                      \
    X(cuFuncGetModule, (driver_module *, driver_function), UNUSED, NEEDED)                         \
    X(cuKernelGetFunction, (driver_function *, cuda_kernel), UNUSED, WANTED)

#endif /* RBWP_CUDA_ABI_H */
