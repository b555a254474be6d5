/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - what tables want of the writer. */
#ifndef WRITER_H
#define WRITER_H

#include "rbwp_writer.h"

/* As rbwp_writer_add_opaque, compressed where that makes it smaller. */
enum rbwp_status writer_add_packed(struct rbwp_writer *writer, const char tag[4], const void *data,
                                   uint32_t size_bytes);

/* As rbwp_writer_add_block, of one whose sum (SPEC.md, 10.9) is known. */
enum rbwp_status writer_add_summed(struct rbwp_writer *writer,
                                   const struct rbwp_sealed_block *block, uint32_t sum);

#endif /* WRITER_H */
