/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards that gpu/backend/cuda_abi.h and gpu/backend/rtc.h say what cuda.h and nvrtc.h say.
 * Compiling it is the test.
 */
#include <cuda.h>
#include <nvrtc.h>

#include "abi.h"

#define RBWP_ABI_REAL
typedef CUresult cuda_result;
typedef CUdevice_attribute cuda_attribute;
typedef CUdevice cuda_device;
typedef CUstreamCaptureMode cuda_capture_mode;
typedef CUstreamCaptureStatus cuda_capture_status;
typedef CUcontext cuda_context;
typedef CUstream cuda_stream;
typedef CUevent cuda_event;
typedef CUmodule cuda_module;
typedef CUfunction cuda_function;
typedef CUdeviceptr cuda_pointer;
typedef CUDA_MEMCPY3D cuda_copy;
typedef CUDA_MEMCPY3D_PEER cuda_copy_peer;
typedef CUipcMemHandle cuda_share;
#include "cuda_abi.h"

#define CHECK(symbol, parameters) ABI_PROTOTYPE(struct cuda_functions, symbol, symbol)
CUDA_FUNCTIONS(CHECK)

ABI_PASSED_AS(CUresult, int);
ABI_PASSED_AS(CUdevice_attribute, int);
ABI_PASSED_AS(CUdevice, int);
ABI_PASSED_AS(CUstreamCaptureMode, int);
ABI_PASSED_AS(CUstreamCaptureStatus, int);
ABI_PASSED_AS(CUdeviceptr, unsigned long long);
ABI_PASSED_AS(CUcontext, void *);
ABI_PASSED_AS(CUstream, void *);
ABI_PASSED_AS(CUevent, void *);
ABI_PASSED_AS(CUmodule, void *);
ABI_PASSED_AS(CUfunction, void *);

ABI_SAME(CUDA_EVENT_DISABLE_TIMING, (int)CU_EVENT_DISABLE_TIMING);
ABI_SAME(CUDA_STREAM_NON_BLOCKING, (int)CU_STREAM_NON_BLOCKING);
ABI_SAME(CUDA_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (int)CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
ABI_SAME(CUDA_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
         (int)CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
ABI_SAME(CUDA_ATTRIBUTE_WARP_SIZE, (int)CU_DEVICE_ATTRIBUTE_WARP_SIZE);
ABI_SAME(CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, (int)CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
ABI_SAME(CUDA_ATTRIBUTE_CAPABILITY_MAJOR, (int)CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
ABI_SAME(CUDA_ATTRIBUTE_CAPABILITY_MINOR, (int)CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
ABI_SAME(CUDA_CAPTURE_RELAXED, (int)CU_STREAM_CAPTURE_MODE_RELAXED);
ABI_SAME(CUDA_CAPTURE_NONE, (int)CU_STREAM_CAPTURE_STATUS_NONE);
ABI_SAME(CUDA_ERROR_CODE_CAPTURE_UNSUPPORTED, (int)CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
ABI_SAME(CUDA_ERROR_CODE_CAPTURE_IMPLICIT, (int)CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
ABI_SAME(CUDA_SHARE_LAZY_PEER, (int)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
ABI_SAME(CUDA_ERROR_CODE_PEER_ENABLED, (int)CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
ABI_SAME(CUDA_ERROR_CODE_NOT_READY, (int)CUDA_ERROR_NOT_READY);
ABI_SAME(CUDA_ERROR_CODE_NOT_SUPPORTED, (int)CUDA_ERROR_NOT_SUPPORTED);

/* The compiler's calls have other names there than in our struct. */
typedef nvrtcProgram rtc_program;
typedef nvrtcResult rtc_result;
#include "rtc.h"
ABI_PASSED_AS(nvrtcProgram, void *);
ABI_PASSED_AS(nvrtcResult, int);
ABI_PROTOTYPE(struct rtc_functions, create, nvrtcCreateProgram)
ABI_PROTOTYPE(struct rtc_functions, compile, nvrtcCompileProgram)
ABI_PROTOTYPE(struct rtc_functions, code_size, nvrtcGetPTXSize)
ABI_PROTOTYPE(struct rtc_functions, code, nvrtcGetPTX)
ABI_PROTOTYPE(struct rtc_functions, log_size, nvrtcGetProgramLogSize)
ABI_PROTOTYPE(struct rtc_functions, log, nvrtcGetProgramLog)
ABI_PROTOTYPE(struct rtc_functions, destroy, nvrtcDestroyProgram)

/* Our struct, with our own types: once more, under other names. */
#undef RBWP_ABI_REAL
#undef RBWP_CUDA_ABI_H
#define cuda_result our_result
#define cuda_attribute our_attribute
#define cuda_device our_device
#define cuda_capture_mode our_capture_mode
#define cuda_capture_status our_capture_status
#define cuda_context our_context
#define cuda_stream our_stream
#define cuda_event our_event
#define cuda_module our_module
#define cuda_function our_function
#define cuda_pointer our_pointer
#define cuda_copy our_copy
#define cuda_copy_peer our_copy_peer
#define cuda_share our_share
#define cuda_functions our_functions
#include "cuda_abi.h"
#define FIELD(ours, real) ABI_FIELD(struct cuda_copy_3d, ours, CUDA_MEMCPY3D, real)
ABI_SAME(sizeof(struct cuda_copy_3d), sizeof(CUDA_MEMCPY3D));
ABI_SAME(sizeof(our_share), sizeof(CUipcMemHandle));
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
