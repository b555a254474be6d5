/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_record.h - what a record or span refers to, as JSON members.
 *
 * Shared by the dumps that resolve names. A name that is not known is null.
 */
#ifndef JSON_RECORD_H
#define JSON_RECORD_H

#include "name_lookup.h"
#include "out.h"

/* "thread_id" and "thread". */
void json_thread_members(struct out *out, const struct names *names, uint64_t thread_id,
                         int64_t time_ns);
/* "slot" and "name": looked up, or as given (NULL: not known). */
void json_slot_members(struct out *out, const struct names *names, unsigned slot, int64_t time_ns);
void json_named_slot_members(struct out *out, unsigned slot, const struct name *name);
/* "sub_item", "sub_item_type" and "name". */
void json_sub_item_members(struct out *out, const struct names *names, unsigned sub_item,
                           int64_t time_ns);

#endif /* JSON_RECORD_H */
