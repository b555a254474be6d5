/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out_gzip.h - a layer of struct out that compresses: RFC 1952, one member.
 *
 * The output is cut into pieces that are compressed for themselves, on
 * several threads if there are; their blocks follow each other in one member,
 * so that even the simplest reader sees one stream. It is the same whatever
 * the number of threads.
 */
#ifndef OUT_GZIP_H
#define OUT_GZIP_H

#include "ordered_jobs.h"
#include "out.h"

/* True when a file of this name is expected to be gzip. NULL is none. */
bool out_gzip_wanted(const char *path);

/* From now on what goes into out is compressed. False with the message given. */
bool out_gzip_start(struct out *out, struct job_threads *threads);
/* Ends the member and the layer. False, with the message given, if something is missing. */
bool out_gzip_finish(struct out *out);

#endif /* OUT_GZIP_H */
