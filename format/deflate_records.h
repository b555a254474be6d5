/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate_records.h - a DEFLATE encoder that knows where records begin.
 *
 * Writes an ordinary zlib stream (RFC 1950) that any inflate reads. It is
 * faster and smaller on RBWP data than general compressors because it looks
 * for repetitions only where they can begin: at the kind byte of a record,
 * the start of a "unit" of kind, payload and the next record's time.
 */
#ifndef DEFLATE_RECORDS_H
#define DEFLATE_RECORDS_H

#include <stddef.h>
#include <stdint.h>

struct deflate_records; /* one per thread at a time; remembers symbol costs from call to call */

/* NULL without memory. */
struct deflate_records *deflate_records_new(void);
void deflate_records_free(struct deflate_records *state);

/* Bytes that data and out must have allocated beyond their sizes: both are accessed in whole words.
 */
#define DEFLATE_RECORDS_SLACK 32

/*
 * Compresses size bytes of data whose units begin at unit[0..units-1] (ascending offsets).
 * out has room for size bytes and the slack. Returns the stream's size, or 0 if it would not be
 * smaller than the data.
 */
size_t deflate_records_run(struct deflate_records *state, const uint8_t *data, size_t size,
                           const uint32_t *unit, size_t units, uint8_t *out);

#endif /* DEFLATE_RECORDS_H */
