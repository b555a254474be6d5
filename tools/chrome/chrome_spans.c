/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy asynchronous events (S, T, p, F) are read as nestable ones (b, n, e).
 * Spans of one asynchronous id may enclose each other; those of different ids
 * never do, so each id is a group of its own to the sorter.
 */
#include "chrome_spans.h"

#include "kineto_words.h"
#include "message.h"
#include "rbwp_annotate.h"
#include "sorted.h"
#include "span_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- annotations that Chrome JSON does not have ---------------------------------------------- */
/*
 * When the GPU work that was launched in a named range ran, for each stream.
 *
 * A launch is of the innermost range around it on its thread; its number ("correlation") leads to
 * the work. Made when they are asked for (trace_read_options.annotate), and the file has none.
 *
 * Ranges and launches are sorted by thread and time; work waits in the annotator for its launch.
 */

enum { OPEN_MAX = 256, ENTRIES_MAX = 4 << 20 };

/* A range, or, with a correlation, a launch. */
struct host_item {
    int64_t start_ns, stop_ns;
    uint64_t id, correlation, external;
    uint32_t track, name;
};

static int chrome_spans_compare(const void *left, const void *right)
{
    const struct host_item *a = left, *b = right;
    SORTED_BY(a, b, track);
    SORTED_BY(a, b, start_ns);
    if (!a->correlation != !b->correlation)
        return a->correlation ? 1 : -1;
    SORTED_BY(b, a, stop_ns);
    return (a->id > b->id) - (a->id < b->id);
}

static const struct merge_order host_order = {"ranges", sizeof(struct host_item),
                                              MERGE_SORTER_NO_PAYLOAD, chrome_spans_compare};

static void chrome_ranges_start(struct chrome_ranges *ranges,
                                const struct trace_read_options *options)
{
    const struct rbwp_annotator_config config = {.size = sizeof config,
                                                 .requested = RBWP_ACTIVITIES_ANNOTATED,
                                                 .outer = !options->innermost,
                                                 .entries_max = ENTRIES_MAX};
    merge_sorter_start(&ranges->host, &host_order);
    if (options->annotate)
        ranges->failed = rbwp_annotator_new(&config, &ranges->annotator) != RBWP_OK;
}

