/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_launch_facts.h - the opaque block "gpux" (SPEC.md, section 9.1), for who checks blocks.
 */
#ifndef GPU_LAUNCH_FACTS_H
#define GPU_LAUNCH_FACTS_H

#include "rbwp_reader.h"

/* R43. True for a block of any other tag. data has at least 4 bytes. */
bool gpu_launch_facts_check(const struct rbwp_block *block);

#endif /* GPU_LAUNCH_FACTS_H */
