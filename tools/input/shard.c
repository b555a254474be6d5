/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct launcher {
    const char *number, *of;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PALS_RANKID", "PALS_SIZE"},
    {"PALS_RANKID", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
};
enum { LAUNCHERS = sizeof launchers / sizeof launchers[0] };

static bool shard_set(struct shard *shard, const char *number, const char *of,
                      struct option_error *error)
{
    return option_number(of, 1, SHARDS_MAX, &shard->of, error) &&
           option_number(number, 0, shard->of - 1, &shard->number, error);
}

static bool parse(struct shard *shard, const char *text, struct option_error *error)
{
    char number[16];
    const char *slash = strchr(text, '/');
    size_t bytes = slash ? (size_t)(slash - text) : sizeof number;
    if (bytes >= sizeof number)
        return option_wrong(error, "is not auto or i/N, the first of four being 0/4");
    memcpy(number, text, bytes);
    number[bytes] = '\0';
    return shard_set(shard, number, slash + 1, error);
}

/* The text of an error begins with the option's value: what is wrong is said of the variables. */
static bool shard_find(struct shard *shard, struct option_error *error)
{
    struct option_error why;
    const char *text = getenv("RBWP_SHARD");
    if (text && *text) {
        if (parse(shard, text, &why))
            return true;
        return option_wrong(error, "takes RBWP_SHARD, which is '%.20s': %.80s", text, why.text);
    }
    for (int i = 0; i < LAUNCHERS; i++) {
        const char *number = getenv(launchers[i].number), *of = getenv(launchers[i].of);
        if (!number || !of)
            continue;
        if (shard_set(shard, number, of, &why))
            return true;
        return option_wrong(error, "takes %s and %s, which are '%.20s' and '%.20s'",
                            launchers[i].number, launchers[i].of, number, of);
    }
    return option_wrong(
        error,
        "finds no launcher: neither RBWP_SHARD nor a rank and size of Open MPI, PMI or Slurm "
        "are set; start it with srun or mpirun, or say which part it is");
}

bool shard_store(void *value, const char *text, struct option_error *error)
{
    struct shard *shard = value;
    return strcmp(text, "auto") == 0 ? shard_find(shard, error) : parse(shard, text, error);
}
