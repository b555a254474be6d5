/* SPDX-License-Identifier: Apache-2.0 */
/* sealed_block.h - what the recorder does to finished blocks (rbwp_writer.h). */
#ifndef SEALED_BLOCK_H
#define SEALED_BLOCK_H

#include <stdint.h>

/* Gives a finished block another sequence number, in the caller's copy of its bytes. */
void sealed_block_renumber(uint8_t *bytes, uint32_t sequence);

#endif /* SEALED_BLOCK_H */
