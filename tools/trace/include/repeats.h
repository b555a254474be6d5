/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeats.h - which files of a folder are of one run, where it holds several runs of a program.
 *
 * Files of one job are one run, and so are the parts of a recording, what a process recorded and
 * its parent, nodes with one zero time, and all that was recorded at the same time. What is left
 * are runs behind each other. In a folder without files each folder below it is a run. Files whose
 * time is not known are of one run.
 */
#ifndef REPEATS_H
#define REPEATS_H

#include "command.h"

struct repeats {
    struct operands *runs; /* the files of each, by the name of its first */
    uint32_t count;
    uint32_t files, folders; /* of all; folders: 0 if a run is no folder */
};

/* one_run: whatever is in it. A word that is no folder is a run of its own. False with the message
 * given; free in either case. */
bool repeats_find(struct repeats *repeats, const char *word, bool one_run);
void repeats_free(struct repeats *repeats);

#endif /* REPEATS_H */
