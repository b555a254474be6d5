/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_files.h - files added up one by one, several at the same time, and put together.
 *
 * Never are the records of more files in memory than threads are at work, twice over; of each file
 * there is left what stats.h keeps. With a cache (below) a file that was read before is
 * not read again. What the sums are then is said below.
 */
#ifndef STATS_FILES_H
#define STATS_FILES_H

#include "stats.h"
#include "trace_pass.h"

/* ---- the cache of summaries ------------------------------------------------------------------ */
/*
 * Sums of files that were read before, kept in files.
 *
 * One for each file that was read, in a folder or beside it (FILE.summary). It counts only for the
 * very same file (size, time of change, last bytes), the same version of rbwp and the same
 * question; else it is made again. It is written under another name first, so that readers at the
 * same time find a whole one or none.
 */

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

/* More files than this are always read so. */
enum { STATS_FILES_MANY = 64 };

/* What asks for it, or keeps it from being done: filters, what lies in live files, and times as
 * they were seen are of one pass over all files. cache: NULL none. */
bool stats_files_wanted(const struct reading_options *reading, struct operands files,
                        const char *cache);

/* Into all, which is started; the caller finishes it. For trace_maker's read. */
enum exit_code stats_files_read(struct trace_pass *pass, const struct trace_sources *sources,
                                const char *cache, struct stats *all);

/* Sums of many files, each added up for itself, put together.
 *
 * All is as if the files had been read one after the other into the same sums, but for these: how
 * many workers were busy at the same time is counted on each node, and then added up; the busy time
 * of all over time is as exact as the nodes' cells (busy_cells.h); what happened inside kernels is
 * not known. */

/* Puts part, which is finished, into all, which is not; part's times are later there by shift_ns.
 * part has nothing of its own any more, and is to be freed. False, with the message given,
 * when out of memory. */
bool stats_merge(struct stats *all, struct stats *part, int64_t shift_ns);
/* In place of stats_finish. */
void stats_merge_finish(struct stats *all);

/* The sums of files, for commands that do something with them. */

struct stats_load {
    struct reading_options reading; /* of the output nothing is used */
    struct stats_options options;
    struct stats stats; /* valid if loaded; the caller frees it */
    bool loaded;        /* at least one file could be opened */
};

enum exit_code stats_load(struct stats_load *load, struct operands files);

#endif /* STATS_FILES_H */
