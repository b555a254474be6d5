/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip_abi.h - what we use of the HIP runtime beyond driver_abi.h.
 */
#ifndef RBWP_HIP_ABI_H
#define RBWP_HIP_ABI_H

#include "driver_abi.h"

#ifndef RBWP_ABI_REAL
typedef int hip_copy_kind;
typedef struct hip_copy_3d hip_copy;
#endif
typedef const char *hip_text;

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

#define HIP_HOST_DEFAULT 0
#define HIP_HOST_TO_DEVICE 1
#define HIP_DEVICE_TO_HOST 2
#define HIP_DEVICE_TO_DEVICE 3
#define HIP_ATTRIBUTE_MAX_THREADS_PER_BLOCK 56
#define HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT 63
#define HIP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK 74
#define HIP_ATTRIBUTE_WARP_SIZE 87
#define HIP_ATTRIBUTE_WALL_CLOCK_RATE 10017 /* kHz; after ROCm 5.2 */

/*
 * X(result, symbol, parameters, use). Without hipGetStreamDeviceId (ROCm before 5.2) a stream is
 * taken to be of the device it is opened for.
 */
#define HIP_CALLS(X)                                                                               \
    X(hip_text, hipGetErrorName, (driver_result), NEEDED)                                          \
    X(driver_result, hipGetDevice, (int *), NEEDED)                                                \
    X(driver_result, hipSetDevice, (int), NEEDED)                                                  \
    X(driver_result, hipDeviceEnablePeerAccess, (int, unsigned), NEEDED)                           \
    X(int, hipGetStreamDeviceId, (driver_stream), WANTED)                                          \
    X(driver_result, hipMalloc, (void **, size_t), NEEDED)                                         \
    X(driver_result, hipFree, (void *), NEEDED)                                                    \
    X(driver_result, hipHostMalloc, (void **, size_t, unsigned), NEEDED)                           \
    X(driver_result, hipMemcpyAsync, (void *, const void *, size_t, hip_copy_kind, driver_stream), \
      NEEDED)                                                                                      \
    X(driver_result, hipMemcpy3DAsync, (const hip_copy *, driver_stream), NEEDED)                  \
    X(driver_result, hipMemcpyPeerAsync, (void *, int, const void *, int, size_t, driver_stream),  \
      NEEDED)                                                                                      \
    X(driver_result, hipIpcGetMemHandle, (driver_share *, void *), NEEDED)                         \
    X(driver_result, hipIpcOpenMemHandle, (void **, driver_share, unsigned), NEEDED)               \
    X(driver_result, hipIpcCloseMemHandle, (void *), NEEDED)

struct hip_functions {
#define HIP_MEMBER(result, symbol, parameters, use) result(*symbol) parameters;
    HIP_CALLS(HIP_MEMBER)
#undef HIP_MEMBER
};

#endif /* RBWP_HIP_ABI_H */
