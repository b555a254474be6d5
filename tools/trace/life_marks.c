/* SPDX-License-Identifier: Apache-2.0 */
#include "life_marks.h"
#include "span_detail.h"
#include "trace_span.h"

#include <string.h>

static const char *const name_of[] = {"begins", "ends", "died", "runs still"};

static uint32_t life_marks_number_of(struct trace *trace, const char *text)
{
    return trace_add_name(trace, text, (uint32_t)strlen(text));
}

static void life_marks_report(struct trace *trace, struct detail_maker *maker, const char *key,
                              uint64_t os_id)
{
    if (os_id)
        span_detail_arg(maker, life_marks_number_of(trace, key), TRACE_ARG_U64, os_id);
}

bool life_marks_add(struct trace *trace, const struct life *life)
{
    struct trace_span marks[2];
    struct trace_details details = {0};
    struct detail_maker maker = {0};
    bool failed = false;
    size_t count = 0;
    if (!life->has_start && !life->has_last)
        return true;
    const struct trace_track track = {
        .process = life->process, .kind = TRACE_LIFE, .name = trace_text("process")};
    struct trace_span mark = {
        .track = trace_add_track(trace, track), .category = TRACE_RANGE, .flags = TRACE_INSTANT};
    span_detail_start(&maker);
    life_marks_report(trace, &maker, "process", life->os_id);
    life_marks_report(trace, &maker, "parent", life->parent);
    mark.detail = span_details_add(&details, span_detail_finish(&maker), &failed);
    mark.id = trace_new_ids(trace, 2);
    if (life->has_start) {
        mark.start_ns = mark.stop_ns = life->start_ns;
        mark.name = life_marks_number_of(trace, name_of[TRACE_LIFE_BEGINS]);
        marks[count++] = mark;
    }
    if (life->has_last) {
        mark.id++;
        mark.item = life->end;
        mark.start_ns = mark.stop_ns =
            life->last_ns < life->start_ns ? life->start_ns : life->last_ns;
        mark.name = life_marks_number_of(trace, name_of[life->end]);
        marks[count++] = mark;
    }
    trace_add_spans(trace, marks, count, &details);
    failed |= maker.failed;
    span_details_free(&details);
    span_detail_free(&maker);
    return !failed;
}
