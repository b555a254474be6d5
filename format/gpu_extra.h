/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_extra.h - the opaque block "gpux" (SPEC.md, section 9.1), for who checks blocks.
 */
#ifndef GPU_EXTRA_H
#define GPU_EXTRA_H

#include "rbwp_reader.h"

/* R43. True for a block of any other tag. data has at least 4 bytes. */
bool gpu_extra_check(const struct rbwp_block *block);

#endif /* GPU_EXTRA_H */
