/* SPDX-License-Identifier: Apache-2.0 */
/* Records and spans as JSON objects. */
#include "json_line.h"

#include "json_text.h"

#include <string.h>

/* References of records as JSON. */

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

static void json_slot_members(struct out *out, const struct names *names, unsigned slot,
                              int64_t time_ns)
{
    json_u64(out, "slot", slot);
    name_member(out, "name", names_find(&names->slots, slot, time_ns));
}

static void json_sub_item_members(struct out *out, const struct names *names, unsigned sub_item,
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

/* ---- a record --------------------------------------------------------------------------- */

static void record_members(struct out *out, const struct names *names,
                           const struct rbwp_record *record)
{
    json_i64(out, "ts", record->time_ns);
    json_plain(out, "type", rbwp_kind_name(record->kind));
    switch (record->kind) {
    case RBWP_COARSE_BEGIN:
        json_slot_members(out, names, record->slot, record->time_ns);
        break;
    case RBWP_FINE_BEGIN:
        json_sub_item_members(out, names, record->sub_item, record->time_ns);
        break;
    case RBWP_GPU_WORK:
        json_u64(out, "proc_id", record->proc_id);
        json_slot_members(out, names, record->slot, record->time_ns);
        json_i64(out, "start", record->start_ns);
        json_i64(out, "stop", record->stop_ns);
        break;
    default:
        break;
    }
}

void json_record_line(struct out *out, const char *file, const struct names *names,
                      uint64_t thread_id, int64_t block_ns, const struct rbwp_record *record)
{
    out_text(out, "{");
    json_name(out, "file", file, strlen(file));
    json_thread_members(out, names, thread_id, block_ns);
    record_members(out, names, record);
    out_text(out, "}\n");
}

/* ---- a span ----------------------------------------------------------------------------- */

static void what(struct out *out, const struct names *names, const struct record_pair *pair,
                 int64_t time_ns)
{
    if (pair->kind == PAIR_GPU)
        json_u64(out, "proc_id", pair->proc_id);
    if (pair->kind == PAIR_FINE && pair->has_begin) {
        json_known_i64(out, "slot", pair->slot >= 0, pair->slot);
        json_sub_item_members(out, names, pair->sub_item, time_ns);
    } else if (pair->has_begin) {
        json_slot_members(out, names, (unsigned)pair->slot, time_ns);
    } else {
        out_text(out, ",\"slot\":null,\"name\":null");
    }
}

static void times(struct out *out, const struct record_pair *pair)
{
    json_known_i64(out, "begin", pair->has_begin, pair->begin_ns);
    json_known_i64(out, "end", pair->has_end, pair->end_ns);
    const bool timed = pair_has_duration(pair); /* else an end is missing, or before the begin */
    json_known_u64(out, "duration", timed, timed ? pair_duration_ns(pair) : 0);
    if (pair->kind == PAIR_GPU)
        json_i64(out, "ts", pair->record_ns);
    json_bool(out, "finished", pair->has_begin && pair->has_end);
    if (!pair->has_begin)
        json_bool(out, "stray", true);
    if (pair->open) {
        json_bool(out, "open", true);
        json_i64(out, "open_until", pair->end_ns);
    }
}

/* What is known of GPU work beside its times, and between what its duration lies. */
static void gpu_members(struct out *out, const struct record_pair *pair,
                        const struct gpu_fact *fact, struct rbwp_text name)
{
    const uint64_t duration_ns = pair_has_duration(pair) ? pair_duration_ns(pair) : 0;
    json_i64(out, "launch", fact->launch_ns);
    json_i64(out, "launched", fact->launched_ns);
    json_u64(out, "launching", fact->launching_ns);
    json_bool(out, "idle", fact->idle);
    json_u64(out, "launch_thread_id", fact->thread_id);
    json_known_u64(out, "launch_id", fact->call, fact->call);
    json_u64(out, "start_bound", fact->start_bound_ns);
    json_u64(out, "stop_bound", fact->stop_bound_ns);
    json_u64(out, "duration_least", gpu_fact_least_ns(fact, duration_ns));
    json_u64(out, "duration_most", gpu_fact_most_ns(fact, duration_ns));
    if (!fact->is_row)
        return;
    json_u64(out, "stream", fact->stream);
    json_u64(out, "correlation", fact->correlation);
    json_name(out, "work", name.text, name.bytes);
}

void json_span(struct out *out, const char *file, const struct names *names,
               const struct record_pair *pair, const struct gpu_fact *gpu, struct rbwp_text work)
{
    static const char *const kinds[] = {"coarse", "fine", "gpu"};
    int64_t time_ns = pair_name_time_ns(pair);
    out_text(out, "{");
    json_name(out, "file", file, strlen(file));
    json_plain(out, "kind", kinds[pair->kind]);
    json_u64(out, "id", pair->id);
    json_known_u64(out, "parent", pair->parent, pair->parent);
    json_u64(out, "depth", pair->depth);
    json_thread_members(out, names, pair->thread_id, time_ns);
    what(out, names, pair, time_ns);
    times(out, pair);
    if (gpu)
        gpu_members(out, pair, gpu, work);
    out_text(out, "}");
}
