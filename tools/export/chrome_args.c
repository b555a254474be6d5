/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of a span: its flags, its slot or item, the source's own, and
 * under "rbwp" what the model has beyond that, with times since 1970 as texts.
 */
#include "chrome_json.h"
#include "trace_span.h"

#include <inttypes.h>

static void chrome_args_separate(struct chrome *chrome, bool *any)
{
    out_text(&chrome->pass->out, *any ? "," : ",\"args\":{");
    *any = true;
}

static void write_bounds(struct out *out, const struct trace_detail *detail)
{
    out_format(out,
               "\"start_uncertain_ns\":%" PRIu64 ",\"stop_uncertain_ns\":%" PRIu64
               ",\"certain_ns\":%" PRIu64 ",",
               detail->start_uncertain_ns, detail->stop_uncertain_ns, detail->certain_ns);
}

void chrome_write_cpu(struct chrome *chrome, const struct trace_span *span,
                      const struct trace_detail *detail)
{
    int64_t parts[TRACE_CPU_PARTS];
    struct out *out = &chrome->pass->out;
    if (span->flags & TRACE_RAN)
        out_text(out, "\"ran\":true,");
    if (!detail || !(detail->flags & TRACE_HAS_CPU))
        return;
    trace_cpu_parts(span, detail, parts);
    for (int i = 0; i < TRACE_CPU_PARTS; i++)
        if (parts[i] >= 0)
            out_format(out, "\"%s\":%" PRId64 ",", trace_cpu_part_name[i], parts[i]);
}

void chrome_write_launch(struct chrome *chrome, const struct trace_detail *detail)
{
    struct out *out = &chrome->pass->out;
    if (detail->flags & TRACE_HAS_BOUNDS)
        write_bounds(out, detail);
    if (detail->flags & TRACE_HAS_LAUNCH)
        out_format(out, "\"launch_ns\":\"%" PRId64 "\",", detail->launch_ns);
    if (detail->launch_track != TRACE_NONE)
        out_format(out, "\"launch_track\":%" PRIu32 ",", detail->launch_track);
    if (detail->thread_id)
        out_format(out, "\"launch_thread\":\"0x%" PRIx64 "\",", detail->thread_id);
    if (detail->flags & TRACE_INFERRED)
        out_text(out, "\"inferred\":true,");
}

/* Every member with a comma behind it, which the last one loses. */
static void chrome_args_write_model(struct chrome *chrome, const struct trace_span *span,
                                    const struct trace_detail *detail)
{
    struct out *out = &chrome->pass->out;
    out_text(out, "\"rbwp\":{");
    if (detail && detail->correlation)
        out_format(out, "\"correlation\":\"%" PRIu64 "\",", detail->correlation);
    chrome_write_cpu(chrome, span, detail);
    if (detail)
        chrome_write_launch(chrome, detail);
    out->used--;
    out_text(out, "}");
}

static bool has_model(const struct trace_detail *detail)
{
    return detail->flags || detail->correlation || detail->thread_id ||
           detail->launch_track != TRACE_NONE;
}

void chrome_write_args(struct chrome *chrome, const struct trace_span *span,
                       const struct trace_detail *detail)
{
    struct out *out = &chrome->pass->out;
    const char *key = own_key_of_item(span->category, span->item);
    bool any = false;
    if (span->flags & TRACE_UNFINISHED) {
        chrome_args_separate(chrome, &any);
        out_text(out, "\"unfinished\":true");
    }
    if (span->flags & TRACE_OPEN) {
        chrome_args_separate(chrome, &any);
        out_text(out, "\"open\":true");
    }
    if (key) {
        chrome_args_separate(chrome, &any);
        json_u64(out, key, span->item);
    }
    if (detail && detail->arg_count) {
        chrome_args_separate(chrome, &any);
        args_json_members(out, &chrome->text, &chrome->keys, chrome->pass->trace, detail);
    }
    if (span->flags & TRACE_RAN || (detail && has_model(detail))) {
        chrome_args_separate(chrome, &any);
        chrome_args_write_model(chrome, span, detail);
    }
    if (any)
        out_text(out, "}");
}
