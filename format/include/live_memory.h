/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_memory.h - a FILE.live that no disk can hold up: a file of the kernel's memory in /dev/shm,
 * to which FILE.live is a symbolic link.
 *
 * Whoever reads FILE.live follows the link. Whoever makes, moves away or removes it trusts only
 * links of the form that live_memory_make gives them, to files of this user's.
 */
#ifndef LIVE_MEMORY_H
#define LIVE_MEMORY_H

#include "rbwp_format.h"

#define LIVE_MEMORY_PATH_BYTES_MAX 96
#define LIVE_MEMORY_PREFIX "/dev/shm/rbwp-live-" /* of whoever's */

/* Makes both, the file locked (flock). Its descriptor; -1, with errno, and neither is there. */
int live_memory_make(const char *live_path);

/* Where FILE.live leads, by its name in a folder (a descriptor, or AT_FDCWD). False: it is no such
 * link. process_out may be NULL: whose it was. */
bool live_memory_of(int folder, const char *live, char path_out[LIVE_MEMORY_PATH_BYTES_MAX],
                    uint64_t *process_out);

/* Removes FILE.live, and the memory that it leads to. 0, or -1 with errno. */
int live_memory_remove(int folder, const char *live);

#endif /* LIVE_MEMORY_H */
