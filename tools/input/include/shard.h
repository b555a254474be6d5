/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard.h - which of several equal processes this one is, so that each takes its part of the files.
 *
 * Given as "i/N", i from 0 to N - 1, or "auto": by the variables with which launchers give it to
 * each process that they start. The first of these that are set counts: RBWP_SHARD ("i/N"), then
 * OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK and _SIZE, MV2_COMM_WORLD_RANK and _SIZE, PALS_RANKID
 * and PALS_SIZE (or the PMI's), SLURM_PROCID and SLURM_NTASKS.
 */
#ifndef SHARD_H
#define SHARD_H

#include "options.h"

#define SHARDS_MAX 1000000u

struct shard {
    uint32_t number, of; /* of: 0 = there are no others */
};

/* An option's store of a struct shard. */
bool shard_store(void *value, const char *text, struct option_error *error);

/* Whether the index-th file is this process's. */
static inline bool shard_has(struct shard shard, uint32_t index)
{
    return shard.of == 0 || index % shard.of == shard.number;
}

#endif /* SHARD_H */
