/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary_cache.h - sums of files that were read before, kept in files.
 *
 * One for each file that was read, in a folder or beside it (FILE.summary). It counts only for the
 * very same file (size, time of change, last bytes), the same version of rbwp and the same
 * question; else it is made again. It is written under another name first, so that readers at the
 * same time find a whole one or none.
 */
#ifndef SUMMARY_CACHE_H
#define SUMMARY_CACHE_H

#include "stats.h"

#define SUMMARY_BESIDE "beside"
#define SUMMARY_BYTES_MAX (4u << 20) /* larger ones are not kept */

struct summary_cache {
    const char *place; /* a folder, or SUMMARY_BESIDE */
    const char *path;  /* of the file */
    uint64_t question; /* what else the sums depend on */
};

/* Makes the folder if it is not there. False with the message given. */
bool summary_cache_open(const char *place);

/* stats is started, and finished when this is true. Else it is to be freed. */
bool summary_cache_read(const struct summary_cache *cache, struct stats *stats);
/* Of finished sums. What fails is left undone, without a word: the next run does it. */
void summary_cache_write(const struct summary_cache *cache, struct stats *stats);

#endif /* SUMMARY_CACHE_H */
