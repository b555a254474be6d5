/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trailer.c - see trailer.h.
 *
 * What a section has in it is a table's matter (format_fields.h). Here are
 * the walk over sections, the growth rules and the names.
 */
#include "crc32c.h"
#include "trailer.h"

#include "grow.h"
#include "reader_error.h"

#include <inttypes.h>
#include <stdlib.h>

#define END_MAGIC "RBWP.END"
#define SECTION_HEADER_BYTES 16
#define TABLE_HEADER_BYTES 8
#define FLAG_MUST_UNDERSTAND 1u
#define TRAILER_FLAGS_REFUSED 0xffff0000u
#define ENTRY_BYTES_LARGEST 80
#define TABLES_TAG "TABL"

/* ---- decoding ------------------------------------------------------------------ */

/* A section found in the file. */
struct section {
    const uint8_t *tag;
    uint32_t flags;
    uint64_t offset; /* in the file */
    struct cursor payload;
};

static enum rbwp_status section_broken(const struct section *section, enum rule rule,
                                       const char *what, struct rbwp_error *error)
{
    return error_set(error, RBWP_E_CORRUPT, (struct place){"trailer", section->offset, rule},
                     "section \"%.4s\": %s", (const char *)section->tag, what);
}

/* The names behind the entries, in their order (R59). */
static enum rbwp_status trailer_take_names(const struct trailer_section *form,
                                           struct section *section, char *elements, uint32_t count,
                                           struct rbwp_error *error)
{
    const struct field *text = fields_text(&form->layout);
    for (uint32_t i = 0; i < count && text; i++, elements += form->element_bytes)
        if (!field_take_text(text, &section->payload, elements))
            return section_broken(section, RULE_SECTION_NAMES, "a name runs over its end", error);
    if (section->payload.left)
        return section_broken(section, RULE_SECTION_NAMES, "bytes are left behind the last entry",
                              error);
    return RBWP_OK;
}

static void give_array(const struct trailer_section *form, struct trailer *trailer,
                       const void *elements, uint32_t count)
{
    member_set_pointer(&trailer->values, form->array, elements);
    memcpy((char *)&trailer->values + form->count, &count, sizeof count);
}

/* True where an entry has the same bytes in memory and in the file, as those of large tables. */
static bool is_image(const struct trailer_section *form)
{
    size_t same_bytes = 0;
    for (size_t i = 0; i < form->layout.count; i++) {
        const struct field *field = &form->layout.fields[i];
        if (field->at == field->member && field->type != FIELD_TEXT)
            same_bytes += field->bytes;
    }
    return same_bytes == form->entry_bytes && load_le16(&(uint16_t){1}) == 1;
}

static void trailer_take_entry(const struct trailer_section *form, const uint8_t *entry,
                               uint32_t entry_bytes, void *element)
{
    uint8_t widened[ENTRY_BYTES_LARGEST] = {0};
    if (entry_bytes < form->entry_bytes) {
        memcpy(widened, entry, form->least_bytes);
        entry = widened;
    }
    fields_take(&form->layout, entry, element);
}

static enum rbwp_status take_table(const struct trailer_section *form, struct section *section,
                                   struct trailer *trailer, struct rbwp_error *error)
{
    const uint8_t *head = cursor_take(&section->payload, TABLE_HEADER_BYTES);
    if (!head)
        return section_broken(section, RULE_SECTION_TABLE, "too short for a table", error);
    uint32_t entry_bytes = load_le32(head), count = load_le32(head + 4);
    const uint8_t *entry = cursor_take(&section->payload, (uint64_t)entry_bytes * count);
    if (!entry || entry_bytes < form->least_bytes)
        return section_broken(section, RULE_SECTION_TABLE,
                              entry ? "its entries are too short" : "its entries run over its end",
                              error);
    /* count entries of at least least_bytes are there, so this is not much more than the file. */
    char *elements = calloc((size_t)count + 1, form->element_bytes);
    if (!elements)
        return error_set_memory(error, "trailer");
    trailer->arrays[form - trailer_sections] = elements;
    const bool as_stored = entry_bytes >= form->entry_bytes && is_image(form);
    for (uint32_t i = 0; i < count; i++, entry += entry_bytes) {
        char *element = elements + (size_t)i * form->element_bytes;
        if (as_stored)
            memcpy(element, entry, form->entry_bytes);
        else
            trailer_take_entry(form, entry, entry_bytes, element);
    }
    give_array(form, trailer, elements, count);
    return trailer_take_names(form, section, elements, count, error);
}

/* R54. An unknown tag may be any bytes, and a message is one line of text. */
static enum rbwp_status section_refused(const struct section *section, struct rbwp_error *error)
{
    char tag[5] = "";
    for (unsigned i = 0; i < 4; i++)
        tag[i] = section->tag[i] > ' ' && section->tag[i] < 0x7f ? (char)section->tag[i] : '?';
    return error_set(
        error, RBWP_E_VERSION, (struct place){"trailer", section->offset, RULE_SECTION_REFUSE},
        "section \"%s\" must be understood and is not; a later version of this program "
        "may read the file",
        tag);
}

