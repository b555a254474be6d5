/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor.c - see descriptor.h. A table with a break keeps its entries before the break, since
 * some names are better than none.
 */
#include "descriptor.h"

#include "format_fields.h"
#include "reader_error.h"

#include <inttypes.h>
#include <stdlib.h>

#define WORK_ITEM_BYTES 4 /* without the name */
#define SUB_ITEM_BYTES 5

static bool descriptor_take_entry(struct cursor *cursor, const struct layout *layout,
                                  size_t entry_bytes, void *entry)
{
    const uint8_t *fixed = cursor_take(cursor, entry_bytes);
    if (fixed)
        fields_take(layout, fixed, entry);
    return fixed && field_take_text(fields_text(layout), cursor, entry);
}

static void descriptor_put_entry(struct buffer *buffer, const struct layout *layout,
                                 size_t entry_bytes, const void *entry)
{
    uint8_t fixed[SUB_ITEM_BYTES];
    fields_put(layout, entry, fixed);
    buffer_append(buffer, fixed, entry_bytes);
    field_put_text(fields_text(layout), entry, buffer);
}

/* Memory for the entries that the bytes can hold, whatever the count says. */
static void *allocate_entries(uint32_t promised, size_t bytes, size_t entry_bytes, size_t size)
{
    size_t most = bytes / entry_bytes;
    return calloc((promised < most ? promised : most) + 1, size);
}

static enum rbwp_status broken(const struct cursor *cursor, const uint8_t *bytes, uint64_t offset,
                               const char *table, uint32_t entry, struct rbwp_error *error)
{
    uint64_t at = offset + (uint64_t)(cursor->next - bytes);
    return error_set(error, RBWP_E_TRUNCATED, (struct place){"descriptors", at, RULE_TABLES_WHOLE},
                     "entry %" PRIu32 " of the %s table runs over the end of the file", entry,
                     table);
}

/* Takes entries while they are whole; R30. */
static enum rbwp_status take_entries(struct cursor *cursor, uint64_t offset,
                                     struct descriptor_counts counts,
                                     struct descriptor_tables *tables, struct rbwp_error *error)
{
    const uint8_t *begin = cursor->next;
    for (uint32_t *i = &tables->work_item_count; *i < counts.work_items; ++*i) {
        struct cursor before = *cursor;
        if (!descriptor_take_entry(cursor, &work_item_layout, WORK_ITEM_BYTES,
                                   &tables->work_items[*i])) {
            *cursor = before;
            return broken(cursor, begin, offset, "work-item", *i, error);
        }
    }
    for (uint32_t *i = &tables->sub_item_count; *i < counts.sub_items; ++*i) {
        struct cursor before = *cursor;
        if (!descriptor_take_entry(cursor, &sub_item_layout, SUB_ITEM_BYTES,
                                   &tables->sub_items[*i])) {
            *cursor = before;
            return broken(cursor, begin, offset, "sub-item", *i, error);
        }
    }
    return RBWP_OK;
}

enum rbwp_status descriptor_decode(const uint8_t *bytes, size_t count, uint64_t offset,
                                   struct descriptor_counts counts,
                                   struct descriptor_tables *tables_out, struct rbwp_error *error)
{
    *tables_out = (struct descriptor_tables){
        .work_items = allocate_entries(counts.work_items, count, WORK_ITEM_BYTES,
                                       sizeof *tables_out->work_items),
        .sub_items = allocate_entries(counts.sub_items, count, SUB_ITEM_BYTES,
                                      sizeof *tables_out->sub_items),
    };
    if (!tables_out->work_items || !tables_out->sub_items) {
        descriptor_free(tables_out);
        return error_set_memory(error, "descriptors");
    }
    struct cursor cursor = {bytes, count < TABLES_BYTES_MAX ? count : TABLES_BYTES_MAX};
    struct descriptor_counts most = {
        counts.work_items < TABLE_ENTRIES_MAX ? counts.work_items : TABLE_ENTRIES_MAX,
        counts.sub_items < TABLE_ENTRIES_MAX ? counts.sub_items : TABLE_ENTRIES_MAX,
    };
    enum rbwp_status status = take_entries(&cursor, offset, most, tables_out, error);
    tables_out->bytes = (size_t)(cursor.next - bytes);
    if (counts.work_items > TABLE_ENTRIES_MAX || counts.sub_items > TABLE_ENTRIES_MAX)
        status =
            error_set(error, RBWP_E_LIMIT, (struct place){"descriptors", offset, RULE_TABLES_BYTES},
                      "tables of %" PRIu32 " and %" PRIu32 " entries; the limit is 65536",
                      counts.work_items, counts.sub_items);
    return status;
}

void descriptor_free(struct descriptor_tables *tables)
{
    free(tables->work_items);
    free(tables->sub_items);
    *tables = (struct descriptor_tables){0};
}

/* Sets bit `number`; false if it was set. */
static bool first_time(uint8_t *bits, unsigned number)
{
    bool first = !(bits[number / 8] >> number % 8 & 1);
    bits[number / 8] = (uint8_t)(bits[number / 8] | 1u << number % 8);
    return first;
}

enum rbwp_status descriptor_check(const struct rbwp_tables *tables, uint64_t offset,
                                  struct rbwp_error *error)
{
    uint8_t seen[65536 / 8] = {0};
    struct place place = {"descriptors", offset, RULE_SLOT_RANGE};
    for (uint32_t i = 0; i < tables->work_item_count; i++) {
        unsigned slot = tables->work_items[i].slot;
        if (slot >= RBWP_SLOTS_MAX)
            return error_set(error, RBWP_E_CORRUPT, place, "work-item table: slot %u above 255",
                             slot);
        place.rule = RULE_SLOT_ONCE;
        if (!first_time(seen, slot))
            return error_set(error, RBWP_E_CORRUPT, place, "work-item table: slot %u twice", slot);
        place.rule = RULE_SLOT_RANGE;
    }
    memset(seen, 0, sizeof(seen));
    place.rule = RULE_SUB_ITEM_ONCE;
    for (uint32_t i = 0; i < tables->sub_item_count; i++)
        if (!first_time(seen, tables->sub_items[i].id))
            return error_set(error, RBWP_E_CORRUPT, place, "sub-item table: id %u twice",
                             (unsigned)tables->sub_items[i].id);
    return RBWP_OK;
}

enum rbwp_status descriptor_encode(const struct rbwp_tables *tables, struct buffer *buffer)
{
    size_t before = buffer->count;
    if (tables->work_item_count > TABLE_ENTRIES_MAX || tables->sub_item_count > TABLE_ENTRIES_MAX)
        return RBWP_E_LIMIT;
    for (uint32_t i = 0; i < tables->work_item_count; i++)
        descriptor_put_entry(buffer, &work_item_layout, WORK_ITEM_BYTES, &tables->work_items[i]);
    for (uint32_t i = 0; i < tables->sub_item_count; i++)
        descriptor_put_entry(buffer, &sub_item_layout, SUB_ITEM_BYTES, &tables->sub_items[i]);
    if (buffer->failed)
        return RBWP_E_MEMORY;
    return buffer->count - before > TABLES_BYTES_MAX ? RBWP_E_LIMIT : RBWP_OK;
}
