/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trailer.h - the trailer and its footer (SPEC.md, section 10) as bytes and as a struct.
 *
 * Knows the sections; what the values mean, and whether they agree with the
 * rest of the file, is left to the verifier.
 */
#ifndef TRAILER_H
#define TRAILER_H

#include "buffer.h"
#include "format_fields.h"

#define FOOTER_BYTES 32

/* The TABL section: where the descriptor tables are. */
struct trailer_tables {
    uint64_t offset, bytes;
    uint32_t work_items, sub_items;
    uint32_t crc32c;
    bool present;
};

/* A decoded trailer with its arrays, by section. Names and strings point into the bytes it was
 * decoded from. */
struct trailer {
    struct rbwp_trailer values; /* first: offsets of its members are those in this struct */
    struct trailer_tables tables;
    void *arrays[TRAILER_SECTIONS];
    struct rbwp_section *sections; /* those of other tags */
    uint32_t section_room;
};

struct footer {
    uint64_t offset, bytes; /* of the sections */
    uint32_t crc32c, flags;
};

/* RBWP_END if the 32 bytes are no footer. */
enum rbwp_status footer_decode(const uint8_t bytes[FOOTER_BYTES], struct footer *footer_out);

/* Checks R50 (as far as place goes: footer_offset is the footer's own), R52 and R53. */
enum rbwp_status footer_check(const struct footer *footer, uint64_t footer_offset,
                              struct rbwp_error *error);

/*
 * Decodes the sections, footer->bytes of them: R51 and R54 to R59. RBWP_E_VERSION is R54: the file
 * must be refused. Nothing needs to be freed on failure.
 */
enum rbwp_status trailer_decode(const uint8_t *bytes, const struct footer *footer,
                                struct trailer *trailer_out, struct rbwp_error *error);
void trailer_free(struct trailer *trailer);

/*
 * Appends sections and footer for a trailer that will stand at file offset `offset`.
 * RBWP_E_MEMORY, RBWP_E_LIMIT (R52), RBWP_E_INVALID (a section of values has a known tag).
 */
enum rbwp_status trailer_encode(const struct rbwp_trailer *values,
                                const struct trailer_tables *tables, uint64_t offset,
                                struct buffer *buffer);

#endif /* TRAILER_H */
