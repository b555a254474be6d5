/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_files.h - files added up one by one, several at the same time, and put together.
 *
 * Never are the records of more files in memory than threads are at work, twice over; of each file
 * there is left what stats.h keeps. With a cache (summary_cache.h) a file that was read before is
 * not read again. What the sums are then is told in stats_merge.h.
 */
#ifndef STATS_FILES_H
#define STATS_FILES_H

#include "stats_merge.h"
#include "trace_pass.h"

/* More files than this are always read so. */
enum { STATS_FILES_MANY = 64 };

/* What asks for it, or keeps it from being done: filters, what lies in live files, and times as
 * they were seen are of one pass over all files. cache: NULL none. */
bool stats_files_wanted(const struct reading_options *reading, struct operands files,
                        const char *cache);

/* Into all, which is started; the caller finishes it. For trace_maker's read. */
enum exit_code stats_files_read(struct trace_pass *pass, const struct trace_sources *sources,
                                const char *cache, struct stats *all);

#endif /* STATS_FILES_H */
