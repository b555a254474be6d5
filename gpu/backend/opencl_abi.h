/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_abi.h - what we use of OpenCL 1.2 and later, in our own words.
 *
 * Taken from the Khronos headers of 2023-02. tests/gpu/abi_opencl.c compares all
 * of it with CL/cl.h.
 */
#ifndef RBWP_OPENCL_ABI_H
#define RBWP_OPENCL_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifndef RBWP_ABI_REAL
typedef int32_t ocl_int;
typedef uint32_t ocl_uint, ocl_bool;
typedef uint64_t ocl_flags; /* cl_bitfield */
typedef intptr_t ocl_property;
typedef void *ocl_platform, *ocl_device, *ocl_context, *ocl_queue, *ocl_event, *ocl_memory,
    *ocl_program, *ocl_kernel;
#endif

#define OCL_DEVICE_NOT_FOUND (-1)
#define OCL_OUT_OF_RESOURCES (-5)
#define OCL_OUT_OF_HOST_MEMORY (-6)
#define OCL_MEM_OBJECT_ALLOCATION_FAILURE (-4)
#define OCL_DEVICE_NOT_AVAILABLE (-2)
#define OCL_BUILD_PROGRAM_FAILURE (-11)
#define OCL_INVALID_CONTEXT (-34)
#define OCL_INVALID_COMMAND_QUEUE (-36)
#define OCL_INVALID_EVENT (-58)
#define OCL_PLATFORM_NOT_FOUND_KHR (-1001)
#define OCL_COMPLETE 0
#define OCL_TRUE 1
#define OCL_FALSE 0
#define OCL_DEVICE_TYPE_CPU (1u << 1)
#define OCL_DEVICE_TYPE_ALL 0xFFFFFFFFu
#define OCL_DEVICE_TYPE 0x1000
#define OCL_DEVICE_MAX_COMPUTE_UNITS 0x1002
#define OCL_DEVICE_MAX_WORK_GROUP_SIZE 0x1004
#define OCL_DEVICE_GLOBAL_MEM_SIZE 0x101F
#define OCL_DEVICE_LOCAL_MEM_SIZE 0x1023
#define OCL_DEVICE_NAME 0x102B
#define OCL_DEVICE_VERSION 0x102F
#define OCL_PLATFORM_VERSION 0x0901
#define OCL_CONTEXT_PLATFORM 0x1084
#define OCL_QUEUE_CONTEXT 0x1090
#define OCL_QUEUE_DEVICE 0x1091
#define OCL_QUEUE_PROPERTIES 0x1093
#define OCL_QUEUE_OUT_OF_ORDER (1u << 0)
#define OCL_MEM_READ_WRITE (1u << 0)
#define OCL_PROGRAM_BUILD_LOG 0x1183
#define OCL_EVENT_COMMAND_EXECUTION_STATUS 0x11D3

