/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards that driver_abi.h and hip_abi.h (gpu/backend) say what hip_runtime_api.h says. Compiling
 * it is the test.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <stdbool.h>

#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include "abi.h"

#define RBWP_ABI_REAL
typedef hipError_t driver_result;
typedef hipDeviceAttribute_t driver_attribute;
typedef hipDevice_t driver_device;
typedef hipStreamCaptureMode driver_capture_mode;
typedef hipStreamCaptureStatus driver_capture_status;
typedef hipStream_t driver_stream;
typedef hipEvent_t driver_event;
typedef hipModule_t driver_module;
typedef hipFunction_t driver_function;
typedef hipIpcMemHandle_t driver_share;
typedef hipMemcpyKind hip_copy_kind;
typedef struct hipMemcpy3DParms hip_copy;
#include "hip_abi.h"

#define SHARED_CHECK(member, parameters, cuda, hip, in_hip, in_inject)                             \
    ABI_PROTOTYPE(struct driver_functions, member, hip)
DRIVER_CALLS(SHARED_CHECK)
#define HIP_CHECK(result, symbol, parameters, use)                                                 \
    ABI_PROTOTYPE(struct hip_functions, symbol, symbol)
HIP_CALLS(HIP_CHECK)

ABI_PASSED_AS(hipError_t, int);
ABI_PASSED_AS(hipDeviceAttribute_t, int);
ABI_PASSED_AS(hipMemcpyKind, int);
ABI_PASSED_AS(hipStreamCaptureMode, int);
ABI_PASSED_AS(hipStreamCaptureStatus, int);
ABI_PASSED_AS(hipDevice_t, int);
ABI_PASSED_AS(hipStream_t, void *);
ABI_PASSED_AS(hipEvent_t, void *);
ABI_PASSED_AS(hipModule_t, void *);
ABI_PASSED_AS(hipFunction_t, void *);

ABI_SAME(DRIVER_EVENT_DISABLE_TIMING, (int)hipEventDisableTiming);
ABI_SAME(DRIVER_STREAM_NON_BLOCKING, (int)hipStreamNonBlocking);
ABI_SAME(HIP_HOST_DEFAULT, (int)hipHostMallocDefault);
ABI_SAME(HIP_HOST_TO_DEVICE, (int)hipMemcpyHostToDevice);
ABI_SAME(HIP_DEVICE_TO_HOST, (int)hipMemcpyDeviceToHost);
ABI_SAME(HIP_DEVICE_TO_DEVICE, (int)hipMemcpyDeviceToDevice);
ABI_SAME(HIP_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (int)hipDeviceAttributeMaxThreadsPerBlock);
ABI_SAME(HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT, (int)hipDeviceAttributeMultiprocessorCount);
ABI_SAME(HIP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, (int)hipDeviceAttributeMaxSharedMemoryPerBlock);
ABI_SAME(HIP_ATTRIBUTE_WARP_SIZE, (int)hipDeviceAttributeWarpSize);
/* Not in the header of 5.2, where this is the last one; later ones have it behind that. */
ABI_SAME(HIP_ATTRIBUTE_WALL_CLOCK_RATE, (int)hipDeviceAttributeFineGrainSupport + 1);
ABI_SAME(DRIVER_CAPTURE_RELAXED, (int)hipStreamCaptureModeRelaxed);
ABI_SAME(DRIVER_CAPTURE_NONE, (int)hipStreamCaptureStatusNone);
ABI_SAME(DRIVER_CAPTURE_UNSUPPORTED, (int)hipErrorStreamCaptureUnsupported);
ABI_SAME(DRIVER_CAPTURE_IMPLICIT, (int)hipErrorStreamCaptureImplicit);
/* DRIVER_SHARE_LAZY_PEER is 0 in the header of 5.2, whose runtime does not look; later ones want 1.
 */
ABI_SAME(DRIVER_PEER_ENABLED, (int)hipErrorPeerAccessAlreadyEnabled);
ABI_SAME(DRIVER_NOT_READY, (int)hipErrorNotReady);
ABI_SAME(DRIVER_NOT_SUPPORTED, (int)hipErrorNotSupported);

/* The compiler's: hipRTC does not say const where NVRTC, and we, do; else they are the same. */
typedef hiprtcProgram rtc_program;
typedef hiprtcResult rtc_result;
#include "code_loader.h"
ABI_PASSED_AS(hiprtcProgram, void *);
ABI_PASSED_AS(hiprtcResult, int);
struct hiprtc_functions {
    hiprtcResult (*create)(hiprtcProgram *, const char *, const char *, int, const char **,
                           const char **);
    hiprtcResult (*compile)(hiprtcProgram, int, const char **);
};
ABI_PROTOTYPE(struct hiprtc_functions, create, hiprtcCreateProgram)
ABI_PROTOTYPE(struct hiprtc_functions, compile, hiprtcCompileProgram)
ABI_PROTOTYPE(struct rtc_functions, code_size, hiprtcGetCodeSize)
ABI_PROTOTYPE(struct rtc_functions, code, hiprtcGetCode)
ABI_PROTOTYPE(struct rtc_functions, log_size, hiprtcGetProgramLogSize)
ABI_PROTOTYPE(struct rtc_functions, log, hiprtcGetProgramLog)
ABI_PROTOTYPE(struct rtc_functions, destroy, hiprtcDestroyProgram)

#define FIELD(ours, real) ABI_FIELD(struct hip_copy_3d, ours, struct hipMemcpy3DParms, real)
ABI_SAME(sizeof(struct hip_copy_3d), sizeof(struct hipMemcpy3DParms));
FIELD(src_array, srcArray);
FIELD(src_position.x, srcPos.x);
FIELD(src.pointer, srcPtr.ptr);
FIELD(src.pitch, srcPtr.pitch);
FIELD(src.width, srcPtr.xsize);
FIELD(src.height, srcPtr.ysize);
FIELD(dst_array, dstArray);
FIELD(dst_position.z, dstPos.z);
FIELD(dst.pointer, dstPtr.ptr);
FIELD(dst.pitch, dstPtr.pitch);
FIELD(dst.width, dstPtr.xsize);
FIELD(dst.height, dstPtr.ysize);
FIELD(extent.width, extent.width);
FIELD(extent.height, extent.height);
FIELD(extent.depth, extent.depth);
FIELD(kind, kind);
