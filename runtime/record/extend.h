/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extend.h - the session's side of record_extend.h.
 */
#ifndef EXTEND_H
#define EXTEND_H

#include "record_extend.h"

/* Calls the hooks, outside all locks. */
void extend_tell(enum rbwp_extend_moment moment);

/* A copy of the GPUs known, to be freed in one piece; NULL with *count_out 0 if there are none (or
 * no memory). */
struct rbwp_gpu_info *extend_gpus(uint32_t *count_out);

#endif /* EXTEND_H */
