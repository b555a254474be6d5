/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_abi.h - what we use of the CUDA Driver API, in our own words.
 *
 * Taken from CUDA 13.0; every function is in drivers since 11.2 or longer.
 * tests/gpu/abi_cuda.c defines RBWP_ABI_REAL, gives the cuda_* types their real
 * meaning, and compares each prototype, struct and constant with cuda.h.
 */
#ifndef RBWP_CUDA_ABI_H
#define RBWP_CUDA_ABI_H

#include <stddef.h>

#ifndef RBWP_ABI_REAL
typedef int cuda_result; /* an enum without negative values in cuda.h */
typedef int cuda_attribute;
typedef int cuda_device;
typedef int cuda_capture_mode, cuda_capture_status; /* enums without negative values */
typedef void *cuda_context, *cuda_stream, *cuda_event, *cuda_module, *cuda_function;
typedef unsigned long long cuda_pointer;
typedef struct {
    char reserved[64];
} cuda_share; /* passed by value */

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
typedef struct cuda_copy_3d cuda_copy, cuda_copy_peer;
#endif

#define CUDA_EVENT_DISABLE_TIMING 2
#define CUDA_STREAM_NON_BLOCKING 1
#define CUDA_ATTRIBUTE_MAX_THREADS_PER_BLOCK 1
#define CUDA_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK 8
#define CUDA_ATTRIBUTE_WARP_SIZE 10
#define CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT 16
#define CUDA_ATTRIBUTE_CAPABILITY_MAJOR 75
#define CUDA_ATTRIBUTE_CAPABILITY_MINOR 76
#define CUDA_CAPTURE_RELAXED 2
#define CUDA_CAPTURE_NONE 0
#define CUDA_SHARE_LAZY_PEER 1
#define CUDA_ERROR_CODE_NOT_READY 600
#define CUDA_ERROR_CODE_PEER_ENABLED 704
#define CUDA_ERROR_CODE_CAPTURE_UNSUPPORTED 900
#define CUDA_ERROR_CODE_CAPTURE_IMPLICIT 906
#define CUDA_ERROR_CODE_NOT_SUPPORTED 801

/* X(symbol, parameters): all return cuda_result. */
#define CUDA_FUNCTIONS(X)                                                                          \
    X(cuInit, (unsigned))                                                                          \
    X(cuDriverGetVersion, (int *))                                                                 \
    X(cuGetErrorName, (cuda_result, const char **))                                                \
    X(cuDeviceGetCount, (int *))                                                                   \
    X(cuDeviceGet, (cuda_device *, int))                                                           \
    X(cuDeviceGetName, (char *, int, cuda_device))                                                 \
    X(cuDeviceTotalMem_v2, (size_t *, cuda_device))                                                \
    X(cuDeviceGetAttribute, (int *, cuda_attribute, cuda_device))                                  \
    X(cuDevicePrimaryCtxRetain, (cuda_context *, cuda_device))                                     \
    X(cuDevicePrimaryCtxRelease_v2, (cuda_device))                                                 \
    X(cuCtxPushCurrent_v2, (cuda_context))                                                         \
    X(cuCtxPopCurrent_v2, (cuda_context *))                                                        \
    X(cuCtxGetDevice, (cuda_device *))                                                             \
    X(cuStreamGetCtx, (cuda_stream, cuda_context *))                                               \
    X(cuStreamCreate, (cuda_stream *, unsigned))                                                   \
    X(cuStreamDestroy_v2, (cuda_stream))                                                           \
    X(cuStreamSynchronize, (cuda_stream))                                                          \
    X(cuStreamIsCapturing, (cuda_stream, cuda_capture_status *))                                   \
    X(cuThreadExchangeStreamCaptureMode, (cuda_capture_mode *))                                    \
    X(cuEventCreate, (cuda_event *, unsigned))                                                     \
    X(cuEventDestroy_v2, (cuda_event))                                                             \
    X(cuEventRecord, (cuda_event, cuda_stream))                                                    \
    X(cuEventQuery, (cuda_event))                                                                  \
    X(cuMemAlloc_v2, (cuda_pointer *, size_t))                                                     \
    X(cuMemFree_v2, (cuda_pointer))                                                                \
    X(cuMemAllocHost_v2, (void **, size_t))                                                        \
    X(cuMemFreeHost, (void *))                                                                     \
    X(cuMemcpyHtoDAsync_v2, (cuda_pointer, const void *, size_t, cuda_stream))                     \
    X(cuMemcpyDtoHAsync_v2, (void *, cuda_pointer, size_t, cuda_stream))                           \
    X(cuMemcpyDtoDAsync_v2, (cuda_pointer, cuda_pointer, size_t, cuda_stream))                     \
    X(cuMemcpy3DAsync_v2, (const cuda_copy *, cuda_stream))                                        \
    X(cuDeviceCanAccessPeer, (int *, cuda_device, cuda_device))                                    \
    X(cuCtxEnablePeerAccess, (cuda_context, unsigned))                                             \
    X(cuMemcpyPeerAsync,                                                                           \
      (cuda_pointer, cuda_context, cuda_pointer, cuda_context, size_t, cuda_stream))               \
    X(cuMemcpy3DPeerAsync, (const cuda_copy_peer *, cuda_stream))                                  \
    X(cuIpcGetMemHandle, (cuda_share *, cuda_pointer))                                             \
    X(cuIpcOpenMemHandle_v2, (cuda_pointer *, cuda_share, unsigned))                               \
    X(cuIpcCloseMemHandle, (cuda_pointer))                                                         \
    X(cuModuleLoadData, (cuda_module *, const void *))                                             \
    X(cuModuleUnload, (cuda_module))                                                               \
    X(cuModuleGetFunction, (cuda_function *, cuda_module, const char *))                           \
    X(cuLaunchKernel, (cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
                       unsigned, cuda_stream, void **, void **))

struct cuda_functions {
#define CUDA_MEMBER(symbol, parameters) cuda_result(*symbol) parameters;
    CUDA_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
};

#endif /* RBWP_CUDA_ABI_H */
