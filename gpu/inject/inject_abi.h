/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_abi.h - what we use of CUPTI and of its view of the CUDA Driver API, in our own words.
 *
 * Taken from cuda.h, cupti_activity.h, cupti_callbacks.h, cupti_driver_cbid.h and
 * generated_cuda_meta.h of CUDA 13.0.
 * Numbers of callbacks are only ever added to, and struct cupti_call is as it was in CUDA 12.
 * tests/gpu/abi_inject.c compares all of it with the real headers.
 */
#ifndef INJECT_ABI_H
#define INJECT_ABI_H

#include "cuda_abi.h"

#define CUDA_STREAM_LEGACY ((void *)1)
#define CUDA_STREAM_PER_THREAD ((void *)2)

/* Members have CUDA's names. */
struct inject_functions {
#define INJECT_SHARED(member, parameters, cuda, hip, in_hip, in_inject)                            \
    DRIVER_IF_##in_inject(driver_result(*cuda) parameters;)
#define INJECT_MEMBER(symbol, parameters, in_backend, in_inject)                                   \
    DRIVER_IF_##in_inject(driver_result(*symbol) parameters;)
    DRIVER_CALLS(INJECT_SHARED) CUDA_CALLS(INJECT_MEMBER)
#undef INJECT_SHARED
#undef INJECT_MEMBER
};

/* What a launch gets beside its arguments, by cuLaunchKernelEx. */
struct cuda_launch_config {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void *stream, *attributes;
    unsigned attribute_count;
};

/* ---- CUPTI ----------------------------------------------------------------------------- */

#ifndef RBWP_ABI_REAL
typedef int cupti_result, cupti_domain, cupti_kind, cupti_attribute;
typedef void *cupti_subscriber;
typedef void (*cupti_callback)(void *context, cupti_domain domain, uint32_t id, const void *data);
typedef void cupti_record;
typedef void (*cupti_buffer_wanted)(uint8_t **buffer, size_t *bytes, size_t *records_max);
typedef void (*cupti_buffer_filled)(cuda_context context, uint32_t stream, uint8_t *buffer,
                                    size_t bytes, size_t valid_bytes);
typedef uint64_t (*cupti_timestamp)(void);
#endif

#define CUPTI_OK 0
#define CUPTI_TAKEN 39 /* by another tool */
#define CUPTI_END_OF_BUFFER 12
#define CUPTI_DOMAIN_DRIVER 1
#define CUPTI_DOMAIN_RUNTIME 2
#define CUPTI_DOMAIN_RESOURCE 3
#define CUPTI_CONTEXT_GOES 2 /* these are of the domain of resources */
#define CUPTI_STREAM_GOES 4
#define CUPTI_ENTER 0
#define CUPTI_EXIT 1

/* X(symbol, id): calls of the driver, those of _ptsz, for streams per thread, behind the others. */
/* clang-format off */
#define CUPTI_CALLS(X) \
    X(cuLaunchKernel, 307) X(cuLaunchKernel_ptsz, 442) \
    X(cuLaunchKernelEx, 652) X(cuLaunchKernelEx_ptsz, 653) \
    X(cuLaunchCooperativeKernel, 477) X(cuLaunchCooperativeKernel_ptsz, 478) \
    X(cuModuleGetFunction, 23) X(cuLibraryGetKernel, 681) X(cuKernelGetFunction, 683) \
    X(cuModuleUnload, 22) X(cuLibraryUnload, 680)

/* Calls that put work on a GPU, beside launches of one kernel. */
#define CUPTI_WORK_CALLS(X) \
    X(cuGraphLaunch, 514) X(cuGraphLaunch_ptsz, 515) \
    X(cuMemcpy, 305) X(cuMemcpy_ptds, 408) \
    X(cuMemcpyAsync, 306) X(cuMemcpyAsync_ptsz, 418) \
    X(cuMemcpyHtoD_v2, 276) X(cuMemcpyHtoD_v2_ptds, 397) \
    X(cuMemcpyHtoDAsync_v2, 277) X(cuMemcpyHtoDAsync_v2_ptsz, 421) \
    X(cuMemcpyDtoH_v2, 278) X(cuMemcpyDtoH_v2_ptds, 398) \
    X(cuMemcpyDtoHAsync_v2, 279) X(cuMemcpyDtoHAsync_v2_ptsz, 422) \
    X(cuMemcpyDtoD_v2, 280) X(cuMemcpyDtoD_v2_ptds, 399) \
    X(cuMemcpyDtoDAsync_v2, 281) X(cuMemcpyDtoDAsync_v2_ptsz, 423) \
    X(cuMemcpy2D_v2, 287) X(cuMemcpy2D_v2_ptds, 405) \
    X(cuMemcpy2DUnaligned_v2, 288) X(cuMemcpy2DUnaligned_v2_ptds, 406) \
    X(cuMemcpy2DAsync_v2, 289) X(cuMemcpy2DAsync_v2_ptsz, 424) \
    X(cuMemcpy3D_v2, 290) X(cuMemcpy3D_v2_ptds, 407) \
    X(cuMemcpy3DAsync_v2, 291) X(cuMemcpy3DAsync_v2_ptsz, 425) \
    X(cuMemcpyPeer, 318) X(cuMemcpyPeer_ptds, 409) \
    X(cuMemcpyPeerAsync, 319) X(cuMemcpyPeerAsync_ptsz, 426) \
    X(cuMemcpy3DPeer, 320) X(cuMemcpy3DPeer_ptds, 410) \
    X(cuMemcpy3DPeerAsync, 321) X(cuMemcpy3DPeerAsync_ptsz, 427) \
    X(cuMemsetD8_v2, 249) X(cuMemsetD8_v2_ptds, 411) \
    X(cuMemsetD16_v2, 250) X(cuMemsetD16_v2_ptds, 412) \
    X(cuMemsetD32_v2, 251) X(cuMemsetD32_v2_ptds, 413) \
    X(cuMemsetD2D8_v2, 252) X(cuMemsetD2D8_v2_ptds, 414) \
    X(cuMemsetD2D16_v2, 253) X(cuMemsetD2D16_v2_ptds, 415) \
    X(cuMemsetD2D32_v2, 254) X(cuMemsetD2D32_v2_ptds, 416) \
    X(cuMemsetD8Async, 216) X(cuMemsetD8Async_ptsz, 428) \
    X(cuMemsetD16Async, 218) X(cuMemsetD16Async_ptsz, 429) \
    X(cuMemsetD32Async, 220) X(cuMemsetD32Async_ptsz, 430) \
    X(cuMemsetD2D8Async, 222) X(cuMemsetD2D8Async_ptsz, 431) \
    X(cuMemsetD2D16Async, 224) X(cuMemsetD2D16Async_ptsz, 432) \
    X(cuMemsetD2D32Async, 226) X(cuMemsetD2D32Async_ptsz, 433)

