/* SPDX-License-Identifier: Apache-2.0 */
/* abi_cuda.h - the types of gpu/backend/include/cuda_abi.h with their real meaning. */
#ifndef ABI_CUDA_H
#define ABI_CUDA_H

#include <cuda.h>

#include "abi.h"

#define RBWP_ABI_REAL
typedef CUresult driver_result;
typedef CUdevice_attribute driver_attribute;
typedef CUdevice driver_device;
typedef CUstreamCaptureMode driver_capture_mode;
typedef CUstreamCaptureStatus driver_capture_status;
typedef CUstream driver_stream;
typedef CUevent driver_event;
typedef CUmodule driver_module;
typedef CUfunction driver_function;
typedef CUipcMemHandle driver_share;
typedef CUcontext cuda_context;
typedef CUkernel cuda_kernel;
typedef CUdeviceptr cuda_pointer;
typedef CUDA_MEMCPY3D cuda_copy;
typedef CUDA_MEMCPY3D_PEER cuda_copy_peer;

#endif /* ABI_CUDA_H */