/* X(result, symbol, parameters) */
#define OCL_FUNCTIONS(X)                                                                           \
    X(ocl_int, clGetPlatformIDs, (ocl_uint, ocl_platform *, ocl_uint *))                           \
    X(ocl_int, clGetPlatformInfo, (ocl_platform, ocl_uint, size_t, void *, size_t *))              \
    X(ocl_int, clGetDeviceIDs, (ocl_platform, ocl_flags, ocl_uint, ocl_device *, ocl_uint *))      \
    X(ocl_int, clGetDeviceInfo, (ocl_device, ocl_uint, size_t, void *, size_t *))                  \
    X(ocl_context, clCreateContext,                                                                \
      (const ocl_property *, ocl_uint, const ocl_device *,                                         \
       void (*)(const char *, const void *, size_t, void *), void *, ocl_int *))                   \
    X(ocl_int, clRetainContext, (ocl_context))                                                     \
    X(ocl_int, clReleaseContext, (ocl_context))                                                    \
    X(ocl_queue, clCreateCommandQueue, (ocl_context, ocl_device, ocl_flags, ocl_int *))            \
    X(ocl_int, clReleaseCommandQueue, (ocl_queue))                                                 \
    X(ocl_int, clGetCommandQueueInfo, (ocl_queue, ocl_uint, size_t, void *, size_t *))             \
    X(ocl_int, clFlush, (ocl_queue))                                                               \
    X(ocl_int, clFinish, (ocl_queue))                                                              \
    X(ocl_int, clEnqueueMarkerWithWaitList, (ocl_queue, ocl_uint, const ocl_event *, ocl_event *)) \
    X(ocl_int, clGetEventInfo, (ocl_event, ocl_uint, size_t, void *, size_t *))                    \
    X(ocl_int, clReleaseEvent, (ocl_event))                                                        \
    X(ocl_memory, clCreateBuffer, (ocl_context, ocl_flags, size_t, void *, ocl_int *))             \
    X(ocl_int, clReleaseMemObject, (ocl_memory))                                                   \
    X(ocl_int, clEnqueueReadBuffer,                                                                \
      (ocl_queue, ocl_memory, ocl_bool, size_t, size_t, void *, ocl_uint, const ocl_event *,       \
       ocl_event *))                                                                               \
    X(ocl_int, clEnqueueWriteBuffer,                                                               \
      (ocl_queue, ocl_memory, ocl_bool, size_t, size_t, const void *, ocl_uint, const ocl_event *, \
       ocl_event *))                                                                               \
    X(ocl_int, clEnqueueCopyBuffer,                                                                \
      (ocl_queue, ocl_memory, ocl_memory, size_t, size_t, size_t, ocl_uint, const ocl_event *,     \
       ocl_event *))                                                                               \
    X(ocl_int, clEnqueueReadBufferRect,                                                            \
      (ocl_queue, ocl_memory, ocl_bool, const size_t *, const size_t *, const size_t *, size_t,    \
       size_t, size_t, size_t, void *, ocl_uint, const ocl_event *, ocl_event *))                  \
    X(ocl_int, clEnqueueWriteBufferRect,                                                           \
      (ocl_queue, ocl_memory, ocl_bool, const size_t *, const size_t *, const size_t *, size_t,    \
       size_t, size_t, size_t, const void *, ocl_uint, const ocl_event *, ocl_event *))            \
    X(ocl_int, clEnqueueCopyBufferRect,                                                            \
      (ocl_queue, ocl_memory, ocl_memory, const size_t *, const size_t *, const size_t *, size_t,  \
       size_t, size_t, size_t, ocl_uint, const ocl_event *, ocl_event *))                          \
    X(ocl_program, clCreateProgramWithSource,                                                      \
      (ocl_context, ocl_uint, const char **, const size_t *, ocl_int *))                           \
    X(ocl_int, clBuildProgram,                                                                     \
      (ocl_program, ocl_uint, const ocl_device *, const char *, void (*)(ocl_program, void *),     \
       void *))                                                                                    \
    X(ocl_int, clGetProgramBuildInfo,                                                              \
      (ocl_program, ocl_device, ocl_uint, size_t, void *, size_t *))                               \
    X(ocl_int, clReleaseProgram, (ocl_program))                                                    \
    X(ocl_kernel, clCreateKernel, (ocl_program, const char *, ocl_int *))                          \
    X(ocl_int, clReleaseKernel, (ocl_kernel))                                                      \
    X(ocl_int, clSetKernelArg, (ocl_kernel, ocl_uint, size_t, const void *))                       \
    X(ocl_int, clEnqueueNDRangeKernel,                                                             \
      (ocl_queue, ocl_kernel, ocl_uint, const size_t *, const size_t *, const size_t *, ocl_uint,  \
       const ocl_event *, ocl_event *))

struct ocl_functions {
#define OCL_MEMBER(result, symbol, parameters) result(*symbol) parameters;
    OCL_FUNCTIONS(OCL_MEMBER)
#undef OCL_MEMBER
};

#endif /* RBWP_OPENCL_ABI_H */