/* external: what the file calls a range, 0 for nothing. */
static void chrome_ranges_take(struct chrome_ranges *ranges, const struct trace_span *span,
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

static void chrome_spans_add(struct trace *trace, struct span_sorter *spans,
                             struct detail_maker *detail, const struct rbwp_annotation *annotation)
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

/* Behind the last span. False when some are missing. */
static bool chrome_ranges_finish(struct chrome_ranges *ranges, struct trace *trace,
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
        chrome_spans_add(trace, spans, detail, &annotations[i]);
    rbwp_annotator_counts(ranges->annotator, &counts);
    const uint64_t lost = counts.lost_ranges + counts.lost_annotations + counts.lost_correlations;
    if (lost)
        message("ranges are too many to show the GPU work of each: %" PRIu64 " are dropped", lost);
    return !ranges->failed && !ranges->host.failed && !lost;
}

/* ---- chrome spans ---------------------------------------------------------------------------- */

bool chrome_spans_knows(char phase)
{
    return phase && strchr("XBEiIRbenSTpFstfC", phase);
}

struct chrome_spans *chrome_spans_start(struct chrome_tracks *tracks,
                                        const struct trace_source *opened, struct trace *trace,
                                        const struct trace_read_options *options)
{
    struct chrome_spans *spans = calloc(1, sizeof *spans);
    if (!spans)
        return NULL;
    spans->tracks = tracks;
    tracks->opened = opened;
    tracks->trace = trace;
    spans->opened = opened;
    spans->trace = trace;
    spans->zero_ns = opened->facts.zero_ns + options->axis.shift_ns;
    trace_filter_start(&spans->filter, options, opened->facts.first_ns + options->axis.shift_ns);
    span_sorter_start(&spans->spans);
    sample_sorter_start(&spans->samples);
    chrome_ranges_start(&spans->ranges, options);
    return spans;
}

void chrome_spans_free(struct chrome_spans *spans)
{
    span_sorter_stop(&spans->spans);
    sample_sorter_stop(&spans->samples);
    merge_sorter_stop(&spans->ranges.host);
    rbwp_annotator_free(spans->ranges.annotator);
    span_detail_free(&spans->detail);
    deferred_losses_free(&spans->losses);
    open_spans_free(&spans->open);
    free(spans);
}

/* ---- what a span is -------------------------------------------------------------- */

bool chrome_spans_is_launch(const struct chrome_event *event)
{
    return chrome_event_has_category(event, "ac2g") ||
           chrome_event_has_category(event, "async_gpu");
}

bool chrome_spans_is_gpu(const struct chrome_event *event)
{
    static const char *const categories[] = {"kernel", "gpu_memcpy", "gpu_memset",
                                             "gpu_user_annotation"};
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
        if (chrome_event_has_category(event, categories[i]))
            return event->phase == 'X';
    return false;
}

/* Our own exports say what a span is by our own words, PyTorch by its. */
static uint8_t chrome_spans_category_of(const struct chrome_spans *spans,
                                        const struct chrome_event *event)
{
    if (spans->kineto)
        return spans->form.category;
    if (spans->ours)
        return chrome_own_category(event, NULL);
    return kineto_category((struct trace_text){event->category, event->category_bytes});
}

/* What its begin and its end share: category and id, of a process or of all; legacy ones the name,
 * too. */
static uint64_t async_key(const struct chrome_event *event)
{
    uint64_t key = chrome_hash_text(2, event->category, event->category_bytes);
    key = chrome_hash_id(key, &event->id);
    if (strchr("STpF", event->phase))
        key = chrome_hash_text(key, event->name, event->name_bytes);
    return event->id_is_local ? chrome_hash_id(key, &event->process) : key;
}

/* Ids of flows are those of a file. */
static uint64_t flow_key(const struct chrome_spans *spans, const struct chrome_event *event)
{
    const char *file = spans->opened->name;
    uint64_t key = chrome_hash_text(3, file, (uint32_t)strlen(file));
    key = chrome_hash_text(key, event->category, event->category_bytes);
    return chrome_hash_id(chrome_hash_text(key, event->name, event->name_bytes), &event->id);
}

/* By which the times of our own exports were shifted. */
static int64_t shift_ns(const struct chrome_spans *spans)
{
    return spans->zero_ns - spans->opened->facts.zero_ns;
}

/* Kineto's annotations are written wider than they are, at both ends. */
static int64_t narrower_ns(const struct chrome_spans *spans, const struct chrome_event *event,
                           uint8_t category)
{
    return spans->kineto && category == TRACE_ANNOTATION && event->phase == 'X';
}

static struct trace_span chrome_spans_make_span(struct chrome_spans *spans,
                                                const struct chrome_event *event,
                                                const struct chrome_track *track)
{
    uint8_t category = chrome_spans_category_of(spans, event);
    int64_t start_ns = spans->zero_ns + event->time_ns + narrower_ns(spans, event, category);
    if (spans->kineto && spans->form.clamped)
        start_ns = trace_shifted(spans->form.start_ns, shift_ns(spans));
    bool named = event->name_bytes > 0;
    return (struct trace_span){
        .start_ns = start_ns,
        .stop_ns = start_ns,
        .parent = track->async ? async_key(event) | 1 : 0,
        .flags = track->async ? SPAN_GROUPED : 0,
        .track = track->number - 1,
        .name = trace_add_name(spans->trace, named ? event->name : "unnamed",
                               named ? event->name_bytes : 7),
        .category = category,
    };
}

/* What more the event says, as far as it is not the span's own. NULL: nothing. */
static const struct trace_detail *
make_detail(struct chrome_spans *spans, const struct chrome_event *event, struct trace_span *span)
{
    struct trace_text category = {event->category, event->category_bytes};
    struct chrome_own own = {event->args, &spans->detail.head, span, TRACE_NONE, 0};
    if (spans->kineto) {
        category = chrome_own_label(event, &spans->form);
        own.made = spans->form.made;
    } else if (spans->ours) {
        (void)chrome_own_category(event, &category);
    }
    if (event->args->count == 0 && category.bytes == 0)
        return NULL;
    span_detail_start(&spans->detail);
    spans->detail.head.category = trace_add_label(spans->trace, category.text, category.bytes);
    if (!spans->ours || spans->kineto)
        spans->detail.head.correlation = chrome_args_u64(event->args, "correlation");
    chrome_args_add(event->args, &spans->detail, spans->trace, spans->ours ? chrome_own_arg : NULL,
                    &own);
    if (spans->detail.head.flags & TRACE_HAS_LAUNCH)
        spans->detail.head.launch_ns += shift_ns(spans);
    if (own.launch_track != TRACE_NONE)
        spans->detail.head.launch_track = chrome_tracks_own(spans->tracks, own.launch_track);
    return span_detail_finish(&spans->detail);
}

/* ---- events ---------------------------------------------------------------------- */

static bool chrome_spans_add_span(struct chrome_spans *spans, const struct chrome_event *event,
                                  struct trace_span *span, const struct trace_detail *detail)
{
    if (!trace_filter_takes(&spans->filter, spans->trace, span) ||
        !trace_filter_clip(&spans->filter, span))
        return false;
    span->id = trace_new_ids(spans->trace, 1);
    span_sorter_add(&spans->spans, span, detail);
    chrome_ranges_take(&spans->ranges, span, detail ? detail->correlation : 0,
                       event ? chrome_args_u64(event->args, "External id") : 0);
    return true;
}

/* Where no flows lead from launches to kernels, the number does that both have. */
static void link_correlated(struct chrome_spans *spans, const struct trace_span *span,
                            const struct trace_detail *detail)
{
    bool launched = span->category == TRACE_GPU_WORK || span->category == TRACE_COPY;
    const char *file = spans->opened->name;
    if (!spans->by_correlation || !detail || !detail->correlation ||
        (!launched && span->category != TRACE_CALLED))
        return;
    trace_add_link_end(spans->trace,
                       &(struct trace_link_end){.arrives = launched,
                                                .kind = TRACE_LAUNCH,
                                                .space = TRACE_NONE,
                                                .process = TRACE_NONE,
                                                .track = span->track,
                                                .key = chrome_hash_text(detail->correlation, file,
                                                                        (uint32_t)strlen(file)),
                                                .time_ns = span->start_ns,
                                                .span = span->id});
}

static void take_whole(struct chrome_spans *spans, const struct chrome_event *event,
                       struct chrome_track *track)
{
    struct trace_span span = chrome_spans_make_span(spans, event, track);
    const struct trace_detail *detail = make_detail(spans, event, &span);
    int64_t narrower = 2 * narrower_ns(spans, event, span.category);
    if (event->phase == 'X' && event->duration_ns < 0)
        spans->open.backwards++;
    else if (event->phase == 'X')
        span.stop_ns += event->duration_ns > narrower ? event->duration_ns - narrower : 0;
    else
        span.flags |= TRACE_INSTANT;
    track->last_ns = span.stop_ns > track->last_ns ? span.stop_ns : track->last_ns;
    bool added = chrome_spans_add_span(spans, event, &span, detail);
    spans->last.valid = true;
    spans->last.id = added ? span.id : 0;
    spans->last.track = span.track;
    spans->last.start_ns = span.start_ns;
    if (added)
        link_correlated(spans, &span, detail);
}

static void take_begin(struct chrome_spans *spans, const struct chrome_event *event,
                       const struct chrome_track *track, uint32_t number)
{
    struct trace_span span = chrome_spans_make_span(spans, event, track);
    span.id = number; /* until it ends */
    (void)open_spans_push(&spans->open, track->async ? async_key(event) : number, &span,
                          make_detail(spans, event, &span));
}

/* The end may have arguments, too. */
static const struct trace_detail *end_detail(struct chrome_spans *spans,
                                             const struct chrome_event *event,
                                             struct trace_span *span,
                                             const struct trace_detail *begun)
{
    if (event->args->count == 0)
        return begun;
    if (!begun)
        return make_detail(spans, event, span);
    span_detail_continue(&spans->detail, begun);
    chrome_args_add(event->args, &spans->detail, spans->trace, NULL, NULL);
    return span_detail_finish(&spans->detail);
}

static void take_end(struct chrome_spans *spans, const struct chrome_event *event,
                     const struct chrome_track *track, uint32_t number)
{
    struct trace_span span;
    struct trace_detail *begun;
    int64_t stop_ns = spans->zero_ns + event->time_ns;
    if (!open_spans_end(&spans->open, track->async ? async_key(event) : number, stop_ns, &span,
                        &begun))
        return;
    (void)chrome_spans_add_span(spans, event, &span, end_detail(spans, event, &span, begun));
    free(begun);
}

/* Of a flow that leads to the span before it. */
static void end_at_last(struct chrome_spans *spans, const struct chrome_flow *flow)
{
    if (spans->last.id)
        trace_add_link_end(spans->trace, &(struct trace_link_end){.arrives = true,
                                                                  .kind = (uint8_t)flow->kind,
                                                                  .label = flow->label,
                                                                  .space = TRACE_NONE,
                                                                  .process = TRACE_NONE,
                                                                  .track = spans->last.track,
                                                                  .key = flow->key,
                                                                  .time_ns = spans->last.start_ns,
                                                                  .span = spans->last.id});
}

/* Its kind is our own word for it, if it is one, or what PyTorch's categories mean. */
static void take_flow(struct chrome_spans *spans, const struct chrome_event *event,
                      const struct chrome_track *track)
{
    struct chrome_flow flow = {.key = flow_key(spans, event),
                               .time_ns = spans->zero_ns + event->time_ns,
                               .track = track->number - 1,
                               .kind = chrome_spans_is_launch(event) ? TRACE_LAUNCH : TRACE_FLOW};
    for (int i = 0; spans->ours && i < TRACE_LINK_KINDS; i++)
        if (chrome_event_has_category(event, trace_link_kind_name[i]))
            flow.kind = (enum trace_link_kind)i;
    bool own_word =
        spans->ours && (chrome_event_is(event, trace_link_kind_name[flow.kind]) ||
                        (spans->kineto && !spans->form.own && chrome_event_is(event, "ac2g")));
    if (!own_word)
        flow.label = trace_add_label(spans->trace, event->name, event->name_bytes);
    if (event->phase == 'f' && spans->last.valid) {
        end_at_last(spans, &flow);
        return;
    }
    flow.shape = event->phase == 's'     ? spans->ours ? FLOW_START_ALONE : FLOW_START
                 : event->phase == 't'   ? FLOW_STEP
                 : event->binding == 'e' ? FLOW_END
                                         : FLOW_END_AT_NEXT;
    chrome_flows_mark(&spans->spans, &flow);
}

/* Each argument is a series, a counter of its own. */
static void chrome_spans_take_counter(struct chrome_spans *spans, const struct chrome_event *event)
{
    for (uint32_t i = 0; i < event->args->count; i++) {
        struct trace_sample sample;
        uint32_t number;
        if (!chrome_args_number(event->args, i, &sample)) {
            spans->not_numbers++;
            continue;
        }
        sample.time_ns = spans->zero_ns + event->time_ns;
        struct chrome_track *track = spans->ours && event->thread.given
                                         ? chrome_tracks_find(spans->tracks, event, &number)
                                         : NULL;
        if (!track || !track->is_own)
            track = chrome_tracks_find_counter(spans->tracks, event, i, &number);
        if (!track)
            return;
        if (trace_filter_takes_sample(&spans->filter, sample.time_ns))
            sample_sorter_add(&spans->samples, chrome_tracks_add(spans->tracks, number), &sample);
    }
}

/* Of our own exports: "7 records lost: CAUSE", "7 calls refused: CAUSE". */
static void chrome_spans_on_loss(struct chrome_spans *spans, const struct chrome_event *event)
{
    uint32_t number;
    struct trace_text name = {event->name, event->name_bytes};
    struct chrome_track *track = chrome_tracks_find(spans->tracks, event, &number);
    if (!track)
        return;
    struct trace_loss loss = {
        .process = chrome_tracks_add_process(spans->tracks, track->process),
        .track = track->is_own ? chrome_tracks_add(spans->tracks, number) : TRACE_NONE,
        .count = chrome_args_u64(event->args, "records") + chrome_args_u64(event->args, "calls"),
        .bytes = chrome_args_u64(event->args, "bytes"),
        .first_ns = (int64_t)chrome_args_u64(event->args, "first_ns"),
        .last_ns = (int64_t)chrome_args_u64(event->args, "last_ns")};
    deferred_losses_add_named(&spans->losses, loss, name);
}

/* In Kineto's form events stand where its readers look for them. */
static struct chrome_track *own_track(struct chrome_spans *spans, struct chrome_track *track,
                                      uint32_t *number)
{
    uint32_t own = spans->form.track;
    if (own == TRACE_NONE && track->works)
        own = track->works - 1;
    struct chrome_track *there =
        own == TRACE_NONE ? NULL : chrome_tracks_numbered(spans->tracks, own, number);
    return there ? there : track;
}

static void take_timed(struct chrome_spans *spans, const struct chrome_event *event)
{
    uint32_t number;
    struct chrome_track *track = chrome_tracks_find(spans->tracks, event, &number);
    if (!track)
        return;
    spans->last.valid =
        spans->kineto && event->phase == 'f' && spans->last.valid && spans->last.row == number;
    spans->last.row = number;
    if (spans->kineto) {
        chrome_own_kineto(event, &spans->form);
        if (spans->form.shadow || (event->phase == 'i' && event->process.bytes == 0 &&
                                   chrome_event_is(event, KINETO_WINDOW_END)))
            return;
        track = own_track(spans, track, &number);
    }
    (void)chrome_tracks_add(spans->tracks, number);
    int64_t time_ns = spans->zero_ns + event->time_ns;
    track->last_ns = time_ns > track->last_ns ? time_ns : track->last_ns;
    switch (event->phase) {
    case 'B':
    case 'b':
    case 'S':
        take_begin(spans, event, track, number);
        break;
    case 'E':
    case 'e':
    case 'F':
        take_end(spans, event, track, number);
        break;
    case 's':
    case 't':
    case 'f':
        take_flow(spans, event, track);
        break;
    default:
        take_whole(spans, event, track);
    }
}

void chrome_spans_take(struct chrome_spans *spans, const struct chrome_event *event)
{
    if (event->phase == 'M')
        return;
    if (!chrome_spans_knows(event->phase))
        spans->dropped[event->phase & (CHROME_PHASES - 1)]++;
    else if (event->bad_time)
        spans->bad_times++;
    else if (!event->has_time)
        spans->no_times++;
    else if (event->phase == 'C')
        chrome_spans_take_counter(spans, event);
    else if (spans->ours && event->phase == 'i' && chrome_event_has_category(event, "loss"))
        chrome_spans_on_loss(spans, event);
    else if (spans->ours && event->phase == 'i' && chrome_event_has_category(event, "link"))
        return; /* of the flow that leaves from there */
    else
        take_timed(spans, event);
}

/* Begins without an end last until the latest time of their track. */
static void end_open(struct chrome_spans *spans)
{
    struct trace_span span;
    struct trace_detail *detail;
    while (open_spans_pop_any(&spans->open, &span, &detail)) {
        int64_t last_ns = spans->tracks->tracks[span.id].last_ns;
        span.stop_ns = last_ns > span.stop_ns ? last_ns : span.stop_ns;
        span.flags |= TRACE_UNFINISHED;
        spans->unfinished++;
        (void)chrome_spans_add_span(spans, NULL, &span, detail);
        free(detail);
    }
}

/* ---- what is written ------------------------------------------------------------- */

/* "2 C (counters), 7 N (objects)". */
static void chrome_report_dropped(const struct chrome_spans *spans)
{
    static const struct {
        const char *phases, *what;
    } kinds[] = {{"NOD", " (objects)"},
                 {"P", " (samples)"},
                 {"vV", " (memory dumps)"},
                 {"c", " (clock marks)"},
                 {"()", " (contexts)"}};
    char list[512] = "";
    size_t used = 0;
    for (int phase = 0; phase < CHROME_PHASES && used < sizeof list - 64; phase++) {
        const char *what = "";
        if (!spans->dropped[phase])
            continue;
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            if (phase && strchr(kinds[i].phases, phase))
                what = kinds[i].what;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64 " ",
                                 used ? ", " : "", spans->dropped[phase]);
        used += phase > ' ' && phase < 0x7f
                    ? (size_t)snprintf(list + used, sizeof list - used, "%c%s", phase, what)
                    : (size_t)snprintf(list + used, sizeof list - used, "of no known phase");
    }
    if (used)
        message("%s: events dropped, by phase: %s", spans->opened->name, list);
}

