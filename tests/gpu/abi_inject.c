/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards that gpu/inject/inject_abi.h says what cuda.h and CUPTI's headers say. Compiling it is the
 * test.
 */
#include <cuda.h>
#include <cupti.h>

#include "abi_cuda.h"

/* ---- prototypes, with the real types ---- */

typedef CUptiResult cupti_result;
typedef CUpti_CallbackDomain cupti_domain;
typedef CUpti_SubscriberHandle cupti_subscriber;
typedef CUpti_CallbackFunc cupti_callback;
typedef CUpti_ActivityKind cupti_kind;
typedef CUpti_ActivityAttribute cupti_attribute;
typedef CUpti_Activity cupti_record;
typedef CUpti_BuffersCallbackRequestFunc cupti_buffer_wanted;
typedef CUpti_BuffersCallbackCompleteFunc cupti_buffer_filled;
typedef CUpti_TimestampCallbackFunc cupti_timestamp;
typedef CUDA_MEMCPY2D inject_copy_2d;
typedef CUstreamBatchMemOpParams inject_memory_operation;
typedef CUmemcpyAttributes inject_copy_attributes;
typedef CUmemoryPool inject_pool;
typedef CUstreamCallback inject_stream_callback;
typedef CUhostFn inject_host_function;
typedef CUgraphExec inject_graph;
typedef CUlibrary inject_library_handle;
typedef CUlaunchConfig inject_launch_config;
#include "hooks_abi.h"

