/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legion_ids.h - how our own Legion Prof logs number and call what Legion has no word for, so that
 * they can be read back as what they were. Legion's own task ids are far smaller.
 */
#ifndef LEGION_IDS_H
#define LEGION_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define LEGION_OWN_TASK UINT32_C(0x40000000)
#define LEGION_OWN_MASK UINT32_C(0x0fffffff) /* of the number behind it */

/* Variants of our tasks: any other's name is that of its task. */
#define LEGION_CALL_VARIANT "bgwork"
#define LEGION_GPU_VARIANT "gpu"

static inline bool legion_is_own_task(uint64_t task)
{
    return (task & ~(uint64_t)LEGION_OWN_MASK) == LEGION_OWN_TASK;
}

#endif /* LEGION_IDS_H */
