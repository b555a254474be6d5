/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_print.h - streams of a spool that hold values, which become text when all is written.
 *
 * Values take a tenth of the room of their text, and are made into it by all threads. What a writer
 * says between two streams goes through the same queue, so that all is in its order and small
 * streams wait for each other no more than large ones.
 */
#ifndef SPOOL_PRINT_H
#define SPOOL_PRINT_H

#include "ordered_jobs.h"
#include "parquet_bytes.h"
#include "spool.h"

struct spool_print;

/* The text of the values in a piece; first: none of their stream came before. On any thread. */
typedef void value_text_fn(int64_t origin_ns, struct parquet_bytes *to, const char *values,
                           size_t bytes, bool first);

/* origin_ns is what text functions get. NULL without memory. */
struct spool_print *spool_print_new(struct spool *spool, struct out *out, int64_t origin_ns,
                                    struct job_threads *threads);
/* Where what stands between streams is written. */
struct out *spool_print_between(struct spool_print *print);
/* All values of a stream, which nothing more comes into. */
void spool_print_stream(struct spool_print *print, uint32_t stream, value_text_fn *text);
/* All of it is in out, unless the spool has failed. NULL is fine. */
void spool_print_finish(struct spool_print *print);

/* A stream of text. */
value_text_fn spool_print_text;

#endif /* SPOOL_PRINT_H */
