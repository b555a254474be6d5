/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_abi.h - the driver's calls that a preloaded library stands before, in our own words; taken
 * from cuda.h of CUDA 13.0. tests/gpu/abi_inject.c compares it with the real header.
 */
#ifndef HOOKS_ABI_H
#define HOOKS_ABI_H

#include "inject_abi.h"

#ifndef RBWP_ABI_REAL
typedef void inject_copy_2d;
typedef void inject_memory_operation, inject_copy_attributes;
typedef void *inject_graph, *inject_library_handle, *inject_pool;
typedef void (*inject_stream_callback)(driver_stream, driver_result, void *);
typedef void (*inject_host_function)(void *);
typedef struct cuda_launch_config inject_launch_config;
#endif

#define CUDA_NOT_STARTED 3
#define CUDA_PROC_PER_THREAD 2

#define HOOK_GRID                                                                                  \
    unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,         \
        unsigned block_z, unsigned shared_bytes, driver_stream stream
#define HOOK_GIVE_GRID grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream
#define HOOK_ITS_GRID                                                                              \
    .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z},                        \
    .shared_bytes = shared_bytes

/*
 * X(symbol, as cuGetProcAddress knows it, parameters, the same as arguments, what it puts on
 * stream). Each has a twin, symbol_ptsz, whose stream 0 is the thread's.
 */
