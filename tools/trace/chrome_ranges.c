/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges and launches are sorted by thread and time; work waits in the annotator for its launch. */
#include "chrome_ranges.h"
#include "message.h"
#include "rbwp_annotate.h"

#include <inttypes.h>

enum { OPEN_MAX = 256, ENTRIES_MAX = 4 << 20 };

/* A range, or, with a correlation, a launch. */
struct host_item {
    int64_t start_ns, stop_ns;
    uint64_t id, correlation, external;
    uint32_t track, name;
};

static int compare(const void *left, const void *right)
{
    const struct host_item *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (!a->correlation != !b->correlation)
        return a->correlation ? 1 : -1;
    if (a->stop_ns != b->stop_ns)
        return a->stop_ns > b->stop_ns ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static const struct merge_order host_order = {.what = "ranges",
                                              .item_bytes = sizeof(struct host_item),
                                              .payload_at = MERGE_SORTER_NO_PAYLOAD,
                                              .compare = compare};

void chrome_ranges_start(struct chrome_ranges *ranges, const struct trace_read_options *options)
{
    const struct rbwp_annotator_config config = {.size = sizeof config,
                                                 .requested = RBWP_ACTIVITIES_ANNOTATED,
                                                 .outer = !options->innermost,
                                                 .entries_max = ENTRIES_MAX};
    merge_sorter_start(&ranges->host, &host_order);
    if (options->annotate)
        ranges->failed = rbwp_annotator_new(&config, &ranges->annotator) != RBWP_OK;
}

void chrome_ranges_stop(struct chrome_ranges *ranges)
{
    merge_sorter_stop(&ranges->host);
    rbwp_annotator_free(ranges->annotator);
}

void chrome_ranges_take(struct chrome_ranges *ranges, const struct trace_span *span,
                        uint64_t correlation, uint64_t external)
{
    const bool is_range = span->category == TRACE_RANGE && !(span->flags & TRACE_INSTANT);
    if (!ranges->annotator)
        return;
    ranges->annotated |= span->category == TRACE_ANNOTATION;
    if (is_range || (span->category == TRACE_CALLED && correlation))
        merge_sorter_add(&ranges->host,
                         &(struct host_item){.start_ns = span->start_ns,
                                             .stop_ns = span->stop_ns,
                                             .id = span->id,
                                             .correlation = is_range ? 0 : correlation,
                                             .external = external,
                                             .track = span->track,
                                             .name = span->name},
                         NULL);
    else if ((span->category == TRACE_GPU_WORK || span->category == TRACE_COPY) && correlation)
        rbwp_annotator_activity(ranges->annotator,
                                &(struct rbwp_annotate_activity){.kind = RBWP_ACTIVITY_KERNEL,
                                                                 .stream = span->track,
                                                                 .correlation = correlation,
                                                                 .start_ns = span->start_ns,
                                                                 .stop_ns = span->stop_ns});
}

/* ---- which range a launch is of --------------------------------------------------- */

struct nesting {
    struct rbwp_annotator *annotator;
    uint32_t track, count;
    struct host_item open[OPEN_MAX]; /* ranges that may be around what comes */
};

static bool take_in_order(void *context, const void *item, const uint64_t *payload)
{
    struct nesting *nesting = context;
    const struct host_item *here = item;
    uint32_t kept = 0;
    (void)payload;
    for (uint32_t i = 0; i < nesting->count && here->track == nesting->track; i++)
        if (nesting->open[i].stop_ns > here->start_ns)
            nesting->open[kept++] = nesting->open[i];
    nesting->track = here->track;
    nesting->count = kept;
    const uint64_t around = kept ? nesting->open[kept - 1].id : 0;
    if (here->correlation) {
        if (around)
            rbwp_annotator_correlate(nesting->annotator, RBWP_EXTERNAL_USER, here->correlation,
                                     around);
        return true;
    }
    rbwp_annotator_range(nesting->annotator, &(struct rbwp_annotate_range){.id = here->id,
                                                                           .parent = around,
                                                                           .name = here->name,
                                                                           .tag = here->external});
    if (kept < OPEN_MAX)
        nesting->open[nesting->count++] = *here;
    return true;
}

/* ---- what is made ------------------------------------------------------------------ */

static void add(struct trace *trace, struct span_sorter *spans, struct detail_maker *detail,
                const struct rbwp_annotation *annotation)
{
    const struct trace_span span = {.start_ns = annotation->start_ns,
                                    .stop_ns = annotation->stop_ns,
                                    .id = trace_new_ids(trace, 1),
                                    .track = (uint32_t)annotation->stream,
                                    .name = (uint32_t)annotation->name,
                                    .category = TRACE_ANNOTATION};
    span_detail_start(detail);
    if (annotation->tag)
        span_detail_arg(detail, trace_add_label(trace, "id", 2) - 1, TRACE_ARG_U64,
                        annotation->tag);
    span_detail_arg(detail, trace_add_label(trace, "works", 5) - 1, TRACE_ARG_U64,
                    annotation->activities);
    span_sorter_add(spans, &span, span_detail_finish(detail));
}

bool chrome_ranges_finish(struct chrome_ranges *ranges, struct trace *trace,
                          struct span_sorter *spans, struct detail_maker *detail)
{
    struct nesting nesting = {.annotator = ranges->annotator, .track = TRACE_NONE};
    struct rbwp_annotate_counts counts;
    const struct rbwp_annotation *annotations;
    size_t count = 0;
    if (!ranges->annotator || ranges->annotated)
        return !ranges->failed;
    merge_sorter_finish(&ranges->host, take_in_order, &nesting);
    ranges->failed |= rbwp_annotator_finish(ranges->annotator, &annotations, &count) != RBWP_OK;
    for (size_t i = 0; i < count; i++)
        add(trace, spans, detail, &annotations[i]);
    rbwp_annotator_counts(ranges->annotator, &counts);
    const uint64_t lost = counts.lost_ranges + counts.lost_annotations + counts.lost_correlations;
    if (lost)
        message("ranges are too many to show the GPU work of each: %" PRIu64 " are left out", lost);
    return !ranges->failed && !ranges->host.failed && !lost;
}
