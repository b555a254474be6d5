/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_gpu_channel.h - transfers on a GPU as background work.
 *
 * A GPU channel is a work item with a queue of transfers, like the host's (rbwp_channel.h), and a
 * transfer is described in the same words: struct rbwp_transfer says kind, extents, strides, order
 * and operation; what is added here is which memory of the device they lie in.
 *
 *     struct rbwp_gpu_channel *channel;
 *     rbwp_gpu_channel_new(&config, &channel, &error);
 *     struct rbwp_gpu_transfer t = {.size = sizeof t,
 *         .what = {.size = sizeof t.what, .kind = RBWP_TRANSFER_TRANSPOSE, .dimensions = 2,
 *                  .element_bytes = 4, .extent = {1000, 2000}, .done = arrived, .argument = me},
 *         .source = from, .target = to};
 *     rbwp_gpu_channel_submit(channel, &t, NULL, &error);    any thread, any time
 *     ...
 *     rbwp_gpu_channel_free(channel);                        before rbwp_gpu_device_close
 *
 * A copy whose elements lie in runs (contiguous or pitched) goes through the driver's copy engine;
 * so does every copy from or to host memory. All else is done by kernels, each in a bracket, so
 * that it appears as GPU_WORK of the channel's slot. A fill and a large reduction take a small
 * copy or a second kernel besides. The time that the worker spends on launching is a level-2
 * sub-item of type RBWP_XFER_CHANNEL: "gpu memcpy channel", "gpu copy kernel channel", "gpu memfill
 * channel", "gpu transpose channel" or "gpu memreduce channel".
 *
 * Transfers of a channel are carried out in the order of submission, on a stream of its own.
 * Numbers are as on the host, but that a sum or product of floating-point numbers folded into one
 * has an order of its own (it depends on the shape alone).
 */
#ifndef RBWP_GPU_CHANNEL_H
#define RBWP_GPU_CHANNEL_H

#include "rbwp_channel.h"
#include "rbwp_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ------------------------------------------------------------------ */

/* Memory of a device: a CUdeviceptr, a HIP device pointer or a cl_mem, of the context that the
 * device was opened with. {0} is none. A program's own memory may be named here as well. */
struct rbwp_gpu_buffer {
    void *native;
    uint64_t bytes;
};

/* Allocates memory of the device; its contents are undefined. May block. RBWP_E_MEMORY,
 * RBWP_E_STATE (context lost), RBWP_E_IO; *buffer_out is {0} then. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_gpu_buffer_alloc(struct rbwp_gpu_device *device,
                                                              uint64_t bytes,
                                                              struct rbwp_gpu_buffer *buffer_out,
                                                              struct rbwp_error *error);
/* Frees it and sets it to {0}. May wait for what runs on the device. */
RBWP_API void rbwp_gpu_buffer_free(struct rbwp_gpu_device *device, struct rbwp_gpu_buffer *buffer);

/* Host memory that the copy engine reaches without the worker waiting; other host memory will do
 * too. The same answers; *host_out is NULL on failure. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_gpu_host_alloc(struct rbwp_gpu_device *device,
                                                            uint64_t bytes, void **host_out,
                                                            struct rbwp_error *error);
RBWP_API void rbwp_gpu_host_free(struct rbwp_gpu_device *device, void *host);

/* ---- channels ------------------------------------------------------------------ */

/* How a channel is made. Zero in a field means its default. */
struct rbwp_gpu_channel_config {
    size_t size;                       /* sizeof(struct rbwp_gpu_channel_config) */
    struct rbwp_gpu_device *device;    /* must outlive the channel */
    struct rbwp_work_manager *manager; /* likewise; its workers launch */
    const char *name;                  /* of the work item */
    bool one_domain;                   /* only workers of NUMA domain `domain` launch */
    int domain;
    enum rbwp_gpu_use use; /* what reaping of its stream is called at level 2 */
    bool compile; /* CUDA: have NVRTC compile the kernels instead of taking the PTX inside the
                     library. HIP and OpenCL always compile. */
};

