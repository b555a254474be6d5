/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_clock.h - a reading of the device's timer, put on a stream.
 */
#ifndef DEVICE_CLOCK_H
#define DEVICE_CLOCK_H

#include "rbwp_device_buffers.h"

/* Enqueues the kernel that stores the timer, 64 bits, at an address of the device. A code of the
 * driver; attached. */
int device_clock_store(const struct rbwp_device_clock *clock, void *to, void *stream);

#endif /* DEVICE_CLOCK_H */
