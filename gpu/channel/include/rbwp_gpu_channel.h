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
 * so does every copy from or to host memory, or another device's. All else is done by kernels, each
 * in a bracket, so that it appears as GPU_WORK of the channel's slot. A fill and a large reduction
 * take a small copy or a second kernel besides. The time that the worker spends on launching is a
 * level-2 sub-item of type RBWP_XFER_CHANNEL: "gpu memcpy channel", "gpu peer copy channel", "gpu
 * copy kernel channel", "gpu memfill channel", "gpu transpose channel" or "gpu memreduce channel".
 * Copies between devices are in brackets, too.
 *
 * Transfers of a channel are carried out in the order of submission, on a stream of its own.
 * Numbers are as on the host, but that a sum or product of floating-point numbers folded into one
 * has an order of its own (it depends on the shape alone).
 */
#ifndef RBWP_GPU_CHANNEL_H
#define RBWP_GPU_CHANNEL_H

#include "rbwp_channel.h"
#include "rbwp_gpu.h"

RBWP_C_BEGIN_

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

/* ---- memory of other devices and processes ------------------------------------------- */

/*
 * Has copies between two devices go directly (over NVLink, PCIe, xGMI) where the hardware can: call
 * it once for each device that submits them, with the one that it reads or writes. *direct_out (may
 * be NULL) says if they will; if not, copies are possible all the same, and the driver takes them
 * through the host. One device, or the same one opened twice, is direct. What was enabled stays for
 * as long as the driver's contexts do. RBWP_E_UNSUPPORTED: no copies between the two at all
 * (OpenCL, two APIs), so that they have to go through memory of the host; RBWP_E_STATE; RBWP_E_IO.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_gpu_peer_enable(struct rbwp_gpu_device *device,
                                                             struct rbwp_gpu_device *peer,
                                                             bool *direct_out,
                                                             struct rbwp_error *error);

/* What memory is called in other processes of its machine: bytes to be sent to them as they are,
 * and to be believed as the sender is. */
struct rbwp_gpu_share {
    uint64_t bytes;
    uint32_t api; /* enum rbwp_gpu_api */
    uint32_t zero;
    uint8_t machine[48]; /* which, and since which start of it */
    uint8_t words[64];   /* the driver's */
};

/*
 * Names memory of rbwp_gpu_buffer_alloc for other processes, where it can be used until it is
 * freed; they should have closed it before. Drivers share whole blocks: memory that other data
 * should not be shared with is allocated in multiples of 2 MiB. RBWP_E_UNSUPPORTED (OpenCL, or the
 * driver cannot); RBWP_E_INVALID; RBWP_E_STATE; RBWP_E_IO.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_gpu_buffer_share(struct rbwp_gpu_device *device,
                                                              const struct rbwp_gpu_buffer *buffer,
                                                              struct rbwp_gpu_share *share_out,
                                                              struct rbwp_error *error);
/*
 * Opens what another process shared; from then on it is as memory of device, whichever device of
 * the machine it lies on. Once for each share and device; not in the process that shared it, which
 * has the buffer itself. May block. RBWP_E_UNSUPPORTED (another machine, another API, the driver
 * cannot); RBWP_E_INVALID; RBWP_E_STATE; RBWP_E_IO. *buffer_out is {0} then.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_gpu_buffer_open(struct rbwp_gpu_device *device,
                                                             const struct rbwp_gpu_share *share,
                                                             struct rbwp_gpu_buffer *buffer_out,
                                                             struct rbwp_error *error);
/* Closes what was opened, and sets it to {0}. No transfer may use it any more. */
RBWP_API void rbwp_gpu_buffer_close(struct rbwp_gpu_device *device, struct rbwp_gpu_buffer *buffer);

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
    /*
     * Of a copy: the device whose memory the buffer is; NULL: the channel's, as is memory of
     * another process that was opened for it. What is innermost has to be a run of bytes on both
     * sides then.
     */
    struct rbwp_gpu_device *source_device, *target_device;
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
 * no 64-bit floating point on this device, an element-wise copy to or from memory of the host or
 * another device, devices that rbwp_gpu_peer_enable refuses);
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
    uint64_t peers;     /* of the copies, those between devices */
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

RBWP_C_END_
#endif /* RBWP_GPU_CHANNEL_H */