/* A transfer. Set size, leave what is not needed 0. */
struct rbwp_gpu_transfer {
    size_t size; /* sizeof(struct rbwp_gpu_transfer) */
    /*
     * As for rbwp_channel_submit, done and argument included; no files. what.source.memory and
     * what.target.memory are host addresses, and looked at only where no buffer is given below.
     */
    union {
        struct rbwp_transfer what; /* with its own size */
        char room_[256];           /* for what it may become */
    };
    /* Element [0,0,0] lies offset bytes into the buffer. A copy may have one side in host memory:
     * then what is innermost has to be a run of bytes on both sides. */
    struct rbwp_gpu_buffer source, target;
    uint64_t source_offset_bytes, target_offset_bytes;
    /*
     * It may be carried out together with the transfer submitted before it: neither writes what the
     * other reads or writes. Up to six small ones of a kind that follow each other become one
     * launch.
     */
    bool independent;
};

struct rbwp_gpu_channel; /* opaque */

/*
 * Makes a channel: a work item, a stream, and the kernels (which may have to be compiled: blocks).
 * Where they cannot be had the channel still copies, and other transfers are refused with the
 * reason. RBWP_E_INVALID (config), RBWP_E_LIMIT (no slot, no sub-item ids), RBWP_E_MEMORY,
 * RBWP_E_STATE, RBWP_E_IO; *channel_out is NULL then.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_gpu_channel_new(const struct rbwp_gpu_channel_config *config,
                     struct rbwp_gpu_channel **channel_out, struct rbwp_error *error);

/*
 * Queues a transfer. Everything in *transfer is copied, the element to fill with too. Any thread;
 * does not block. On RBWP_OK done will be called exactly once, on the thread that reaps (see
 * rbwp_gpu_callback_fn) or, for what rbwp_gpu_channel_free finds in the queue, on the thread that
 * frees; it may submit, not free. result.status: RBWP_OK; RBWP_E_STATE (freed before, or the
 * context is lost); RBWP_E_IO, RBWP_E_MEMORY (the driver failed). *id_out (may be NULL) counts from
 * 1. Otherwise nothing was queued and error (may be NULL) says why: RBWP_E_INVALID as
 * rbwp_channel_submit says, and for elements outside their buffer; RBWP_E_UNSUPPORTED (no kernels,
 * no 64-bit floating point on this device, an element-wise copy to or from host memory);
 * RBWP_E_MEMORY; RBWP_E_STATE when the channel is being freed.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_gpu_channel_submit(struct rbwp_gpu_channel *channel, const struct rbwp_gpu_transfer *transfer,
                        uint64_t *id_out, struct rbwp_error *error);

/* What a channel has launched so far. May grow at its end. */
struct rbwp_gpu_channel_launches {
    uint64_t transfers; /* ended */
    uint64_t copies;    /* calls of the copy engine */
    uint64_t kernels;   /* launches */
};
/* counts_bytes: the struct's size where the caller was compiled. */
RBWP_API void rbwp_gpu_channel_counts_sized(const struct rbwp_gpu_channel *channel,
                                            struct rbwp_gpu_channel_launches *counts_out,
                                            size_t counts_bytes);
static inline void rbwp_gpu_channel_counts(const struct rbwp_gpu_channel *channel,
                                           struct rbwp_gpu_channel_launches *counts_out)
{
    rbwp_gpu_channel_counts_sized(channel, counts_out, sizeof *counts_out);
}

/*
 * Ends what is queued with RBWP_E_STATE, waits for what is launched (up to the device's
 * drain_limit_ns) and frees the channel. No other thread may use it any more. RBWP_OK, NULL
 * included; RBWP_E_STATE, and nothing was done, from a done or the channel's own work item.
 */
RBWP_API enum rbwp_status rbwp_gpu_channel_free(struct rbwp_gpu_channel *channel);

#ifdef __cplusplus
}
#endif
#endif /* RBWP_GPU_CHANNEL_H */
