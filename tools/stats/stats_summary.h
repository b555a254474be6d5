/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_summary.h - sums of one file as bytes, to be put together with others (stats_merge.h)
 * another time.
 *
 * Numbers are varints (SPEC.md, 9.2), in an order that both ways share. Bytes are not believed:
 * what does not fit together is no summary.
 */
#ifndef STATS_SUMMARY_H
#define STATS_SUMMARY_H

#include "buffer.h"
#include "stats.h"

/* Of finished sums, without what happened inside kernels. False without memory. */
bool stats_summary_write(struct stats *stats, struct buffer *bytes);
/* stats is started, with the options that the sums were made with, and finished now. False: these
 * are no such bytes, or there is no memory; stats is to be freed in either case. */
bool stats_summary_read(struct stats *stats, const uint8_t *bytes, size_t count);

#endif /* STATS_SUMMARY_H */