bool chrome_spans_finish(struct chrome_spans *spans)
{
    /* Those of our own exports are added though nothing may be in them. */
    for (uint32_t i = 0; i < spans->tracks->process_map.count; i++)
        if (i < spans->tracks->process_room && spans->tracks->processes[i].is_own)
            (void)chrome_tracks_add_process(spans->tracks, i);
    end_open(spans);
    bool annotated =
        chrome_ranges_finish(&spans->ranges, spans->trace, &spans->spans, &spans->detail);
    chrome_flows_finish(&spans->flows, &spans->spans, spans->trace);
    bool sorted = sample_sorter_finish(&spans->samples, spans->trace);
    deferred_losses_emit(&spans->losses, spans->trace);
    bool whole = message_count(spans->opened->name, spans->bad_times,
                               "events have times that cannot be; dropped");
    whole &= message_count(spans->opened->name, spans->no_times, "events have no time; dropped");
    whole &= open_spans_report(&spans->open, spans->opened->name, spans->detail.cut);
    message_count(spans->opened->name, spans->not_numbers,
                  "values of counters are no numbers; dropped");
    message_count(spans->opened->name, spans->unfinished,
                  "begins have no end; shown until their thread's last");
    message_count(spans->opened->name, spans->flows.lone, "ends of flows lead nowhere; dropped");
    chrome_report_dropped(spans);
    spans->detail.failed |= spans->open.failed | spans->losses.failed;
    if (spans->detail.failed)
        message("%s: out of memory; arguments or losses are missing", spans->opened->name);
    return whole && sorted && annotated && !spans->flows.failed && !spans->detail.failed;
}