#define HOOK_STREAM_CALLS(X)                                                                       \
    X(cuLaunchKernel, "cuLaunchKernel",                                                            \
      (driver_function function, HOOK_GRID, void **values, void **extra),                          \
      (function, HOOK_GIVE_GRID, values, extra), .kind = WORK_KERNEL, .function = function,        \
      .name = inject_kernel_named(function), HOOK_ITS_GRID)                                        \
    X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel",                                      \
      (driver_function function, HOOK_GRID, void **values), (function, HOOK_GIVE_GRID, values),    \
      .kind = WORK_KERNEL, .function = function, .name = inject_kernel_named(function),            \
      HOOK_ITS_GRID)                                                                               \
    X(cuGraphLaunch, "cuGraphLaunch", (inject_graph graph, driver_stream stream), (graph, stream), \
      .kind = WORK_KERNEL, .name = "cuGraphLaunch")                                                \
    X(cuMemcpyAsync, "cuMemcpyAsync",                                                              \
      (cuda_pointer to, cuda_pointer from, size_t bytes, driver_stream stream),                    \
      (to, from, bytes, stream), HOOK_COPY("Memcpy", bytes))                                       \
    X(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync",                                                   \
      (cuda_pointer to, const void *from, size_t bytes, driver_stream stream),                     \
      (to, from, bytes, stream), HOOK_COPY("Memcpy HtoD", bytes))                                  \
    X(cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync",                                                   \
      (void *to, cuda_pointer from, size_t bytes, driver_stream stream),                           \
      (to, from, bytes, stream), HOOK_COPY("Memcpy DtoH", bytes))                                  \
    X(cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync",                                                   \
      (cuda_pointer to, cuda_pointer from, size_t bytes, driver_stream stream),                    \
      (to, from, bytes, stream), HOOK_COPY("Memcpy DtoD", bytes))                                  \
    X(cuMemcpyPeerAsync, "cuMemcpyPeerAsync",                                                      \
      (cuda_pointer to, cuda_context to_context, cuda_pointer from, cuda_context from_context,     \
       size_t bytes, driver_stream stream),                                                        \
      (to, to_context, from, from_context, bytes, stream), HOOK_COPY("Memcpy PtoP", bytes))        \
    X(cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", (const inject_copy_2d *copy, driver_stream stream),   \
      (copy, stream), HOOK_COPY("Memcpy 2D", 0))                                                   \
    X(cuMemcpy3DAsync_v2, "cuMemcpy3DAsync", (const cuda_copy *copy, driver_stream stream),        \
      (copy, stream), HOOK_COPY("Memcpy 3D", 0))                                                   \
    X(cuMemcpy3DPeerAsync, "cuMemcpy3DPeerAsync",                                                  \
      (const cuda_copy_peer *copy, driver_stream stream), (copy, stream),                          \
      HOOK_COPY("Memcpy PtoP", 0))                                                                 \
    X(cuMemsetD8Async, "cuMemsetD8Async",                                                          \
      (cuda_pointer to, unsigned char value, size_t count, driver_stream stream),                  \
      (to, value, count, stream), HOOK_SET(count))                                                 \
    X(cuMemsetD16Async, "cuMemsetD16Async",                                                        \
      (cuda_pointer to, unsigned short value, size_t count, driver_stream stream),                 \
      (to, value, count, stream), HOOK_SET(2 * count))                                             \
    X(cuMemsetD32Async, "cuMemsetD32Async",                                                        \
      (cuda_pointer to, unsigned value, size_t count, driver_stream stream),                       \
      (to, value, count, stream), HOOK_SET(4 * count))                                             \
    X(cuMemsetD2D8Async, "cuMemsetD2D8Async",                                                      \
      (cuda_pointer to, size_t pitch, unsigned char value, size_t width, size_t height,            \
       driver_stream stream),                                                                      \
      (to, pitch, value, width, height, stream), HOOK_SET(width *height))                          \
    X(cuMemsetD2D16Async, "cuMemsetD2D16Async",                                                    \
      (cuda_pointer to, size_t pitch, unsigned short value, size_t width, size_t height,           \
       driver_stream stream),                                                                      \
      (to, pitch, value, width, height, stream), HOOK_SET(2 * width * height))                     \
    X(cuMemsetD2D32Async, "cuMemsetD2D32Async",                                                    \
      (cuda_pointer to, size_t pitch, unsigned value, size_t width, size_t height,                 \
       driver_stream stream),                                                                      \
      (to, pitch, value, width, height, stream), HOOK_SET(4 * width * height))

/* The same on the default stream; the twin is symbol_ptds. */
#define HOOK_DEFAULT_CALLS(X)                                                                      \
    X(cuMemcpy, "cuMemcpy", (cuda_pointer to, cuda_pointer from, size_t bytes), (to, from, bytes), \
      HOOK_COPY("Memcpy", bytes))                                                                  \
    X(cuMemcpyHtoD_v2, "cuMemcpyHtoD", (cuda_pointer to, const void *from, size_t bytes),          \
      (to, from, bytes), HOOK_COPY("Memcpy HtoD", bytes))                                          \
    X(cuMemcpyDtoH_v2, "cuMemcpyDtoH", (void *to, cuda_pointer from, size_t bytes),                \
      (to, from, bytes), HOOK_COPY("Memcpy DtoH", bytes))                                          \
    X(cuMemcpyDtoD_v2, "cuMemcpyDtoD", (cuda_pointer to, cuda_pointer from, size_t bytes),         \
      (to, from, bytes), HOOK_COPY("Memcpy DtoD", bytes))                                          \
    X(cuMemsetD8_v2, "cuMemsetD8", (cuda_pointer to, unsigned char value, size_t count),           \
      (to, value, count), HOOK_SET(count))                                                         \
    X(cuMemsetD16_v2, "cuMemsetD16", (cuda_pointer to, unsigned short value, size_t count),        \
      (to, value, count), HOOK_SET(2 * count))                                                     \
    X(cuMemsetD32_v2, "cuMemsetD32", (cuda_pointer to, unsigned value, size_t count),              \
      (to, value, count), HOOK_SET(4 * count))

#define HOOK_COPY(what, size) .kind = WORK_COPY, .name = (what), .bytes = (size)
#define HOOK_SET(size) .kind = WORK_SET, .name = "Memset", .bytes = (size)

/* X(symbol, as cuGetProcAddress knows it, parameters, arguments), with twins of _ptsz: what a
 * stream may do for long between two pieces of work. */
#define HOOK_BETWEEN_CALLS(X)                                                                      \
    X(cuStreamWaitEvent, "cuStreamWaitEvent",                                                      \
      (driver_stream stream, driver_event event, unsigned flags), (stream, event, flags))          \
    X(cuStreamAddCallback, "cuStreamAddCallback",                                                  \
      (driver_stream stream, inject_stream_callback callback, void *data, unsigned flags),         \
      (stream, callback, data, flags))                                                             \
    X(cuLaunchHostFunc, "cuLaunchHostFunc",                                                        \
      (driver_stream stream, inject_host_function function, void *data), (stream, function, data)) \
    X(cuStreamWaitValue32_v2, "cuStreamWaitValue32",                                               \
      (driver_stream stream, cuda_pointer address, uint32_t value, unsigned flags),                \
      (stream, address, value, flags))                                                             \
    X(cuStreamWaitValue64_v2, "cuStreamWaitValue64",                                               \
      (driver_stream stream, cuda_pointer address, uint64_t value, unsigned flags),                \
      (stream, address, value, flags))                                                             \
    X(cuStreamBatchMemOp_v2, "cuStreamBatchMemOp",                                                 \
      (driver_stream stream, unsigned count, inject_memory_operation *operations, unsigned flags), \
      (stream, count, operations, flags))                                                          \
    X(cuMemAllocAsync, "cuMemAllocAsync",                                                          \
      (cuda_pointer * address, size_t bytes, driver_stream stream), (address, bytes, stream))      \
    X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync",                                          \
      (cuda_pointer * address, size_t bytes, inject_pool pool, driver_stream stream),              \
      (address, bytes, pool, stream))                                                              \
    X(cuMemFreeAsync, "cuMemFreeAsync", (cuda_pointer address, driver_stream stream),              \
      (address, stream))                                                                           \
    X(cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync",                                                 \
      (cuda_pointer * to, cuda_pointer * from, size_t * sizes, size_t count,                       \
       inject_copy_attributes * attributes, size_t * indices, size_t attribute_count,              \
       driver_stream stream),                                                                      \
      (to, from, sizes, count, attributes, indices, attribute_count, stream))

/* X(symbol, as cuGetProcAddress knows it, parameters): what else is looked at. */
#define HOOK_OTHER_CALLS(X)                                                                        \
    X(cuLaunchKernelEx, "cuLaunchKernelEx",                                                        \
      (const inject_launch_config *config, driver_function function, void **values, void **extra)) \
    X(cuModuleGetFunction, "cuModuleGetFunction",                                                  \
      (driver_function * made, driver_module module, const char *name))                            \
    X(cuLibraryGetKernel, "cuLibraryGetKernel",                                                    \
      (cuda_kernel * made, inject_library_handle from, const char *name))                          \
    X(cuKernelGetFunction, "cuKernelGetFunction", (driver_function * made, cuda_kernel kernel))    \
    X(cuStreamSynchronize, "cuStreamSynchronize", (driver_stream stream))                          \
    X(cuEventSynchronize, "cuEventSynchronize", (driver_event event))                              \
    X(cuCtxSynchronize, "cuCtxSynchronize", (void))                                                \
    X(cuCtxSynchronize_v2, "cuCtxSynchronize", (cuda_context context))                             \
    X(cuCtxDestroy_v2, "cuCtxDestroy", (cuda_context context))                                     \
    X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", (driver_device device))           \
    X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", (driver_device device))

#endif /* HOOKS_ABI_H */
