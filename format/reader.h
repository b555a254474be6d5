/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - what the verifier sees of a reader beyond its public calls. */
#ifndef READER_H
#define READER_H

#include "rbwp_reader.h"
#include "source.h"
#include "tail.h"

/* Header and payload, as stored, of the block handed out last. Valid until the next call. */
struct view reader_stored_block(const struct rbwp_reader *reader);

/* Tables and trailer as they were decoded; empty before a stream's end. */
const struct tail *reader_tail(const struct rbwp_reader *reader);

#endif /* READER_H */
