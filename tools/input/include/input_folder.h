/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_folder.h - a folder in place of the files in it.
 *
 * It stands for the RBWP files named *.bin and *.rbwa (archives) that lie in it, sorted by name;
 * not for those in folders below it, and not for hidden ones. A file of such a name that is
 * something else is named and skipped; a folder without any is an error.
 */
#ifndef INPUT_FOLDER_H
#define INPUT_FOLDER_H

#include "command.h"

/* ---- a list of words that owns them ---------------------------------------------------------- */

/* A copy of it. */
bool input_words_copy(struct operands *words, const char *word);

/* ---- input folder ---------------------------------------------------------------------------- */

bool input_is_folder(const char *word);

/* Appends its files. False with the message given. */
bool input_folder_add(struct operands *files, const char *folder);

/* Appends the folders in it that are not hidden, by name; none if it has files of its own. False
 * without memory, with the message given. */
bool input_folder_below(struct operands *folders, const char *folder);

/* Whether a file of this name is what is looked for: neither hidden nor called otherwise. */
bool input_folder_takes(const char *name);

#endif /* INPUT_FOLDER_H */
