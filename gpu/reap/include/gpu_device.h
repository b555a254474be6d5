/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_device.h - what the parts of gpu/ may know of an open device and of a stream in use.
 */
#ifndef RBWP_GPU_DEVICE_H
#define RBWP_GPU_DEVICE_H

#include "gpu_backend.h"
#include "rbwp_gpu.h"

/* The context that the device was opened with; it belongs to the device. librbwp-jobs has it, too.
 */
RBWP_API struct gpu_context *rbwp_extend_gpu_context(struct rbwp_gpu_device *device);

/* The context of the stream (the device's, unless the program made the stream in another one), and
 * the driver's own handle of it. */
struct gpu_context *gpu_stream_context(struct rbwp_gpu_stream *stream);
void *gpu_stream_native(struct rbwp_gpu_stream *stream);

#endif /* RBWP_GPU_DEVICE_H */
