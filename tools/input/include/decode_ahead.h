/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_ahead.h - the next blocks of a file, or chunks of an archive, decoded by several threads.
 *
 * Runs ahead of a reader along the block headers and has results ready when
 * it asks for them. It only guesses: where the file is damaged, or a block is
 * too large to hold several of, it has nothing, and the reader decodes for
 * itself. So what is read, and what is said about it, is the same as without.
 */
#ifndef DECODE_AHEAD_H
#define DECODE_AHEAD_H

#include "ordered_jobs.h"
#include "rbwp_reader.h"

#define DECODE_AHEAD_BYTES (1u << 20) /* of data; larger blocks are left to the reader */

struct decode_ahead;

/* fd is read with pread and stays the caller's. NULL without memory, or without other threads:
 * the reader then works alone. */
struct decode_ahead *decode_ahead_start(struct rbwp_reader *reader, int fd,
                                        struct job_threads *threads);
/* Before the reader is closed. NULL is fine. */
void decode_ahead_stop(struct decode_ahead *ahead);

#endif /* DECODE_AHEAD_H */
