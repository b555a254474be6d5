/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format_fields.h - what stands in a file (SPEC.md, sections 3, 4, 7 and 10) as tables of fields.
 *
 * A field that a section of the trailer gets is a line there: encoder, decoder, verifier and the
 * JSON of dump and info have it then.
 */
#ifndef FORMAT_FIELDS_H
#define FORMAT_FIELDS_H

#include "fields.h"
#include "rbwp_format.h"

extern const struct layout file_header_layout; /* struct rbwp_file_header, behind the magic */
extern const struct layout block_header_layout;
extern const struct layout work_item_layout; /* struct rbwp_work_item_name */
extern const struct layout sub_item_layout;  /* struct rbwp_sub_item_name */

/* ---- the trailer ------------------------------------------------------------------------ */

enum section_form {
    SECTION_FIXED, /* fields of struct rbwp_trailer; those of TABL of struct trailer_tables */
    SECTION_TEXT,  /* one text */
    SECTION_TABLE  /* entries, behind them their texts */
};

struct trailer_section {
    char tag[5];
    uint8_t form;                     /* enum section_form */
    uint8_t entry_bytes, least_bytes; /* of fields or an entry: as written, and as read; of one
                                         shorter than is written now, no more is looked at */
    uint8_t element_bytes;            /* of an entry in memory */
    uint16_t array, count;            /* offsets in struct rbwp_trailer: entries or text, and how
                                         many or how long, as 32 bits */
    struct layout layout;
    const char *key; /* of its array in JSON; NULL: it is no array of its own, or not shown */
};

#define TRAILER_SECTIONS 22
extern const struct trailer_section trailer_sections[TRAILER_SECTIONS]; /* in the file's order */

/* The section of a tag of four bytes; NULL: the format does not name it. */
const struct trailer_section *trailer_section_of(const void *tag);

/* How many entries a trailer has of a section, or bytes of a text. */
uint32_t trailer_entry_count(const struct trailer_section *section,
                             const struct rbwp_trailer *trailer);

/* Of the section of the tag: the same but for their texts. */
bool trailer_entries_equal(const char *tag, const void *a, const void *b);

#endif /* FORMAT_FIELDS_H */
