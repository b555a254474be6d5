/* SPDX-License-Identifier: Apache-2.0 */
/* Records and spans as JSON objects. */
#include "json_line.h"

#include "json_record.h"
#include "json_text.h"

#include <string.h>

/* ---- a record --------------------------------------------------------------------------- */

static void record_members(struct out *out, const struct names *names,
                           const struct rbwp_record *record)
{
    out_text(out, ",");
    json_i64(out, "ts", record->time_ns);
    out_text(out, ",\"type\":\"");
    out_text(out, rbwp_kind_name(record->kind));
    out_text(out, "\"");
    switch (record->kind) {
    case RBWP_COARSE_BEGIN:
        json_slot_members(out, names, record->slot, record->time_ns);
        break;
    case RBWP_FINE_BEGIN:
        json_sub_item_members(out, names, record->sub_item, record->time_ns);
        break;
    case RBWP_GPU_WORK:
        out_text(out, ",");
        json_u64(out, "proc_id", record->proc_id);
        json_slot_members(out, names, record->slot, record->time_ns);
        out_text(out, ",");
        json_i64(out, "start", record->start_ns);
        out_text(out, ",");
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

static void optional_time(struct out *out, const char *key, bool known, int64_t value)
{
    out_text(out, ",");
    json_key(out, key);
    if (known)
        out_i64(out, value);
    else
        out_text(out, "null");
}

static void what(struct out *out, const struct names *names, const struct span *span,
                 int64_t time_ns)
{
    if (span->kind == SPAN_GPU) {
        out_text(out, ",");
        json_u64(out, "proc_id", span->proc_id);
    }
    if (span->kind == SPAN_FINE && span->has_begin) {
        if (span->slot >= 0) {
            out_text(out, ",");
            json_u64(out, "slot", (uint64_t)span->slot);
        } else {
            out_text(out, ",\"slot\":null");
        }
        json_sub_item_members(out, names, span->sub_item, time_ns);
    } else if (span->has_begin) {
        json_slot_members(out, names, (unsigned)span->slot, time_ns);
    } else {
        out_text(out, ",\"slot\":null,\"name\":null");
    }
}

static void times(struct out *out, const struct span *span)
{
    optional_time(out, "begin", span->has_begin, span->begin_ns);
    optional_time(out, "end", span->has_end, span->end_ns);
    out_text(out, ",");
    json_key(out, "duration");
    if (span_has_duration(span))
        out_u64(out, span_duration_ns(span));
    else
        out_text(out, "null"); /* an end is missing, or before the begin */
    if (span->kind == SPAN_GPU) {
        out_text(out, ",");
        json_i64(out, "ts", span->record_ns);
    }
    out_text(out, ",");
    json_bool(out, "finished", span->has_begin && span->has_end);
    if (!span->has_begin)
        out_text(out, ",\"stray\":true");
    if (span->open) {
        out_text(out, ",\"open\":true,");
        json_i64(out, "open_until", span->end_ns);
    }
}

static void out_member(struct out *out, const char *key, uint64_t value)
{
    out_text(out, ",");
    json_u64(out, key, value);
}

/* What is known of GPU work beside its times, and between what its duration lies. */
static void gpu_members(struct out *out, const struct span *span, const struct gpu_fact *fact,
                        struct rbwp_text name)
{
    const uint64_t duration_ns = span_has_duration(span) ? span_duration_ns(span) : 0;
    out_text(out, ",");
    json_i64(out, "launch", fact->launch_ns);
    out_text(out, ",");
    json_i64(out, "launched", fact->launched_ns);
    out_member(out, "launching", fact->launching_ns);
    out_text(out, ",");
    json_bool(out, "idle", fact->idle);
    out_member(out, "launch_thread_id", fact->thread_id);
    if (fact->call)
        out_member(out, "launch_id", fact->call);
    else
        out_text(out, ",\"launch_id\":null");
    out_member(out, "start_bound", fact->start_bound_ns);
    out_member(out, "stop_bound", fact->stop_bound_ns);
    out_member(out, "duration_least", gpu_fact_least_ns(fact, duration_ns));
    out_member(out, "duration_most", gpu_fact_most_ns(fact, duration_ns));
    if (!fact->is_row)
        return;
    out_member(out, "stream", fact->stream);
    out_member(out, "correlation", fact->correlation);
    out_text(out, ",");
    json_name(out, "work", name.text, name.bytes);
}

void json_span(struct out *out, const char *file, const struct names *names,
               const struct span *span, const struct gpu_fact *gpu, struct rbwp_text work)
{
    static const char *const kinds[] = {"coarse", "fine", "gpu"};
    int64_t time_ns = span_name_time_ns(span);
    out_text(out, "{");
    json_name(out, "file", file, strlen(file));
    out_text(out, ",");
    json_plain(out, "kind", kinds[span->kind]);
    out_text(out, ",");
    json_u64(out, "id", span->id);
    out_text(out, span->parent ? ",\"parent\":" : ",\"parent\":null");
    if (span->parent)
        out_u64(out, span->parent);
    out_text(out, ",");
    json_u64(out, "depth", span->depth);
    json_thread_members(out, names, span->thread_id, time_ns);
    what(out, names, span, time_ns);
    times(out, span);
    if (gpu)
        gpu_members(out, span, gpu, work);
    out_text(out, "}");
}
