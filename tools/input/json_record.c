/* SPDX-License-Identifier: Apache-2.0 */
/* References of records as JSON. */
#include "json_record.h"
#include "json_text.h"

static void name_member(struct out *out, const char *key, const struct name *name)
{
    if (name)
        json_name(out, key, name->text, name->bytes);
    else
        json_null(out, key);
}

void json_thread_members(struct out *out, const struct names *names, uint64_t thread_id,
                         int64_t time_ns)
{
    json_u64(out, "thread_id", thread_id);
    name_member(out, "thread", names_find(&names->threads, thread_id, time_ns));
}

void json_named_slot_members(struct out *out, unsigned slot, const struct name *name)
{
    json_u64(out, "slot", slot);
    name_member(out, "name", name);
}

void json_slot_members(struct out *out, const struct names *names, unsigned slot, int64_t time_ns)
{
    json_named_slot_members(out, slot, names_find(&names->slots, slot, time_ns));
}

void json_sub_item_members(struct out *out, const struct names *names, unsigned sub_item,
                           int64_t time_ns)
{
    const struct name *name = names_find(&names->sub_items, sub_item, time_ns);
    json_u64(out, "sub_item", sub_item);
    if (name)
        json_plain(out, "sub_item_type", rbwp_sub_item_type_name(name->type));
    else
        json_null(out, "sub_item_type");
    if (name && name->kind_bytes)
        json_name(out, "sub_item_kind", name->kind, name->kind_bytes);
    name_member(out, "name", name);
}
