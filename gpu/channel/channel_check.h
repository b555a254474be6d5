/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_check.h - what a caller asks of a GPU channel, checked, as a plan.
 */
#ifndef RBWP_CHANNEL_CHECK_H
#define RBWP_CHANNEL_CHECK_H

#include "channel_plan.h"

/* What rbwp_gpu_channel_submit answers, but for kernels that are not there. context: the channel's.
 */
enum rbwp_status channel_check(const struct rbwp_gpu_transfer *transfer,
                               const struct gpu_context *context, struct channel_plan *plan_out,
                               struct rbwp_error *error);

/* The context of a side's memory if it is another one than the channel's, else NULL. */
const struct gpu_context *channel_peer_of(const struct rbwp_gpu_buffer *buffer,
                                          struct rbwp_gpu_device *device,
                                          const struct gpu_context *context);

#endif /* RBWP_CHANNEL_CHECK_H */