/* A section of another tag is handed out as it is. Each has a head in the file, so their number is
 * bounded as the file is. */
static enum rbwp_status keep_section(const struct section *section, struct trailer *trailer,
                                     struct rbwp_error *error)
{
    uint32_t count = trailer->values.section_count;
    if (!grow_array32(&trailer->sections, &trailer->section_room, count + 1,
                      sizeof *trailer->sections))
        return error_set_memory(error, "trailer");
    trailer->values.sections = trailer->sections;
    struct rbwp_section *kept = &trailer->sections[count];
    *kept = (struct rbwp_section){.bytes = (uint32_t)section->payload.left,
                                  .data = section->payload.next};
    memcpy(kept->tag, section->tag, sizeof kept->tag);
    trailer->values.section_count++;
    return RBWP_OK;
}

/* Takes one section; seen has a bit for each known one met. */
static enum rbwp_status trailer_take_section(struct section *section, struct trailer *trailer,
                                             unsigned *seen, struct rbwp_error *error)
{
    const struct trailer_section *form = trailer_section_of(section->tag);
    if (section->flags & TRAILER_FLAGS_REFUSED || (!form && section->flags & FLAG_MUST_UNDERSTAND))
        return section_refused(section, error);
    if (!form)
        return keep_section(section, trailer, error);
    const unsigned bit = 1u << (form - trailer_sections);
    if (*seen & bit)
        return section_broken(section, RULE_SECTION_ONCE, "is there twice", error);
    *seen |= bit;
    if (form->form == SECTION_TABLE)
        return take_table(form, section, trailer, error);
    if (form->form == SECTION_TEXT) {
        give_array(form, trailer, section->payload.next, (uint32_t)section->payload.left);
        return RBWP_OK;
    }
    if (section->payload.left < form->least_bytes)
        return section_broken(section, RULE_SECTION_LENGTH, "too short", error);
    fields_take(&form->layout, section->payload.next, trailer);
    trailer->tables.present |= memcmp(form->tag, TABLES_TAG, 4) == 0;
    return RBWP_OK;
}

enum rbwp_status footer_decode(const uint8_t bytes[FOOTER_BYTES], struct footer *footer_out)
{
    if (memcmp(bytes + 24, END_MAGIC, 8))
        return RBWP_END;
    *footer_out = (struct footer){
        .offset = load_le64(bytes),
        .bytes = load_le64(bytes + 8),
        .crc32c = load_le32(bytes + 16),
        .flags = load_le32(bytes + 20),
    };
    return RBWP_OK;
}

enum rbwp_status footer_check(const struct footer *footer, uint64_t footer_offset,
                              struct rbwp_error *error)
{
    struct place place = {"trailer", footer_offset, RULE_TRAILER_BYTES};
    if (footer->bytes > TRAILER_BYTES_MAX)
        return error_set(error, RBWP_E_LIMIT, place,
                         "a trailer of %" PRIu64 " bytes; the limit is 64 MiB", footer->bytes);
    place.rule = RULE_TRAILER_PLACE;
    if (footer->offset > footer_offset || footer_offset - footer->offset != footer->bytes)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "the footer says %" PRIu64 " bytes at %" PRIu64
                         ", which does not end where the footer begins",
                         footer->bytes, footer->offset);
    place.rule = RULE_FOOTER_FLAGS;
    if (footer->flags & TRAILER_FLAGS_REFUSED)
        return error_set(error, RBWP_E_VERSION, place,
                         "footer flags 0x%08" PRIx32 " ask for something this library does not "
                         "know",
                         footer->flags);
    return RBWP_OK;
}

enum rbwp_status trailer_decode(const uint8_t *bytes, const struct footer *footer,
                                struct trailer *trailer_out, struct rbwp_error *error)
{
    *trailer_out = (struct trailer){0};
    if (crc32c(0, bytes, (size_t)footer->bytes) != footer->crc32c)
        return error_set(error, RBWP_E_CORRUPT,
                         (struct place){"trailer", footer->offset, RULE_TRAILER_SUM},
                         "the trailer's sum is wrong");
    struct cursor cursor = {bytes, (size_t)footer->bytes};
    unsigned seen = 0;
    enum rbwp_status status = RBWP_OK;
    while (status == RBWP_OK && cursor.left) {
        uint64_t offset = footer->offset + (uint64_t)(cursor.next - bytes);
        const uint8_t *head = cursor_take(&cursor, SECTION_HEADER_BYTES);
        uint64_t length = head ? load_le64(head + 8) : 0;
        const uint8_t *payload = head ? cursor_take(&cursor, length) : NULL;
        if (!payload) {
            status = error_set(error, RBWP_E_CORRUPT,
                               (struct place){"trailer", offset, RULE_SECTIONS_FILL},
                               "a section runs over the end of the trailer");
            break;
        }
        struct section section = {.tag = head,
                                  .flags = load_le32(head + 4),
                                  .offset = offset,
                                  .payload = {payload, (size_t)length}};
        status = trailer_take_section(&section, trailer_out, &seen, error);
    }
    if (status != RBWP_OK)
        trailer_free(trailer_out);
    return status;
}

