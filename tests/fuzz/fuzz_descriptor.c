/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor tables: whole entries are decoded and encode to the same bytes; names lie inside
 * the input. The input begins with the two counts as the header has them.
 */
#include "descriptor.h"
#include "fuzz.h"

#include <string.h>

static void inside(const uint8_t *begin, size_t bytes, const char *name, size_t name_bytes)
{
    const uint8_t *at = (const uint8_t *)name;
    REQUIRE(at >= begin && at <= begin + bytes && name_bytes <= (size_t)(begin + bytes - at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct supply head = {data, size};
    struct descriptor_counts counts;
    counts.work_items = (uint32_t)supply_number(&head, 4);
    counts.sub_items = (uint32_t)supply_number(&head, 4);
    size_t count = head.left;
    const uint8_t *copy = guarded_copy(head.next, count);
    if (!copy)
        return 0;
    struct descriptor_tables decoded;
    struct rbwp_error error;
    enum rbwp_status status = descriptor_decode(copy, count, 36, counts, &decoded, &error);
    REQUIRE(status == RBWP_OK || status == RBWP_E_TRUNCATED || status == RBWP_E_LIMIT);
    REQUIRE(decoded.bytes <= count);
    struct rbwp_tables tables = {decoded.work_items, decoded.sub_items, decoded.work_item_count,
                                 decoded.sub_item_count};
    for (uint32_t i = 0; i < tables.work_item_count; i++)
        inside(copy, decoded.bytes, tables.work_items[i].name, tables.work_items[i].name_bytes);
    for (uint32_t i = 0; i < tables.sub_item_count; i++)
        inside(copy, decoded.bytes, tables.sub_items[i].name, tables.sub_items[i].name_bytes);
    if (status == RBWP_OK)
        REQUIRE(tables.work_item_count == counts.work_items &&
                tables.sub_item_count == counts.sub_items);
    if (descriptor_check(&tables, 36, &error) != RBWP_OK)
        REQUIRE(error.rule && !strchr(error.text, '\n'));
    struct buffer buffer = {0};
    REQUIRE(descriptor_encode(&tables, &buffer) == RBWP_OK && buffer.count == decoded.bytes);
    REQUIRE(buffer.count == 0 || memcmp(buffer.bytes, copy, buffer.count) == 0);
    buffer_free(&buffer);
    descriptor_free(&decoded);
    return 0;
}
