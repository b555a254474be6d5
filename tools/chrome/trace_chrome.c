/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome Trace JSON as a source of a trace: of PyTorch, Triton, iris,
 * warpscope, browsers, compilers and whatever else writes it.
 *
 * The text is read twice: the unit of times, the zero time and the names of
 * processes and threads may stand behind the events.
 */
#include "chrome_document.h"
#include "chrome_spans.h"
#include "importers.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct chrome_source {
    struct chrome_clock clock;
    struct chrome_tracks tracks;
    struct chrome_gpus gpus;
    bool has_launches; /* flows that lead from launches to kernels */
};

/* ---- opening: names and facts ---------------------------------------------------- */

static bool note_event(void *context, const struct chrome_event *event)
{
    struct chrome_source *source = context;
    uint32_t number;
    if (event->phase == 'M') {
        chrome_clock_metadata(&source->clock, event);
        chrome_tracks_name(&source->tracks, event);
    } else if (event->phase == 'C') {
        if (event->has_time)
            chrome_clock_note(&source->clock, event);
    } else if (chrome_spans_knows(event->phase)) {
        struct chrome_track *track = chrome_tracks_find(&source->tracks, event, &number);
        source->has_launches |= event->phase == 's' && chrome_spans_is_launch(event);
        if (track && event->has_time) {
            track->gpu |= chrome_spans_is_gpu(event);
            chrome_clock_note(&source->clock, event);
        }
    }
    return !source->tracks.full;
}

static bool note_all(struct chrome_source *source, const struct trace_source *opened,
                     struct trace_facts *facts)
{
    struct chrome_document document = {.clock = &source->clock,
                                       .facts = facts,
                                       .gpus = &source->gpus,
                                       .take = note_event,
                                       .context = source};
    struct json_scan *scan = malloc(sizeof *scan);
    if (!scan || !json_scan_start(scan, opened->fd)) {
        free(scan);
        return message_fail("out of memory");
    }
    chrome_document_read(&document, scan);
    bool good = chrome_document_is_trace(&document, scan, opened->name);
    if (document.args.failed) {
        message("out of memory");
        good = false;
    }
    chrome_document_free(&document);
    json_scan_stop(scan);
    free(scan);
    return good;
}

static enum exit_code close_chrome(struct trace_source *opened)
{
    struct chrome_source *source = opened->state;
    chrome_tracks_free(&source->tracks);
    free(source);
    return EXIT_GOOD;
}

static bool open_chrome(struct trace_source *opened)
{
    struct chrome_source *source = calloc(1, sizeof *source);
    if (!source)
        return message_fail("out of memory");
    opened->state = source;
    chrome_clock_start(&source->clock);
    if (!note_all(source, opened, &opened->facts)) {
        (void)close_chrome(opened);
        return false;
    }
    chrome_tracks_join(&source->tracks);
    chrome_clock_finish(&source->clock, &opened->facts, opened->name);
    return true;
}

/* ---- reading --------------------------------------------------------------------- */

static bool tell_problems(const struct chrome_source *source, const struct json_scan *scan,
                          const char *name)
{
    bool cut = scan->open_ended && scan->depth > 1;
    if (source->tracks.full)
        message("%s: too many threads or out of memory; spans are missing", name);
    if (source->tracks.texts.full)
        message("%s: too many names, or out of memory; some are shown as numbers", name);
    if (*scan->problem)
        message("%s: %s; what follows cannot be read", name, scan->problem);
    else if (cut)
        message("%s: cut inside an event or behind the events", name);
    return !*scan->problem && !cut && !source->tracks.full && !source->tracks.texts.full;
}

static void chrome_add_facts(const struct chrome_source *source, struct trace *trace,
                             const struct trace_source *opened,
                             const struct trace_read_options *options)
{
    const struct chrome_tracks *tracks = &source->tracks;
    bool told = false;
    made_of_add_facts(trace, &opened->facts.made_of, opened->name);
    for (uint32_t i = 0; i < tracks->process_map.count && i < tracks->process_room; i++) {
        if (!tracks->processes[i].number)
            continue;
        uint32_t number = tracks->processes[i].number - 1;
        trace_add_process_fact(trace, number, "file", "%s", opened->name);
        trace_add_process_fact(trace, number, "format", "%s JSON",
                               chrome_dialect_name[source->clock.dialect]);
        trace_add_process_fact(trace, number, "shift_ns", "%" PRId64, options->axis.shift_ns);
        trace_add_process_fact(trace, number, "zero_time_ns", "%" PRId64, opened->facts.zero_ns);
        if (!told)
            chrome_gpus_add_facts(&source->gpus, trace, number);
        told = true;
    }
}

struct reading {
    struct chrome_source *source;
    struct chrome_spans *spans;
    struct trace *trace;
};

static bool take_event(void *context, const struct chrome_event *event)
{
    struct reading *reading = context;
    chrome_spans_take(reading->spans, event);
    return !reading->source->tracks.full && !trace_is_full(reading->trace);
}

static enum exit_code read_chrome(struct trace_source *opened, struct trace *trace,
                                  const struct trace_read_options *options)
{
    struct chrome_source *source = opened->state;
    struct json_scan *scan = malloc(sizeof *scan);
    struct reading reading = {source, chrome_spans_start(&source->tracks, opened, trace, options),
                              trace};
    if (!scan || !reading.spans || !json_scan_start(scan, opened->fd)) {
        if (reading.spans)
            chrome_spans_free(reading.spans);
        free(scan);
        return message_bad_data("out of memory");
    }
    struct chrome_document document = {
        .clock = &source->clock, .take = take_event, .context = &reading};
    reading.spans->ours = source->clock.dialect == CHROME_OURS;
    reading.spans->kineto = reading.spans->ours && source->clock.from_base;
    reading.spans->by_correlation = !source->has_launches && !reading.spans->ours;
    chrome_document_read(&document, scan);
    reading.spans->detail.cut += document.args.cut;
    reading.spans->detail.failed |= document.args.failed;
    bool whole = chrome_spans_finish(reading.spans);
    whole &= tell_problems(source, scan, opened->name);
    message_count(opened->name, document.others, "elements of its array are no events");
    chrome_add_facts(source, trace, opened, options);
    chrome_spans_free(reading.spans);
    chrome_document_free(&document);
    json_scan_stop(scan);
    free(scan);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

const struct trace_format trace_format_chrome = {
    .name = "Chrome JSON",
    .files = "Chrome JSON (traceEvents)",
    .recognises = chrome_document_recognises,
    .open = open_chrome,
    .read = read_chrome,
    .close = close_chrome,
};
