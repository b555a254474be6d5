/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards that driver_abi.h, cuda_abi.h and code_loader.h of gpu/backend say what cuda.h and nvrtc.h
 * say. Compiling it is the test.
 */
#include <cuda.h>
#include <nvrtc.h>

#include "abi_cuda.h"
#include "cuda_each.h"

#define CUDA_EACH(symbol, parameters)                                                              \
    _Static_assert(__builtin_types_compatible_p(driver_result(*) parameters, __typeof__(&symbol)), \
                   #symbol " has another prototype");
CUDA_EACH_OF_ALL

ABI_PASSED_AS(CUresult, int);
ABI_PASSED_AS(CUdevice_attribute, int);
ABI_PASSED_AS(CUdevice, int);
ABI_PASSED_AS(CUstreamCaptureMode, int);
ABI_PASSED_AS(CUstreamCaptureStatus, int);
ABI_PASSED_AS(CUdeviceptr, unsigned long long);
ABI_PASSED_AS(CUcontext, void *);
ABI_PASSED_AS(CUkernel, void *);
ABI_PASSED_AS(CUstream, void *);
ABI_PASSED_AS(CUevent, void *);
ABI_PASSED_AS(CUmodule, void *);
ABI_PASSED_AS(CUfunction, void *);

ABI_SAME(DRIVER_EVENT_DISABLE_TIMING, (int)CU_EVENT_DISABLE_TIMING);
ABI_SAME(DRIVER_STREAM_NON_BLOCKING, (int)CU_STREAM_NON_BLOCKING);
ABI_SAME(CUDA_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (int)CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
ABI_SAME(CUDA_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
         (int)CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
ABI_SAME(CUDA_ATTRIBUTE_WARP_SIZE, (int)CU_DEVICE_ATTRIBUTE_WARP_SIZE);
ABI_SAME(CUDA_ATTRIBUTE_CLOCK_KHZ, (int)CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
ABI_SAME(CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, (int)CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
ABI_SAME(CUDA_ATTRIBUTE_CAPABILITY_MAJOR, (int)CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
ABI_SAME(CUDA_ATTRIBUTE_CAPABILITY_MINOR, (int)CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
ABI_SAME(DRIVER_CAPTURE_RELAXED, (int)CU_STREAM_CAPTURE_MODE_RELAXED);
ABI_SAME(DRIVER_CAPTURE_NONE, (int)CU_STREAM_CAPTURE_STATUS_NONE);
ABI_SAME(DRIVER_CAPTURE_UNSUPPORTED, (int)CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
ABI_SAME(DRIVER_CAPTURE_IMPLICIT, (int)CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
ABI_SAME(DRIVER_SHARE_LAZY_PEER, (int)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
ABI_SAME(DRIVER_PEER_ENABLED, (int)CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
ABI_SAME(DRIVER_OK, (int)CUDA_SUCCESS);
ABI_SAME(DRIVER_NO_MEMORY, (int)CUDA_ERROR_OUT_OF_MEMORY);
ABI_SAME(DRIVER_NOT_READY, (int)CUDA_ERROR_NOT_READY);
ABI_SAME(DRIVER_NOT_SUPPORTED, (int)CUDA_ERROR_NOT_SUPPORTED);

typedef nvrtcProgram rtc_program;
typedef nvrtcResult rtc_result;
#include "code_loader.h"
ABI_PASSED_AS(nvrtcProgram, void *);
ABI_PASSED_AS(nvrtcResult, int);
#define RTC_CHECK(member, parameters, nvrtc, hiprtc)                                               \
    ABI_PROTOTYPE(struct rtc_functions, member, nvrtc)
RTC_CALLS(RTC_CHECK)

#define FIELD(ours, real) ABI_FIELD(struct cuda_copy_3d, ours, CUDA_MEMCPY3D, real)
ABI_SAME(sizeof(struct cuda_copy_3d), sizeof(CUDA_MEMCPY3D));
ABI_SAME(sizeof(struct driver_share_words), sizeof(CUipcMemHandle));
ABI_SAME(sizeof(struct cuda_copy_3d), sizeof(CUDA_MEMCPY3D_PEER));
#define PEER_FIELD(ours, real) ABI_FIELD(struct cuda_copy_3d, ours, CUDA_MEMCPY3D_PEER, real)
PEER_FIELD(src_type, srcMemoryType);
PEER_FIELD(src_device, srcDevice);
PEER_FIELD(src_context, srcContext);
PEER_FIELD(src_pitch, srcPitch);
PEER_FIELD(src_height, srcHeight);
PEER_FIELD(dst_type, dstMemoryType);
PEER_FIELD(dst_device, dstDevice);
PEER_FIELD(dst_context, dstContext);
PEER_FIELD(dst_pitch, dstPitch);
PEER_FIELD(dst_height, dstHeight);
PEER_FIELD(width, WidthInBytes);
PEER_FIELD(height, Height);
PEER_FIELD(depth, Depth);
FIELD(src_x, srcXInBytes);
FIELD(src_type, srcMemoryType);
FIELD(src_host, srcHost);
FIELD(src_device, srcDevice);
FIELD(src_pitch, srcPitch);
FIELD(src_height, srcHeight);
FIELD(dst_x, dstXInBytes);
FIELD(dst_type, dstMemoryType);
FIELD(dst_host, dstHost);
FIELD(dst_device, dstDevice);
FIELD(dst_pitch, dstPitch);
FIELD(dst_height, dstHeight);
FIELD(width, WidthInBytes);
FIELD(height, Height);
FIELD(depth, Depth);
ABI_SAME(CUDA_MEMORY_HOST, (int)CU_MEMORYTYPE_HOST);
ABI_SAME(CUDA_MEMORY_DEVICE, (int)CU_MEMORYTYPE_DEVICE);
