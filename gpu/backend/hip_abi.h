/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip_abi.h - what we use of the HIP runtime, in our own words.
 *
 * Taken from ROCm 5.2; the same symbols, with the same types, are in libamdhip64
 * of ROCm 6 and 7. Structs that changed between them (hipDeviceProp_t) are not
 * used. tests/gpu/abi_hip.c compares all of it with hip_runtime_api.h.
 */
#ifndef RBWP_HIP_ABI_H
#define RBWP_HIP_ABI_H

#include <stddef.h>

#ifndef RBWP_ABI_REAL
typedef int hip_result; /* an enum without negative values in the real header */
typedef int hip_attribute;
typedef int hip_device;
typedef int hip_copy_kind;
typedef int hip_capture_mode, hip_capture_status; /* enums without negative values */
typedef void *hip_stream, *hip_event, *hip_module, *hip_function;
typedef const char *hip_text;
typedef struct {
    char reserved[64];
} hip_share; /* passed by value */

struct hip_position {
    size_t x, y, z;
};
struct hip_pitched {
    void *pointer;
    size_t pitch, width, height;
};
struct hip_extent {
    size_t width, height, depth;
};
struct hip_copy_3d {
    void *src_array;
    struct hip_position src_position;
    struct hip_pitched src;
    void *dst_array;
    struct hip_position dst_position;
    struct hip_pitched dst;
    struct hip_extent extent;
    hip_copy_kind kind;
};
typedef struct hip_copy_3d hip_copy;
#endif

#define HIP_EVENT_DISABLE_TIMING 2
#define HIP_STREAM_NON_BLOCKING 1
#define HIP_HOST_DEFAULT 0
#define HIP_HOST_TO_DEVICE 1
#define HIP_DEVICE_TO_HOST 2
#define HIP_DEVICE_TO_DEVICE 3
#define HIP_ATTRIBUTE_MAX_THREADS_PER_BLOCK 56
#define HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT 63
#define HIP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK 74
#define HIP_ATTRIBUTE_WARP_SIZE 87
#define HIP_ATTRIBUTE_WALL_CLOCK_RATE 10017 /* kHz; after ROCm 5.2 */
#define HIP_CAPTURE_RELAXED 2
#define HIP_CAPTURE_NONE 0
#define HIP_SHARE_LAZY_PEER 1
#define HIP_ERROR_CODE_NOT_READY 600
#define HIP_ERROR_CODE_PEER_ENABLED 704
#define HIP_ERROR_CODE_CAPTURE_UNSUPPORTED 900
#define HIP_ERROR_CODE_CAPTURE_IMPLICIT 906
#define HIP_ERROR_CODE_NOT_SUPPORTED 801

/* X(result, symbol, parameters) */
#define HIP_FUNCTIONS(X)                                                                           \
    X(hip_result, hipInit, (unsigned))                                                             \
    X(hip_result, hipDriverGetVersion, (int *))                                                    \
    X(hip_text, hipGetErrorName, (hip_result))                                                     \
    X(hip_result, hipGetDeviceCount, (int *))                                                      \
    X(hip_result, hipDeviceGetName, (char *, int, hip_device))                                     \
    X(hip_result, hipDeviceTotalMem, (size_t *, hip_device))                                       \
    X(hip_result, hipDeviceGetAttribute, (int *, hip_attribute, int))                              \
    X(hip_result, hipGetDevice, (int *))                                                           \
    X(hip_result, hipSetDevice, (int))                                                             \
    X(hip_result, hipStreamCreateWithFlags, (hip_stream *, unsigned))                              \
    X(hip_result, hipStreamDestroy, (hip_stream))                                                  \
    X(hip_result, hipStreamSynchronize, (hip_stream))                                              \
    X(hip_result, hipEventCreateWithFlags, (hip_event *, unsigned))                                \
    X(hip_result, hipEventDestroy, (hip_event))                                                    \
    X(hip_result, hipEventRecord, (hip_event, hip_stream))                                         \
    X(hip_result, hipEventQuery, (hip_event))                                                      \
    X(hip_result, hipMalloc, (void **, size_t))                                                    \
    X(hip_result, hipFree, (void *))                                                               \
    X(hip_result, hipHostMalloc, (void **, size_t, unsigned))                                      \
    X(hip_result, hipHostFree, (void *))                                                           \
    X(hip_result, hipMemcpyAsync, (void *, const void *, size_t, hip_copy_kind, hip_stream))       \
    X(hip_result, hipMemcpy3DAsync, (const hip_copy *, hip_stream))                                \
    X(hip_result, hipDeviceCanAccessPeer, (int *, int, int))                                       \
    X(hip_result, hipDeviceEnablePeerAccess, (int, unsigned))                                      \
    X(hip_result, hipMemcpyPeerAsync, (void *, int, const void *, int, size_t, hip_stream))        \
    X(hip_result, hipIpcGetMemHandle, (hip_share *, void *))                                       \
    X(hip_result, hipIpcOpenMemHandle, (void **, hip_share, unsigned))                             \
    X(hip_result, hipIpcCloseMemHandle, (void *))                                                  \
    X(hip_result, hipModuleLoadData, (hip_module *, const void *))                                 \
    X(hip_result, hipModuleUnload, (hip_module))                                                   \
    X(hip_result, hipModuleGetFunction, (hip_function *, hip_module, const char *))                \
    X(hip_result, hipModuleLaunchKernel,                                                           \
      (hip_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
       hip_stream, void **, void **))

/*
 * Since ROCm 5.2 or later. Without hipGetStreamDeviceId a stream is taken to be of the device it is
 * opened for; without the two others no stream is taken to be captured.
 */
#define HIP_OPTIONAL_FUNCTIONS(X)                                                                  \
    X(int, hipGetStreamDeviceId, (hip_stream))                                                     \
    X(hip_result, hipStreamIsCapturing, (hip_stream, hip_capture_status *))                        \
    X(hip_result, hipThreadExchangeStreamCaptureMode, (hip_capture_mode *))

struct hip_functions {
#define HIP_MEMBER(result, symbol, parameters) result(*symbol) parameters;
    HIP_FUNCTIONS(HIP_MEMBER)
    HIP_OPTIONAL_FUNCTIONS(HIP_MEMBER)
#undef HIP_MEMBER
};

#endif /* RBWP_HIP_ABI_H */
