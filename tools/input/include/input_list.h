/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_list.h - the files that the command line means.
 *
 * A word is a file; a folder (input_folder.h) stands for the RBWP files in it; a word with * ? or [
 * that is no file for those whose names match, in the order of their names; and "-" for what lies
 * in it if standard input is a tar archive (tar_input.h). Names may also come from a file, and of
 * all that a process may take its part alone.
 */
#ifndef INPUT_LIST_H
#define INPUT_LIST_H

#include "command.h"

/* ---- shard ----------------------------------------------------------------------------------- */
/*
 * Which of several equal processes this one is, so that each takes its part of the files.
 *
 * Given as "i/N", i from 0 to N - 1, or "auto": by the variables with which launchers give it to
 * each process that they start. The first of these that are set counts: RBWP_SHARD ("i/N"), then
 * OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK and _SIZE, MV2_COMM_WORLD_RANK and _SIZE, PALS_RANKID
 * and PALS_SIZE (or the PMI's), SLURM_PROCID and SLURM_NTASKS.
 */

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

/* ---- input list ------------------------------------------------------------------------------ */

struct input_options {
    const char *files0_from;
    struct shard shard;
};
extern const struct option input_option_table[]; /* of struct input_options */

/* False with the message given, *usage_out when the words or options are the reason. Free in either
 * case. Shards are left to the caller. */
bool input_list_open(const struct input_options *options, struct operands words,
                     struct operands *files_out, bool *usage_out);
void input_list_close(struct operands *files);

/* Leaves the shard's own files in the list. */
void input_list_keep(struct operands *files, struct shard shard);

#endif /* INPUT_LIST_H */