void trailer_free(struct trailer *trailer)
{
    for (unsigned i = 0; i < TRAILER_SECTIONS; i++)
        free(trailer->arrays[i]);
    free(trailer->sections);
    *trailer = (struct trailer){0};
}

/* ---- encoding ------------------------------------------------------------------ */

static void put_section_header(const char *tag, uint64_t length, struct buffer *buffer)
{
    uint8_t head[SECTION_HEADER_BYTES] = {0};
    memcpy(head, tag, 4);
    store_le64(head + 8, length);
    buffer_append(buffer, head, sizeof(head));
}

static void trailer_put_entry(const struct trailer_section *form, const void *from,
                              struct buffer *buffer)
{
    uint8_t entry[ENTRY_BYTES_LARGEST] = {0};
    fields_put(&form->layout, from, entry);
    buffer_append(buffer, entry, form->entry_bytes);
}

static void put_table(const struct trailer_section *form, const char *elements, uint32_t count,
                      struct buffer *buffer)
{
    const char *end = elements + (size_t)count * form->element_bytes;
    const struct field *text = fields_text(&form->layout);
    uint8_t head[TABLE_HEADER_BYTES];
    store_le32(head, form->entry_bytes);
    store_le32(head + 4, count);
    buffer_append(buffer, head, sizeof(head));
    for (const char *element = elements; element < end; element += form->element_bytes)
        trailer_put_entry(form, element, buffer);
    for (const char *element = elements; text && element < end; element += form->element_bytes)
        field_put_text(text, element, buffer);
}

/* One that the format names; without entries, or of an empty text, it is not written. */
static void put_known_section(const struct trailer_section *form, const struct trailer *trailer,
                              struct buffer *buffer)
{
    const bool fixed = form->form == SECTION_FIXED;
    const uint32_t count = fixed ? 1 : trailer_entry_count(form, &trailer->values);
    const size_t begin = buffer->count + SECTION_HEADER_BYTES;
    if (count == 0)
        return;
    put_section_header(form->tag, 0, buffer);
    if (fixed)
        trailer_put_entry(form, trailer, buffer);
    else if (form->form == SECTION_TEXT)
        buffer_append(buffer, member_pointer(&trailer->values, form->array), count);
    else
        put_table(form, member_pointer(&trailer->values, form->array), count, buffer);
    if (!buffer->failed)
        store_le64(buffer->bytes + begin - 8, buffer->count - begin);
}

/* False: one has a tag that the trailer has fields for. */
static bool put_sections(const struct rbwp_trailer *values, struct buffer *buffer)
{
    for (uint32_t i = 0; i < values->section_count; i++) {
        const struct rbwp_section *section = &values->sections[i];
        if (trailer_section_of(section->tag))
            return false;
        put_section_header(section->tag, section->bytes, buffer);
        buffer_append(buffer, section->data, section->bytes);
    }
    return true;
}

static void put_footer(const struct footer *footer, struct buffer *buffer)
{
    uint8_t bytes[FOOTER_BYTES];
    store_le64(bytes, footer->offset);
    store_le64(bytes + 8, footer->bytes);
    store_le32(bytes + 16, footer->crc32c);
    store_le32(bytes + 20, footer->flags);
    memcpy(bytes + 24, END_MAGIC, 8);
    buffer_append(buffer, bytes, sizeof(bytes));
}

enum rbwp_status trailer_encode(const struct rbwp_trailer *values,
                                const struct trailer_tables *tables, uint64_t offset,
                                struct buffer *buffer)
{
    size_t begin = buffer->count;
    const struct trailer trailer = {.values = *values, .tables = *tables};
    for (unsigned i = 0; i < TRAILER_SECTIONS; i++)
        put_known_section(&trailer_sections[i], &trailer, buffer);
    if (!put_sections(values, buffer))
        return RBWP_E_INVALID;
    if (buffer->failed)
        return RBWP_E_MEMORY;
    size_t bytes = buffer->count - begin;
    if (bytes > TRAILER_BYTES_MAX)
        return RBWP_E_LIMIT;
    struct footer footer = {
        .offset = offset,
        .bytes = bytes,
        .crc32c = crc32c(0, buffer->bytes + begin, bytes),
    };
    put_footer(&footer, buffer);
    return buffer->failed ? RBWP_E_MEMORY : RBWP_OK;
}
