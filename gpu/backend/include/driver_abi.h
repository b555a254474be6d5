/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_abi.h - what the CUDA Driver API and the HIP runtime have alike, in our own words.
 *
 * One list of the calls that both have, under names of their own. The structs of functions, the
 * tables by which they are loaded, the fake drivers and the comparison with the real headers
 * (tests/gpu/abi_cuda.c, abi_hip.c, abi_inject.c) are made from it, and from the lists of what one
 * of them has alone: cuda_abi.h, hip_abi.h. Those tests define RBWP_ABI_REAL and give the types
 * their real meaning.
 *
 * Taken from CUDA 13.0, whose calls are in drivers since 11.2 or longer, and from ROCm 5.2; the
 * same symbols, with the same types, are in libamdhip64 of ROCm 6 and 7. Structs that changed
 * between them (hipDeviceProp_t) are not used.
 */
#ifndef RBWP_DRIVER_ABI_H
#define RBWP_DRIVER_ABI_H

#include <stddef.h>

struct driver_share_words {
    char reserved[64];
};

#ifndef RBWP_ABI_REAL
typedef int driver_result; /* this one and the next are enums without negative values */
typedef int driver_attribute, driver_capture_mode, driver_capture_status;
typedef int driver_device;
typedef void *driver_stream, *driver_event, *driver_module, *driver_function;
typedef struct driver_share_words driver_share; /* passed by value */
#endif

#define DRIVER_EVENT_DISABLE_TIMING 2
#define DRIVER_STREAM_NON_BLOCKING 1
#define DRIVER_CAPTURE_RELAXED 2
#define DRIVER_CAPTURE_NONE 0
#define DRIVER_SHARE_LAZY_PEER 1
#define DRIVER_OK 0
#define DRIVER_NO_MEMORY 2
#define DRIVER_NOT_READY 600
#define DRIVER_PEER_ENABLED 704
#define DRIVER_NOT_SUPPORTED 801
#define DRIVER_CAPTURE_UNSUPPORTED 900
#define DRIVER_CAPTURE_IMPLICIT 906

/*
 * X(member, parameters, CUDA's symbol, HIP's symbol, HIP's use, gpu/inject's use): all return
 * driver_result, and the backend of CUDA needs all. Uses: NEEDED; WANTED, the pointer is NULL
 * without it; UNUSED.
 */
#define DRIVER_CALLS(X)                                                                            \
    X(init, (unsigned), cuInit, hipInit, NEEDED, UNUSED)                                           \
    X(version, (int *), cuDriverGetVersion, hipDriverGetVersion, NEEDED, NEEDED)                   \
    X(device_count, (int *), cuDeviceGetCount, hipGetDeviceCount, NEEDED, UNUSED)                  \
    X(device_name, (char *, int, driver_device), cuDeviceGetName, hipDeviceGetName, NEEDED,        \
      NEEDED)                                                                                      \
    X(device_bytes, (size_t *, driver_device), cuDeviceTotalMem_v2, hipDeviceTotalMem, NEEDED,     \
      WANTED)                                                                                      \
    X(device_attribute, (int *, driver_attribute, driver_device), cuDeviceGetAttribute,            \
      hipDeviceGetAttribute, NEEDED, NEEDED)                                                       \
    X(device_can_reach, (int *, driver_device, driver_device), cuDeviceCanAccessPeer,              \
      hipDeviceCanAccessPeer, NEEDED, UNUSED)                                                      \
    X(stream_create, (driver_stream *, unsigned), cuStreamCreate, hipStreamCreateWithFlags,        \
      NEEDED, NEEDED)                                                                              \
    X(stream_destroy, (driver_stream), cuStreamDestroy_v2, hipStreamDestroy, NEEDED, UNUSED)       \
    X(stream_wait, (driver_stream), cuStreamSynchronize, hipStreamSynchronize, NEEDED, UNUSED)     \
    X(stream_capturing, (driver_stream, driver_capture_status *), cuStreamIsCapturing,             \
      hipStreamIsCapturing, WANTED, NEEDED) /* in HIP since 5.2: without it none is captured */    \
    X(exchange_capture_mode, (driver_capture_mode *), cuThreadExchangeStreamCaptureMode,           \
      hipThreadExchangeStreamCaptureMode, WANTED, NEEDED) /* the same */                           \
    X(event_create, (driver_event *, unsigned), cuEventCreate, hipEventCreateWithFlags, NEEDED,    \
      NEEDED)                                                                                      \
    X(event_destroy, (driver_event), cuEventDestroy_v2, hipEventDestroy, NEEDED, NEEDED)           \
    X(event_record, (driver_event, driver_stream), cuEventRecord, hipEventRecord, NEEDED, NEEDED)  \
    X(event_query, (driver_event), cuEventQuery, hipEventQuery, NEEDED, NEEDED)                    \
    X(host_free, (void *), cuMemFreeHost, hipHostFree, NEEDED, UNUSED)                             \
    X(module_load, (driver_module *, const void *), cuModuleLoadData, hipModuleLoadData, NEEDED,   \
      NEEDED)                                                                                      \
    X(module_unload, (driver_module), cuModuleUnload, hipModuleUnload, NEEDED, UNUSED)             \
    X(module_function, (driver_function *, driver_module, const char *), cuModuleGetFunction,      \
      hipModuleGetFunction, NEEDED, NEEDED)                                                        \
    X(launch,                                                                                      \
      (driver_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,      \
       driver_stream, void **, void **),                                                           \
      cuLaunchKernel, hipModuleLaunchKernel, NEEDED, NEEDED)

struct driver_functions {
#define DRIVER_MEMBER(member, parameters, cuda, hip, in_hip, in_inject)                            \
    driver_result(*member) parameters;
    DRIVER_CALLS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

/* What stands for a call of this use: the rest, or nothing; whether its symbol may be missing. */
#define DRIVER_IF_NEEDED(...) __VA_ARGS__
#define DRIVER_IF_WANTED(...) __VA_ARGS__
#define DRIVER_IF_UNUSED(...)
#define DRIVER_MAY_LACK_NEEDED false
#define DRIVER_MAY_LACK_WANTED true

#endif /* RBWP_DRIVER_ABI_H */