#define CHECK(symbol, asked, parameters, ...)                                                      \
    _Static_assert(__builtin_types_compatible_p(driver_result(*) parameters, __typeof__(&symbol)), \
                   #symbol " has another prototype");
HOOK_STREAM_CALLS(CHECK)
HOOK_DEFAULT_CALLS(CHECK)
HOOK_BETWEEN_CALLS(CHECK)
HOOK_OTHER_CALLS(CHECK)
#undef CHECK
#define CHECK(symbol, optional, parameters) ABI_PROTOTYPE(struct cupti_functions, symbol, symbol)
CUPTI_FUNCTIONS(CHECK)
#undef CHECK

ABI_PASSED_AS(CUgraphExec, void *);
ABI_PASSED_AS(CUlibrary, void *);
ABI_PASSED_AS(CUdriverProcAddressQueryResult, int);
ABI_PASSED_AS(CUptiResult, int);
ABI_PASSED_AS(CUpti_CallbackDomain, int);
ABI_PASSED_AS(CUpti_ActivityKind, int);
ABI_PASSED_AS(CUpti_CallbackId, uint32_t);
ABI_PASSED_AS(CUpti_SubscriberHandle, void *);

/* ---- numbers ---- */

#define CHECK(symbol, id) ABI_SAME(CUPTI_CALL_##symbol, (int)CUPTI_DRIVER_TRACE_CBID_##symbol);
CUPTI_CALLS(CHECK)
CUPTI_WORK_CALLS(CHECK)
CUPTI_WAIT_CALLS(CHECK)
#undef CHECK
ABI_SAME(CUDA_NOT_STARTED, (int)CUDA_ERROR_NOT_INITIALIZED);
ABI_SAME(CUDA_PROC_PER_THREAD, (int)CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
ABI_SAME(CUPTI_OK, (int)CUPTI_SUCCESS);
ABI_SAME(CUPTI_TAKEN, (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
ABI_SAME(CUPTI_DOMAIN_DRIVER, (int)CUPTI_CB_DOMAIN_DRIVER_API);
ABI_SAME(CUPTI_END_OF_BUFFER, (int)CUPTI_ERROR_MAX_LIMIT_REACHED);
ABI_SAME(CUPTI_DOMAIN_RUNTIME, (int)CUPTI_CB_DOMAIN_RUNTIME_API);
ABI_SAME(CUPTI_COPY, (int)CUPTI_ACTIVITY_KIND_MEMCPY);
ABI_SAME(CUPTI_SET, (int)CUPTI_ACTIVITY_KIND_MEMSET);
ABI_SAME(CUPTI_KERNEL, (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
ABI_SAME(CUPTI_PEER_COPY, (int)CUPTI_ACTIVITY_KIND_MEMCPY2);
ABI_SAME(CUPTI_CLEARED_BUFFERS, (int)CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
ABI_SAME(CUPTI_FLUSH_FORCED, (int)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
ABI_SAME(CUPTI_DOMAIN_RESOURCE, (int)CUPTI_CB_DOMAIN_RESOURCE);
ABI_SAME(CUPTI_CONTEXT_GOES, (int)CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
ABI_SAME(CUPTI_STREAM_GOES, (int)CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
ABI_SAME(CUPTI_ENTER, (int)CUPTI_API_ENTER);
ABI_SAME(CUPTI_EXIT, (int)CUPTI_API_EXIT);

/* ---- structs ---- */

#define CALL(ours, real) ABI_FIELD(struct cupti_call, ours, CUpti_CallbackData, real)
CALL(site, callbackSite);
CALL(name, functionName);
CALL(params, functionParams);
CALL(result, functionReturnValue);
CALL(symbol, symbolName);
CALL(context, context);
CALL(context_id, contextUid);
CALL(between, correlationData);
CALL(correlation, correlationId);
#define RESOURCE(ours, real) ABI_FIELD(struct cupti_resource, ours, CUpti_ResourceData, real)
RESOURCE(context, context);
RESOURCE(handle, resourceHandle);
RESOURCE(descriptor, resourceDescriptor);

#define LAUNCH(type)                                                                               \
    ABI_FIELD(struct cuda_launch_params, function, type, f);                                       \
    ABI_FIELD(struct cuda_launch_params, grid_x, type, gridDimX);                                  \
    ABI_FIELD(struct cuda_launch_params, grid_z, type, gridDimZ);                                  \
    ABI_FIELD(struct cuda_launch_params, block_x, type, blockDimX);                                \
    ABI_FIELD(struct cuda_launch_params, block_z, type, blockDimZ);                                \
    ABI_FIELD(struct cuda_launch_params, shared_bytes, type, sharedMemBytes);                      \
    ABI_FIELD(struct cuda_launch_params, stream, type, hStream);                                   \
    ABI_FIELD(struct cuda_launch_params, arguments, type, kernelParams);
LAUNCH(cuLaunchKernel_params)
LAUNCH(cuLaunchKernel_ptsz_params)
LAUNCH(cuLaunchCooperativeKernel_params)
LAUNCH(cuLaunchCooperativeKernel_ptsz_params)
#define LAUNCH_EX(type)                                                                            \
    ABI_FIELD(struct cuda_launch_ex_params, config, type, config);                                 \
    ABI_FIELD(struct cuda_launch_ex_params, function, type, f);
LAUNCH_EX(cuLaunchKernelEx_params)
LAUNCH_EX(cuLaunchKernelEx_ptsz_params)
ABI_SAME(offsetof(cuModuleUnload_params, hmod), 0);
ABI_SAME(offsetof(cuLibraryUnload_params, library), 0);
ABI_FIELD(struct cuda_get_params, made, cuModuleGetFunction_params, hfunc);
ABI_FIELD(struct cuda_get_params, from, cuModuleGetFunction_params, hmod);
ABI_FIELD(struct cuda_get_params, made, cuLibraryGetKernel_params, pKernel);
ABI_FIELD(struct cuda_get_params, from, cuLibraryGetKernel_params, library);
ABI_FIELD(struct cuda_get_params, made, cuKernelGetFunction_params, pFunc);
ABI_FIELD(struct cuda_get_params, from, cuKernelGetFunction_params, kernel);

#define CONFIG(ours, real) ABI_FIELD(struct cuda_launch_config, ours, CUlaunchConfig, real)
CONFIG(grid_x, gridDimX);
CONFIG(grid_z, gridDimZ);
CONFIG(block_x, blockDimX);
CONFIG(block_z, blockDimZ);
CONFIG(shared_bytes, sharedMemBytes);
CONFIG(stream, hStream);
CONFIG(attributes, attrs);
CONFIG(attribute_count, numAttrs);

/* ---- records of finished work ---- */

#define KERNEL(type)                                                                               \
    ABI_FIELD(struct cupti_kernel, kind, type, kind);                                              \
    ABI_FIELD(struct cupti_kernel, registers, type, registersPerThread);                           \
    ABI_FIELD(struct cupti_kernel, start, type, start);                                            \
    ABI_FIELD(struct cupti_kernel, end, type, end);                                                \
    ABI_FIELD(struct cupti_kernel, device, type, deviceId);                                        \
    ABI_FIELD(struct cupti_kernel, stream, type, streamId);                                        \
    ABI_SAME(offsetof(struct cupti_kernel, grid), offsetof(type, gridX));                          \
    ABI_SAME(offsetof(struct cupti_kernel, block), offsetof(type, blockX));                        \
    ABI_FIELD(struct cupti_kernel, static_shared, type, staticSharedMemory);                       \
    ABI_FIELD(struct cupti_kernel, dynamic_shared, type, dynamicSharedMemory);                     \
    ABI_FIELD(struct cupti_kernel, correlation, type, correlationId);                              \
    ABI_FIELD(struct cupti_kernel, name, type, name);                                              \
    ABI_FIELD(struct cupti_kernel, graph_node, type, graphNodeId);
KERNEL(CUpti_ActivityKernel10)
KERNEL(CUpti_ActivityKernel9)
KERNEL(CUpti_ActivityKernel8)
#define COPY(type)                                                                                 \
    ABI_FIELD(struct cupti_copy, kind, type, kind);                                                \
    ABI_FIELD(struct cupti_copy, way, type, copyKind);                                             \
    ABI_FIELD(struct cupti_copy, from, type, srcKind);                                             \
    ABI_FIELD(struct cupti_copy, to, type, dstKind);                                               \
    ABI_FIELD(struct cupti_copy, bytes, type, bytes);                                              \
    ABI_FIELD(struct cupti_copy, start, type, start);                                              \
    ABI_FIELD(struct cupti_copy, device, type, deviceId);                                          \
    ABI_FIELD(struct cupti_copy, stream, type, streamId);                                          \
    ABI_FIELD(struct cupti_copy, correlation, type, correlationId);                                \
    ABI_FIELD(struct cupti_copy, graph_node, type, graphNodeId);
COPY(CUpti_ActivityMemcpy6)
COPY(CUpti_ActivityMemcpy5)
#define PEER_COPY(ours, real)                                                                      \
    ABI_FIELD(struct cupti_peer_copy, ours, CUpti_ActivityMemcpyPtoP4, real)
PEER_COPY(bytes, bytes);
PEER_COPY(end, end);
PEER_COPY(stream, streamId);
PEER_COPY(from_device, srcDeviceId);
PEER_COPY(to_device, dstDeviceId);
PEER_COPY(correlation, correlationId);
PEER_COPY(graph_node, graphNodeId);
#define SET(ours, real) ABI_FIELD(struct cupti_set, ours, CUpti_ActivityMemset4, real)
SET(value, value);
SET(bytes, bytes);
SET(end, end);
SET(stream, streamId);
SET(correlation, correlationId);
SET(memory, memoryKind);
SET(graph_node, graphNodeId);
