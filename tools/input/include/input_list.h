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
#include "shard.h"

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
