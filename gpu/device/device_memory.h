/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_memory.h - memory of a device with a copy of it on the host, and the way there and back.
 */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include "gpu_device.h"
#include "rbwp_device_buffers.h"

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

/* What events and groups are called, as numbers of the session's names. */

struct device_names {
    struct device_name {
        int64_t id;
        uint64_t number;
    } * names;
    uint32_t count, room;
};

/* Interns what the program calls them; several with one id: the last one counts. RBWP_E_INVALID,
 * RBWP_E_MEMORY, RBWP_E_LIMIT. */
enum rbwp_status device_names_add(struct device_names *names, const struct rbwp_device_name *given,
                                  uint32_t count, struct rbwp_error *error);
/* The number of an id's name, interned as text if the program gave none; 0 where that cannot be. */
uint64_t device_names_number(struct device_names *names, int64_t id, const char *text);
/* The number that is known, 0: none is. */
uint64_t device_names_find(const struct device_names *names, int64_t id);
void device_names_free(struct device_names *names);

#endif /* DEVICE_MEMORY_H */
