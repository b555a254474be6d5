/* SPDX-License-Identifier: Apache-2.0 */
#include "span_batch.h"
#include "span_detail.h"

enum { SPAN_BATCH_BATCH_WORDS = 128 << 10 };

void span_batch_pass(struct span_batch *batch)
{
    trace_add_spans(batch->trace, batch->spans, batch->count,
                    batch->details.count ? &batch->details : NULL);
    batch->count = 0;
    span_details_clear(&batch->details);
}

void span_batch_free(struct span_batch *batch)
{
    span_details_free(&batch->details);
}

void span_batch_add(struct span_batch *batch, struct span_place *place,
                    const struct trace_span *span, const struct trace_detail *detail)
{
    bool failed = false, late = place->any && span->start_ns < place->last_start_ns;
    bool grouped = span->flags & SPAN_GROUPED;
    if (batch->count &&
        (batch->count == SPAN_BATCH_SPANS || batch->details.count > SPAN_BATCH_BATCH_WORDS ||
         late || batch->spans[0].track != span->track))
        span_batch_pass(batch);
    struct trace_span *copy = &batch->spans[batch->count++];
    *copy = *span;
    copy->detail = span_details_add(&batch->details, detail, &failed);
    copy->row = lanes_place_group(&place->lanes, span->start_ns, span->stop_ns, late,
                                  grouped ? span->parent : 0, &copy->depth);
    if (grouped) {
        copy->flags &= (uint8_t)~SPAN_GROUPED;
        copy->parent = 0;
    }
    if (late)
        copy->flags |= TRACE_LATE;
    else
        place->last_start_ns = span->start_ns;
    place->any = true;
    if (failed || place->lanes.failed)
        trace_out_of_memory(batch->trace);
}