/* Calls that wait for a GPU. */
#define CUPTI_WAIT_CALLS(X) \
    X(cuStreamSynchronize, 126) X(cuStreamSynchronize_ptsz, 440) \
    X(cuEventSynchronize, 121) X(cuCtxSynchronize, 17)
/* clang-format on */

enum cupti_call_id {
#define CUPTI_CALL_ID(symbol, id) CUPTI_CALL_##symbol = (id),
    CUPTI_CALLS(CUPTI_CALL_ID) CUPTI_WORK_CALLS(CUPTI_CALL_ID) CUPTI_WAIT_CALLS(CUPTI_CALL_ID)
#undef CUPTI_CALL_ID
};

/* A call of the driver, at its beginning and at its end. */
struct cupti_call {
    int site;
    const char *name;
    const void *params; /* a struct of the call's parameters */
    void *result;       /* at its end: of type driver_result */
    const char *symbol; /* of launches: the kernel */
    void *context;      /* current to the thread; NULL: none */
    uint32_t context_id;
    uint64_t *between;
    uint32_t correlation;
};

struct cupti_resource {
    void *context, *handle, *descriptor;
};

/* Parameters of cuLaunchKernel; those of cuLaunchCooperativeKernel are the same up to arguments. */
struct cuda_launch_params {
    void *function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void *stream;
    void **arguments;
};
struct cuda_launch_ex_params {
    const struct cuda_launch_config *config;
    void *function;
};

/* Parameters of cuModuleGetFunction, cuLibraryGetKernel and cuKernelGetFunction begin so. */
struct cuda_get_params {
    void **made;
    void *from;
};

/* ---- what CUPTI reports of finished work ---- */

enum cupti_kinds {
    CUPTI_COPY = 1,
    CUPTI_SET = 2,
    CUPTI_KERNEL = 10, /* several at the same time */
    CUPTI_PEER_COPY = 22
};
#define CUPTI_FLUSH_FORCED 1
#define CUPTI_CLEARED_BUFFERS 5 /* an attribute: those that we give are all zero */

/* Records lie packed to 8 bytes, each with its kind first; later versions add behind these. */
struct cupti_kernel {
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t partitioned_requested, partitioned_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], static_shared, dynamic_shared;
    uint32_t local, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
};
struct cupti_copy {
    uint32_t kind;
    uint8_t way, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
};
struct cupti_peer_copy {
    uint32_t kind;
    uint8_t way, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, from_device, from_context, to_device, to_context, correlation;
    void *reserved;
    uint64_t graph_node;
};
struct cupti_set {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
};

/* X(symbol, optional, parameters). Those that are optional are for records of finished work. */
#define CUPTI_FUNCTIONS(X)                                                                         \
    X(cuptiGetVersion, 0, (uint32_t *))                                                            \
    X(cuptiSubscribe, 0, (cupti_subscriber *, cupti_callback, void *))                             \
    X(cuptiUnsubscribe, 0, (cupti_subscriber))                                                     \
    X(cuptiEnableCallback, 0, (uint32_t, cupti_subscriber, cupti_domain, uint32_t))                \
    X(cuptiEnableDomain, 1, (uint32_t, cupti_subscriber, cupti_domain))                            \
    X(cuptiActivityRegisterTimestampCallback, 1, (cupti_timestamp))                                \
    X(cuptiActivityRegisterCallbacks, 1, (cupti_buffer_wanted, cupti_buffer_filled))               \
    X(cuptiActivitySetAttribute, 1, (cupti_attribute, size_t *, void *))                           \
    X(cuptiActivityEnable, 1, (cupti_kind))                                                        \
    X(cuptiActivityDisable, 1, (cupti_kind))                                                       \
    X(cuptiActivityFlushAll, 1, (uint32_t))                                                        \
    X(cuptiActivityGetNextRecord, 1, (uint8_t *, size_t, cupti_record **))                         \
    X(cuptiActivityGetNumDroppedRecords, 1, (cuda_context, uint32_t, size_t *))

struct cupti_functions {
#define CUPTI_MEMBER(symbol, optional, parameters) cupti_result(*symbol) parameters;
    CUPTI_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
};

#endif /* INJECT_ABI_H */
