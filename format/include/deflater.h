/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflater.h - a DEFLATE encoder that knows where repetitions can begin.
 *
 * Writes an ordinary zlib stream (RFC 1950) that any inflate reads. It is
 * faster and smaller on trace data than general compressors because it looks
 * for repetitions only where its caller says that a "unit" begins. A block of
 * RBWP records has one at the kind byte of each record: kind, payload and the
 * next record's time.
 */
#ifndef DEFLATER_H
#define DEFLATER_H

#include "rbwp_format.h"

struct deflater; /* one per thread at a time */

/*
 * greedy: goes through the data once, fast and good where units recur as a whole with noise between
 * them; its streams depend on their data alone. Otherwise the cheapest
 * parse is looked for, by symbol costs that are remembered from call to call. NULL without memory.
 * To be freed by deflater_free, which takes NULL.
 */
struct deflater *deflater_new(bool greedy);
void deflater_free(struct deflater *state);

/* Forgets the costs of what it compressed so far, as if it were new. */
void deflater_forget(struct deflater *state);

/*
 * One that looks for the cheapest parse takes half the time from now on, for streams up to a tenth
 * larger, or, with false, all its time again. Greedy ones know no hurry.
 */
void deflater_hurry(struct deflater *state, bool hurries);

struct yield_hook;

/* Run every ten microseconds or so from now on. NULL: none. */
void deflater_yield_by(struct deflater *state, struct yield_hook *yield_hook);

/* Bytes that data and out must have allocated beyond their sizes: both are accessed in whole
 * words. */
#define DEFLATER_SLACK 32

/*
 * Compresses size bytes of data whose units begin at unit[0..units-1]: ascending offsets, at most
 * one for every RBWP_RECORD_BYTES_MIN bytes of each 64 KiB. out has room for size bytes and the
 * slack. Returns the stream's size, or 0 if it would not be smaller than the data.
 */
size_t deflater_run(struct deflater *state, const uint8_t *data, size_t size, const uint32_t *unit,
                    size_t units, uint8_t *out);

#endif /* DEFLATER_H */
