/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - what the verifier sees of a reader beyond its public calls. */
#ifndef READER_H
#define READER_H

#include "rbwp_reader.h"
#include "source.h"
#include "tail.h"

/* Header and payload, as stored, of the block handed out last. Valid until the next call. */
struct view reader_stored_block(const struct rbwp_reader *reader);

/* Whether that block is compressed, or was before the file was archived. */
bool reader_block_packed(const struct rbwp_reader *reader, const struct rbwp_block *block);

/* Tables and trailer as they were decoded; empty before a stream's end. */
const struct tail *reader_tail(const struct rbwp_reader *reader);

#endif /* READER_H */
