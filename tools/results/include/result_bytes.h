/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_bytes.h - fields of rows as bytes, to be read another time.
 *
 * Numbers are varints (SPEC.md, 9.2), in the order of the columns. Bytes are not believed: what
 * does not fit together is broken. Each function goes both ways: it writes what stands there, or
 * reads it.
 */
#ifndef RESULT_BYTES_H
#define RESULT_BYTES_H

#include "buffer.h"
#include "result_table.h"

enum { RESULT_THINGS_MAX = 4 };

struct result_bytes {
    struct buffer *out; /* NULL: it is read */
    struct cursor in;
    uint32_t things[RESULT_THINGS_MAX]; /* how many of each kind there are, for RESULT_INDEX */
    bool broken;
};

/* All fields. When they are read the row is zero; texts, histograms and what is behind pointers is
 * memory of its own then. */
void result_bytes_row(struct result_bytes *bytes, const struct result_column *columns, void *row);
void result_bytes_u64(struct result_bytes *bytes, uint64_t *value);
void result_bytes_i64(struct result_bytes *bytes, int64_t *value);
/* A number of something, at most `most`; each takes a byte at least, so there can be no more of
 * them than bytes. 0 where it is broken. */
void result_bytes_count(struct result_bytes *bytes, uint32_t *count, uint32_t most);

#endif /* RESULT_BYTES_H */
