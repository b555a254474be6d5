/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_check.h - what a caller asks of a GPU channel, checked, as a plan.
 */
#ifndef RBWP_CHANNEL_CHECK_H
#define RBWP_CHANNEL_CHECK_H

#include "channel_plan.h"

/* What rbwp_gpu_channel_submit answers, but for kernels that are not there. */
enum rbwp_status channel_check(const struct rbwp_gpu_transfer *transfer, enum gpu_api api,
                               struct channel_plan *plan_out, struct rbwp_error *error);

#endif /* RBWP_CHANNEL_CHECK_H */
