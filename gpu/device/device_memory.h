/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_memory.h - memory of a device with a copy of it on the host, and the way there and back.
 */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include "gpu_device.h"

#include <stddef.h>
#include <stdint.h>

struct device_memory {
    struct gpu_context *context;
    struct gpu_memory memory;
    void *host;   /* bytes of it, as the device had them when it was read; the copy engine's own */
    void *stream; /* copies go by it */
};

/* Zeroed on both sides. RBWP_E_UNSUPPORTED with OpenCL, whose memory has no address; RBWP_E_MEMORY,
 * RBWP_E_STATE, RBWP_E_IO. */
enum rbwp_status device_memory_new(struct device_memory *memory, struct rbwp_gpu_device *device,
                                   uint64_t bytes, struct rbwp_error *error);
void device_memory_free(struct device_memory *memory);

/* A part of the host's copy to the device; blocks. */
enum rbwp_status device_memory_write(struct device_memory *memory, uint64_t offset_bytes,
                                     uint64_t bytes, struct rbwp_error *error);
/* The other way, behind what is on the stream (NULL: at once); blocks. */
enum rbwp_status device_memory_read(struct device_memory *memory, uint64_t offset_bytes,
                                    uint64_t bytes, struct rbwp_gpu_stream *stream,
                                    struct rbwp_error *error);

#endif /* DEVICE_MEMORY_H */
