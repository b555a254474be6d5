/* SPDX-License-Identifier: Apache-2.0 */
/* header.c - see header.h. Knows the older 28-byte layout well enough to refuse it by name. */
#include "header.h"

#include "bytes.h"
#include "format_fields.h"
#include "reader_error.h"

#define HEADER_FLAGS_REFUSED 0xff00u
#define OLDER_LAYOUT_NAME_BYTES_MAX 4096u

void header_encode(const struct rbwp_file_header *header, uint8_t bytes[RBWP_FILE_HEADER_BYTES])
{
    memcpy(bytes, RBWP_MAGIC, 4);
    fields_put(&file_header_layout, header, bytes);
}

void header_encode_patch(const struct rbwp_file_header *header, uint8_t bytes[HEADER_PATCH_BYTES])
{
    uint8_t all[RBWP_FILE_HEADER_BYTES];
    header_encode(header, all);
    memcpy(bytes, all + HEADER_PATCH_OFFSET, HEADER_PATCH_BYTES);
}

/*
 * Erratum E3: 28 bytes of header, then the first work-item entry where we have the descriptor
 * offset. Slot, length and the first letters of a name make a number that no file is as long as.
 */
static bool is_older_layout(const uint8_t *bytes, const struct rbwp_file_header *header,
                            uint64_t file_bytes)
{
    unsigned slot = load_le16(bytes + 28), name_bytes = load_le16(bytes + 30);
    if (header->work_items == 0 || header->descriptor_offset <= file_bytes ||
        slot >= RBWP_SLOTS_MAX || name_bytes == 0 || name_bytes > OLDER_LAYOUT_NAME_BYTES_MAX)
        return false;
    for (unsigned i = 0; i < 4 && i < name_bytes; i++)
        if (bytes[32 + i] < ' ' || bytes[32 + i] == 0x7f)
            return false;
    return true;
}

enum rbwp_status header_decode(const uint8_t *bytes, size_t count, uint64_t file_bytes,
                               struct rbwp_file_header *header_out, struct rbwp_error *error)
{
    if (count == 0 || memcmp(bytes, RBWP_MAGIC, count < 4 ? count : 4) != 0)
        return error_set(error, RBWP_E_NOT_RBWP, (struct place){"header", 0, RULE_MAGIC},
                         count ? "not an RBWP file: it does not begin with \"RBWP\""
                               : "not an RBWP file: it is empty");
    if (count < RBWP_FILE_HEADER_BYTES)
        return error_set(error, RBWP_E_TRUNCATED, (struct place){"header", 0, RULE_HEADER_SIZE},
                         "the file has only %zu of the 36 bytes of its header", count);
    struct rbwp_file_header header;
    fields_take(&file_header_layout, bytes, &header);
    if (header.version != RBWP_FILE_VERSION)
        return error_set(error, RBWP_E_VERSION, (struct place){"header", 4, RULE_VERSION},
                         "file version %u; this library reads version 1", header.version);
    if (header.flags & HEADER_FLAGS_REFUSED)
        return error_set(error, RBWP_E_VERSION, (struct place){"header", 6, RULE_HEADER_FLAGS},
                         "flags 0x%04x ask for something this library does not know", header.flags);
    /* A stream's size is not known; no file of today is longer than 2^48 bytes. */
    if (file_bytes == UINT64_MAX)
        file_bytes = UINT64_C(1) << 48;
    if (is_older_layout(bytes, &header, file_bytes))
        return error_set(error, RBWP_E_VERSION,
                         (struct place){"header", 28, RULE_DESCRIPTOR_OFFSET},
                         "the older layout with a 28-byte header (SPEC.md E3), which is not "
                         "supported");
    *header_out = header;
    return RBWP_OK;
}
