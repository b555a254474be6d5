/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_folder.h - a folder in place of the files in it.
 *
 * It stands for the RBWP files named *.bin that lie in it, sorted by name; not
 * for those in folders below it, and not for hidden ones. A file *.bin that is
 * something else is named and left out; a folder without any is an error.
 */
#ifndef INPUT_FOLDER_H
#define INPUT_FOLDER_H

#include "command.h"

#include <stdbool.h>

/* The words with folders replaced. False with the message given. Free in either case. */
bool input_folders_open(struct operands words, struct operands *files_out);
void input_folders_close(struct operands *files);

#endif /* INPUT_FOLDER_H */
