/* SPDX-License-Identifier: Apache-2.0 */
/* header.h - the 36-byte file header (SPEC.md, section 3) as bytes and as a struct. */
#ifndef HEADER_H
#define HEADER_H

#include "rbwp_format.h"

/* File offset of the last three fields, which are set when all else is in the file. */
#define HEADER_PATCH_OFFSET 20
#define HEADER_PATCH_BYTES 16

void header_encode(const struct rbwp_file_header *header, uint8_t bytes[RBWP_FILE_HEADER_BYTES]);
/* Only the last three fields. */
void header_encode_patch(const struct rbwp_file_header *header, uint8_t bytes[HEADER_PATCH_BYTES]);

/*
 * Decodes the first count bytes of a file of file_bytes (UINT64_MAX for a stream) and checks R1 to
 * R4. R5 and R6 are left to the caller: a reader goes on when they are broken.
 */
enum rbwp_status header_decode(const uint8_t *bytes, size_t count, uint64_t file_bytes,
                               struct rbwp_file_header *header_out, struct rbwp_error *error);

#endif /* HEADER_H */
