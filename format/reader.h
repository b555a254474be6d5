/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - what the verifier sees of a reader beyond its public calls. */
#ifndef READER_H
#define READER_H

#include "descriptor.h"
#include "rbwp_reader.h"
#include "source.h"
#include "trailer.h"

/* ---- what stands behind the blocks ----------------------------------------------------------- */

/* ---- what a reader found wrong --------------------------------------------------------------- */

#define PROBLEMS_KEPT_MAX 1000u

struct problems {
    struct rbwp_problem *kept;
    size_t kept_count, capacity;
    uint64_t count;
};

/* ---- tail ------------------------------------------------------------------------------------ */

/* The bytes from the descriptor offset to the end of the file, and what they mean. */
struct tail {
    struct buffer buffer;
    uint64_t offset;
    struct descriptor_tables descriptors;
    struct trailer trailer;
    bool has_trailer;
    struct problems problems;
};

/* ---- reader ---------------------------------------------------------------------------------- */

/* Header and payload, as stored, of the block handed out last. Valid until the next call. */
struct view reader_stored_block(const struct rbwp_reader *reader);

/* Whether that block is compressed, or was before the file was archived. */
bool reader_block_packed(const struct rbwp_reader *reader, const struct rbwp_block *block);

/* Tables and trailer as they were decoded; empty before a stream's end. */
const struct tail *reader_tail(const struct rbwp_reader *reader);

#endif /* READER_H */
