/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome Trace JSON as a source of a trace: of PyTorch, Triton, iris,
 * warpscope and whatever else writes it.
 *
 * The text is read twice: the unit of times, the zero time and the names of
 * processes and threads may stand behind the events. Events are in no order,
 * so all spans go through a span_sorter, and flows along with them
 * (chrome_flows.h). Whatever is not understood is counted and told.
 */
#include "chrome_event.h"
#include "chrome_flows.h"
#include "id_texts.h"
#include "message.h"
#include "open_spans.h"
#include "thread_map.h"
#include "trace_filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum table { PROCESS_ID = 1, PROCESS_NAME, PROCESS_LABELS, TRACK_ID, TRACK_NAME };
/* Times above are microseconds since 1970, from 2001 on. */
#define SINCE_1970_NS (INT64_C(1000000000) * 1000000000)

struct chrome_process {
    uint64_t os_id;
    uint32_t number; /* of the trace, + 1; 0 not told yet */
};

struct chrome_track {
    uint32_t process; /* number in process_map */
    uint32_t number;  /* of the trace, + 1; 0 not told yet */
    bool async, gpu, is_number;
    uint64_t id;
    int64_t last_ns; /* latest time seen on it */
};

struct chrome_source {
    const char *name;
    struct chrome_unit unit;
    struct chrome_unit noted_unit; /* by which first_ns and last_ns were read */
    bool has_base, is_kineto, is_iris, odd_unit;
    struct id_texts texts;
    struct thread_map process_map, track_map;
    struct chrome_process *processes;
    struct chrome_track *tracks;
    uint32_t process_room, track_room;
    int64_t first_ns, last_ns; /* first > last: no event has a time */

    /* While it is read. */
    struct trace *trace;
    const struct trace_source *opened;
    int64_t zero_ns;
    struct trace_filter filter;
    struct span_sorter spans;
    struct chrome_flows flows;
    struct open_spans open;
    uint64_t events, counters, skipped, bad_times, no_times, strays, unfinished, backwards;
    uint64_t crowded; /* begins that found no room */
    bool failed;
};

/* An object with members, or an array of objects. */
static bool recognises(const uint8_t *head, size_t bytes)
{
    size_t at = 0;
    if (bytes >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    uint8_t first = 0;
    for (; at < bytes; at++) {
        if (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t')
            continue;
        if (first)
            return head[at] == (first == '{' ? '"' : '{') || (first == '[' && head[at] == ']') ||
                   (first == '{' && head[at] == '}');
        first = head[at];
        if (first != '{' && first != '[')
            return false;
    }
    return first != 0;
}

static void fail(struct chrome_source *source)
{
    if (!source->failed)
        message("%s: too many threads or out of memory; spans are missing", source->name);
    source->failed = true;
}

/* ---- processes and tracks -------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return id_hash(hash + bytes);
}

static uint64_t hash_id(uint64_t hash, const struct chrome_id *id)
{
    return hash_text(hash * 2 + id->is_number, id->text, id->bytes);
}

static struct trace_text id_text(const struct chrome_id *id)
{
    return (struct trace_text){id->text, id->bytes};
}

/* Of a number as it is written; 0 for others. */
static uint64_t id_number(const struct chrome_id *id)
{
    char copy[24];
    if (!id->is_number || id->bytes >= sizeof copy)
        return 0;
    memcpy(copy, id->text, id->bytes);
    copy[id->bytes] = '\0';
    return (uint64_t)strtoll(copy, NULL, 10);
}

/* THREAD_NONE when there is no room. */
static uint32_t find_process(struct chrome_source *source, const struct chrome_event *event)
{
    uint32_t known = source->process_map.count;
    uint32_t number =
        thread_map_place(&source->process_map, hash_id(1, &event->process), &source->processes,
                         &source->process_room, sizeof *source->processes);
    if (number == THREAD_NONE) {
        fail(source);
        return THREAD_NONE;
    }
    if (number == known) {
        uint64_t os_id = id_number(&event->process);
        source->processes[number].os_id = os_id < INT32_MAX ? os_id : 0;
        id_texts_set(&source->texts, PROCESS_ID, number, 0, id_text(&event->process));
    }
    return number;
}

static bool is_async(char phase)
{
    return phase == 'b' || phase == 'e' || phase == 'n';
}

static void name_track(struct chrome_source *source, const struct chrome_event *event,
                       uint32_t number)
{
    struct chrome_track *track = &source->tracks[number];
    struct trace_text text = track->async
                                 ? (struct trace_text){event->category, event->category_bytes}
                                 : id_text(&event->thread);
    track->is_number = !track->async && event->thread.is_number;
    track->id = track->is_number ? id_number(&event->thread) : UINT64_C(1) << 63 | number;
    id_texts_set(&source->texts, TRACK_ID, number, 0, text);
}

/* Asynchronous events have a track for each category of a process. NULL when there is no room. */
static struct chrome_track *find_track(struct chrome_source *source,
                                       const struct chrome_event *event, uint32_t *number_out)
{
    uint32_t process = find_process(source, event), known = source->track_map.count;
    if (process == THREAD_NONE)
        return NULL;
    bool async = is_async(event->phase);
    uint64_t hash = id_hash(process) * 2 + async;
    hash = async ? hash_text(hash, event->category, event->category_bytes)
                 : hash_id(hash, &event->thread);
    uint32_t number = thread_map_place(&source->track_map, hash, &source->tracks,
                                       &source->track_room, sizeof *source->tracks);
    if (number == THREAD_NONE) {
        fail(source);
        return NULL;
    }
    if (number == known) {
        source->tracks[number] =
            (struct chrome_track){.process = process, .async = async, .last_ns = INT64_MIN};
        name_track(source, event, number);
    }
    *number_out = number;
    return &source->tracks[number];
}

/* "node 3 python 4242": the node where it is known, the name or else the number. */
static uint32_t add_process(struct chrome_source *source, uint32_t number)
{
    char name[320], node[32] = "";
    const struct trace_facts *facts = &source->opened->facts;
    struct trace_text given = id_texts_get(&source->texts, PROCESS_NAME, number, 0);
    struct trace_text labels = id_texts_get(&source->texts, PROCESS_LABELS, number, 0);
    struct trace_text id = id_texts_get(&source->texts, PROCESS_ID, number, 0);
    if (facts->has_node)
        snprintf(node, sizeof node, "node %" PRIu32 " ", facts->node);
    bool labelled = labels.bytes > 0;
    snprintf(name, sizeof name, "%s%.*s %.*s%s%.*s%s", node, given.bytes ? (int)given.bytes : 7,
             given.bytes ? given.text : "process", (int)id.bytes, id.text, labelled ? " (" : "",
             labelled ? (int)labels.bytes : 0, labels.text, labelled ? ")" : "");
    return trace_add_process(source->trace,
                             (struct trace_process){.node = facts->node,
                                                    .os_id = source->processes[number].os_id,
                                                    .name = trace_text(name),
                                                    .source = trace_text(source->name)});
}

static uint32_t add_track(struct chrome_source *source, uint32_t number)
{
    char name[320];
    const struct chrome_track *track = &source->tracks[number];
    struct chrome_process *process = &source->processes[track->process];
    struct trace_text given = id_texts_get(&source->texts, TRACK_NAME, number, 0);
    struct trace_text id = id_texts_get(&source->texts, TRACK_ID, number, 0);
    const char *kind = track->async ? "async " : !track->is_number ? "" : "thread ";
    if (!process->number)
        process->number = add_process(source, track->process) + 1;
    if (given.bytes)
        snprintf(name, sizeof name, "%.*s", (int)given.bytes, given.text);
    else
        snprintf(name, sizeof name, "%s%.*s", kind, (int)id.bytes, id.bytes ? id.text : "");
    return trace_add_track(
        source->trace,
        (struct trace_track){.process = process->number - 1,
                             .kind = track->async ? TRACE_CHANNEL
                                     : track->gpu ? TRACE_GPU
                                                  : TRACE_THREAD,
                             .id = track->id,
                             .os_id = track->is_number && !track->gpu ? track->id : 0,
                             .name = trace_text(*name ? name : "events")});
}

/* ---- the whole text -------------------------------------------------------------- */

typedef void event_fn(struct chrome_source *source, const struct chrome_event *event);

static void read_events(struct chrome_source *source, struct json_scan *scan, event_fn *take)
{
    struct chrome_event event;
    for (;;) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END || token == JSON_ARRAY_END)
            return;
        if (token != JSON_OBJECT) {
            source->skipped++;
            json_scan_skip(scan, token);
        } else if (chrome_event_read(scan, source->unit, &event)) {
            source->events++;
            take(source, &event);
        }
        if (source->failed || (source->trace && trace_is_full(source->trace)))
            return;
    }
}

/* "raw cycles (s_memrealtime @ 100MHz)": a unit of 10 ns. Others must say what they are. */
static void take_unit(struct chrome_source *source, const struct json_scan *scan)
{
    char text[128];
    unsigned long mhz;
    snprintf(text, sizeof text, "%.*s", (int)scan->text_bytes, scan->text);
    const char *at = strchr(text, '@');
    if (at && strstr(text, "cycles") && (mhz = strtoul(at + 1, NULL, 10)) > 0 && mhz <= 100000 &&
        strstr(at, "MHz"))
        source->unit = (struct chrome_unit){1000, (uint32_t)mhz};
    else if (strcmp(text, "ns") == 0)
        source->unit = (struct chrome_unit){1, 1};
    else if (strcmp(text, "us") != 0 && strncmp(text, "microsec", 8) != 0)
        source->odd_unit = true;
    source->is_iris |= strstr(text, "memrealtime") != NULL;
}

static uint32_t take_u32(const struct json_scan *scan)
{
    int64_t value;
    return chrome_time(scan->text, scan->text_bytes, (struct chrome_unit){1, 1}, &value) &&
                   value >= 0 && value < UINT32_MAX
               ? (uint32_t)value
               : 0;
}

/* "metadata" and "distributedInfo": the rank, the number of ranks, the unit of times. */
static void take_about(struct chrome_source *source, struct json_scan *scan,
                       struct trace_facts *facts)
{
    uint32_t depth = scan->depth - 1;
    while (scan->depth > depth) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END)
            return;
        if (token != JSON_KEY)
            continue;
        bool rank = json_scan_is(scan, "rank"), unit = json_scan_is(scan, "time_unit");
        bool size = json_scan_is(scan, "world_size");
        token = json_scan_next(scan);
        json_scan_skip(scan, token);
        if (token == JSON_NUMBER && rank) {
            facts->has_node = true;
            facts->node = take_u32(scan);
        } else if (token == JSON_NUMBER && size) {
            facts->nodes = take_u32(scan);
        } else if (token == JSON_TEXT && unit) {
            take_unit(source, scan);
        }
    }
}

/* "otherData" of our own exports: what their times count from, and the zero time of their run. */
static void take_origin(struct chrome_source *source, struct json_scan *scan,
                        struct trace_facts *facts)
{
    static const char *const keys[] = {"origin_ns", "process.0.zero_time_ns", "process.0.shift_ns"};
    int64_t values[3] = {0};
    bool ours = false, found[3] = {false};
    for (uint32_t depth = scan->depth - 1; scan->depth > depth;) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END)
            return;
        if (token != JSON_KEY)
            continue;
        int key = 0;
        while (key < 3 && !json_scan_is(scan, keys[key]))
            key++;
        ours |= json_scan_is(scan, "rbwp.version");
        token = json_scan_next(scan);
        json_scan_skip(scan, token);
        if (key < 3 && token == JSON_TEXT)
            found[key] =
                chrome_time(scan->text, scan->text_bytes, (struct chrome_unit){1, 1}, &values[key]);
    }
    if (!ours || !found[0])
        return;
    source->has_base = true;
    facts->zero_ns = values[0];
    if (found[1] && found[2] && values[1] &&
        __builtin_add_overflow(values[1], values[2], &facts->run_zero_ns))
        facts->run_zero_ns = 0;
}

/* facts: NULL when they are known. */
static void take_member(struct chrome_source *source, struct json_scan *scan,
                        struct trace_facts *facts, event_fn *take)
{
    bool events = json_scan_is(scan, "traceEvents");
    bool base = json_scan_is(scan, "baseTimeNanoseconds");
    bool about = json_scan_is(scan, "metadata") || json_scan_is(scan, "distributedInfo");
    bool origin = json_scan_is(scan, "otherData");
    if (facts)
        source->is_kineto |= base || json_scan_is(scan, "deviceProperties");
    enum json_token token = json_scan_next(scan);
    if (events && token == JSON_ARRAY)
        read_events(source, scan, take);
    else if (facts && base && token == JSON_NUMBER)
        source->has_base =
            chrome_time(scan->text, scan->text_bytes, (struct chrome_unit){1, 1}, &facts->zero_ns);
    else if (facts && about && token == JSON_OBJECT)
        take_about(source, scan, facts);
    else if (facts && origin && token == JSON_OBJECT)
        take_origin(source, scan, facts);
    else
        json_scan_skip(scan, token);
}

static void read_text(struct chrome_source *source, struct json_scan *scan,
                      struct trace_facts *facts, event_fn *take)
{
    if (unpack_peek(&scan->bytes) == 0xef)
        (void)unpack_skip(&scan->bytes, 3); /* a byte order mark */
    enum json_token token = json_scan_next(scan);
    if (token == JSON_ARRAY)
        read_events(source, scan, take);
    while (token == JSON_OBJECT && !source->failed) {
        enum json_token member = json_scan_next(scan);
        if (member == JSON_END || member == JSON_OBJECT_END)
            break;
        if (member == JSON_KEY)
            take_member(source, scan, facts, take);
    }
    if (scan->depth == 0)
        (void)json_scan_next(scan); /* there should be nothing, which it tells */
}

/* ---- opening: names and facts ---------------------------------------------------- */

static bool name_is(const struct chrome_event *event, const char *name)
{
    return strlen(name) == event->name_bytes && memcmp(event->name, name, event->name_bytes) == 0;
}

static bool category_is(const struct chrome_event *event, const char *category)
{
    return strlen(category) == event->category_bytes &&
           memcmp(event->category, category, event->category_bytes) == 0;
}

static bool category_ends(const struct chrome_event *event, const char *end)
{
    size_t bytes = strlen(end);
    return event->category_bytes >= bytes &&
           memcmp(event->category + event->category_bytes - bytes, end, bytes) == 0;
}

static uint8_t category_of(const struct chrome_event *event)
{
    if (category_is(event, "kernel") || category_is(event, "gpu_user_annotation"))
        return TRACE_GPU_WORK;
    if (category_is(event, "gpu_memcpy") || category_is(event, "gpu_memset"))
        return TRACE_COPY;
    if (category_ends(event, "_runtime") || category_ends(event, "_driver"))
        return TRACE_CALLED;
    return TRACE_OTHER;
}

static void note_metadata(struct chrome_source *source, const struct chrome_event *event)
{
    uint32_t number;
    struct trace_text text = {event->argument, event->argument_bytes};
    bool process = name_is(event, "process_name"), labels = name_is(event, "process_labels");
    if (text.bytes == 0)
        return;
    if (process || labels) {
        number = find_process(source, event);
        if (number != THREAD_NONE)
            id_texts_set(&source->texts, process ? PROCESS_NAME : PROCESS_LABELS, number, 0, text);
    } else if (name_is(event, "thread_name") && find_track(source, event, &number)) {
        id_texts_set(&source->texts, TRACK_NAME, number, 0, text);
    }
}

static void note_event(struct chrome_source *source, const struct chrome_event *event)
{
    uint32_t number;
    if (event->phase == 'M') {
        note_metadata(source, event);
        return;
    }
    if (!event->phase || !strchr("XBEiIbensft", event->phase))
        return;
    struct chrome_track *track = find_track(source, event, &number);
    if (!track || !event->has_time)
        return;
    uint8_t category = event->phase == 'X' ? category_of(event) : TRACE_OTHER;
    track->gpu |= category == TRACE_GPU_WORK || category == TRACE_COPY;
    source->noted_unit = source->unit;
    int64_t last_ns = event->time_ns + (event->has_duration ? event->duration_ns : 0);
    source->first_ns = event->time_ns < source->first_ns ? event->time_ns : source->first_ns;
    source->last_ns = last_ns > source->last_ns ? last_ns : source->last_ns;
}

/* The unit may have stood behind the events: their times were taken for microseconds then. */
static void correct_unit(struct chrome_source *source)
{
    struct chrome_unit before = source->noted_unit, now = source->unit;
    if (before.denominator == 0 ||
        (before.numerator == now.numerator && before.denominator == now.denominator))
        return;
    long double factor = (long double)now.numerator / now.denominator /
                         ((long double)before.numerator / before.denominator);
    source->first_ns = (int64_t)((long double)source->first_ns * factor);
    source->last_ns = (int64_t)((long double)source->last_ns * factor);
}

static void finish_facts(struct chrome_source *source, struct trace_facts *facts)
{
    bool timed = source->first_ns <= source->last_ns;
    bool in_us = source->unit.numerator == 1000 && source->unit.denominator == 1;
    int64_t first_ns;
    if (!source->has_base || facts->zero_ns < 0 ||
        __builtin_add_overflow(facts->zero_ns, timed ? source->first_ns : 0, &first_ns) ||
        first_ns > INT64_MAX / 2) {
        facts->zero_ns = 0;
        source->has_base = false;
    }
    facts->wall_clock = source->has_base || (timed && in_us && source->first_ns >= SINCE_1970_NS);
    facts->has_zero = facts->wall_clock;
    facts->first_ns = facts->zero_ns + (timed ? source->first_ns : 0);
    facts->last_ns = timed ? facts->zero_ns + source->last_ns : 0;
    if (source->odd_unit)
        message("%s: its unit of time is not known; it is taken for microseconds", source->name);
}

static void free_source(struct chrome_source *source)
{
    id_texts_free(&source->texts);
    thread_map_free(&source->process_map);
    thread_map_free(&source->track_map);
    free(source->processes);
    free(source->tracks);
    free(source);
}

/* True when it has events, or nothing at all is wrong with it. */
static bool note_all(struct chrome_source *source, int fd, struct trace_facts *facts)
{
    struct json_scan *scan = malloc(sizeof *scan);
    if (!scan || !json_scan_start(scan, fd)) {
        free(scan);
        message("out of memory");
        return false;
    }
    read_text(source, scan, facts, note_event);
    correct_unit(source);
    bool good = source->events > 0 || !*scan->problem;
    if (!good)
        message("%s: no Chrome JSON: %s", source->name, scan->problem);
    json_scan_stop(scan);
    free(scan);
    return good;
}

static bool open_chrome(struct trace_source *opened)
{
    struct chrome_source *source = calloc(1, sizeof *source);
    if (!source) {
        message("out of memory");
        return false;
    }
    source->name = opened->name;
    source->unit = (struct chrome_unit){1000, 1};
    source->first_ns = INT64_MAX;
    source->last_ns = INT64_MIN;
    if (!note_all(source, opened->fd, &opened->facts)) {
        free_source(source);
        return false;
    }
    finish_facts(source, &opened->facts);
    opened->state = source;
    return true;
}

static enum exit_code close_chrome(struct trace_source *opened)
{
    free_source(opened->state);
    return EXIT_GOOD;
}

/* ---- spans ----------------------------------------------------------------------- */

static void add_span(struct chrome_source *source, struct trace_span *span)
{
    if (!trace_filter_takes(&source->filter, source->trace, span) ||
        !trace_filter_clip(&source->filter, span))
        return;
    span->id = trace_new_ids(source->trace, 1);
    span_sorter_add(&source->spans, span);
}

static struct trace_span make_span(struct chrome_source *source, const struct chrome_event *event,
                                   const struct chrome_track *track)
{
    int64_t start_ns = source->zero_ns + event->time_ns;
    bool named = event->name_bytes > 0;
    return (struct trace_span){
        .start_ns = start_ns,
        .stop_ns = start_ns,
        .track = track->number - 1,
        .name = trace_add_name(source->trace, named ? event->name : "unnamed",
                               named ? event->name_bytes : 7),
        .category = category_of(event),
    };
}

/* What its begin and its end share: the track, or category and id. */
static uint64_t open_key(const struct chrome_event *event, uint32_t track)
{
    if (!is_async(event->phase))
        return track;
    uint64_t key = hash_text(2, event->category, event->category_bytes);
    key = hash_id(key, &event->id);
    return event->id_is_local ? hash_id(key, &event->process) : key;
}

static uint64_t flow_key(const struct chrome_event *event)
{
    uint64_t key = hash_text(3, event->category, event->category_bytes);
    return hash_id(hash_text(key, event->name, event->name_bytes), &event->id);
}

static void take_whole(struct chrome_source *source, const struct chrome_event *event,
                       struct chrome_track *track)
{
    struct trace_span span = make_span(source, event, track);
    if (event->phase == 'X' && event->duration_ns < 0)
        source->backwards++;
    else if (event->phase == 'X')
        span.stop_ns += event->duration_ns;
    else
        span.flags = TRACE_INSTANT;
    track->last_ns = span.stop_ns > track->last_ns ? span.stop_ns : track->last_ns;
    add_span(source, &span);
}

static void take_end(struct chrome_source *source, const struct chrome_event *event, uint64_t key)
{
    struct trace_span span;
    int64_t stop_ns = source->zero_ns + event->time_ns;
    if (!open_spans_pop(&source->open, key, &span)) {
        source->strays++;
        return;
    }
    source->backwards += stop_ns < span.start_ns;
    span.stop_ns = stop_ns < span.start_ns ? span.start_ns : stop_ns;
    add_span(source, &span);
}

static void take_flow(struct chrome_source *source, const struct chrome_event *event,
                      const struct chrome_track *track)
{
    enum flow_shape shape = event->phase == 's'     ? FLOW_START
                            : event->phase == 't'   ? FLOW_STEP
                            : event->binding == 'e' ? FLOW_END
                                                    : FLOW_END_AT_NEXT;
    chrome_flows_mark(&source->spans, track->number - 1, source->zero_ns + event->time_ns,
                      flow_key(event), shape);
}

static void take_timed(struct chrome_source *source, const struct chrome_event *event)
{
    uint32_t number;
    struct chrome_track *track = find_track(source, event, &number);
    if (!track)
        return;
    if (!track->number)
        track->number = add_track(source, number) + 1;
    int64_t time_ns = source->zero_ns + event->time_ns;
    track->last_ns = time_ns > track->last_ns ? time_ns : track->last_ns;
    uint64_t key = open_key(event, number);
    switch (event->phase) {
    case 'B':
    case 'b': {
        struct trace_span span = make_span(source, event, track);
        span.id = number; /* until it ends */
        source->crowded += !open_spans_push(&source->open, key, &span);
        break;
    }
    case 'E':
    case 'e':
        take_end(source, event, key);
        break;
    case 's':
    case 't':
    case 'f':
        take_flow(source, event, track);
        break;
    default:
        take_whole(source, event, track);
    }
}

static void take_event(struct chrome_source *source, const struct chrome_event *event)
{
    bool known = event->phase && strchr("XBEiIbensft", event->phase);
    if (event->phase == 'M')
        return;
    if (event->phase == 'C')
        source->counters++;
    else if (!known)
        source->skipped++;
    else if (event->bad_time)
        source->bad_times++;
    else if (!event->has_time)
        source->no_times++;
    else
        take_timed(source, event);
}

/* Begins without an end last until the latest time of their track. */
static void end_open(struct chrome_source *source)
{
    struct trace_span span;
    while (open_spans_pop_any(&source->open, &span)) {
        int64_t last_ns = source->tracks[span.id].last_ns;
        span.stop_ns = last_ns > span.stop_ns ? last_ns : span.stop_ns;
        span.flags |= TRACE_UNFINISHED;
        source->unfinished++;
        add_span(source, &span);
    }
}

/* ---- reading --------------------------------------------------------------------- */

static bool tell(const struct chrome_source *source, uint64_t count, const char *what)
{
    if (count)
        message("%s: %" PRIu64 " %s", source->name, count, what);
    return count == 0;
}

static enum exit_code report(const struct chrome_source *source, const struct json_scan *scan)
{
    bool whole = tell(source, source->bad_times, "events have times that cannot be; left out");
    whole &= tell(source, source->no_times, "events have no time; left out");
    whole &= tell(source, source->backwards, "events end before they begin; shown as points");
    whole &= tell(source, source->strays, "ends have no begin; left out");
    whole &= tell(source, source->crowded,
                  "begins are too many to be open at once, or for the memory; left out");
    (void)tell(source, source->unfinished, "begins have no end; shown until their thread's last");
    (void)tell(source, source->flows.lone, "ends of flows lead nowhere; left out");
    (void)tell(source, source->counters, "counter values are left out");
    (void)tell(source, source->skipped, "events of other kinds are left out");
    if (source->texts.full)
        message("%s: too many names, or out of memory; some are shown as numbers", source->name);
    if (*scan->problem)
        message("%s: %s; what follows cannot be read", source->name, scan->problem);
    else if (scan->open_ended && scan->depth > 1)
        message("%s: cut inside an event or behind the events", source->name);
    whole &= !*scan->problem && !(scan->open_ended && scan->depth > 1) && !source->texts.full;
    return whole && !source->failed && !source->flows.failed ? EXIT_GOOD : EXIT_PARTLY;
}

static void add_facts(const struct chrome_source *source, const struct trace_read_options *options)
{
    const char *dialect = source->is_kineto ? "PyTorch" : source->is_iris ? "iris" : "Chrome";
    for (uint32_t i = 0; i < source->process_map.count && i < source->process_room; i++) {
        char key[64];
        if (!source->processes[i].number)
            continue;
        uint32_t number = source->processes[i].number - 1;
        snprintf(key, sizeof key, "process.%" PRIu32 ".file", number);
        trace_add_fact(source->trace, key, "%s", source->name);
        snprintf(key, sizeof key, "process.%" PRIu32 ".format", number);
        trace_add_fact(source->trace, key, "%s JSON", dialect);
        snprintf(key, sizeof key, "process.%" PRIu32 ".shift_ns", number);
        trace_add_fact(source->trace, key, "%" PRId64, options->shift_ns);
        snprintf(key, sizeof key, "process.%" PRIu32 ".zero_time_ns", number);
        trace_add_fact(source->trace, key, "%" PRId64, source->opened->facts.zero_ns);
    }
}

static enum exit_code read_chrome(struct trace_source *opened, struct trace *trace,
                                  const struct trace_read_options *options)
{
    struct chrome_source *source = opened->state;
    struct json_scan *scan = malloc(sizeof *scan);
    if (!scan || !json_scan_start(scan, opened->fd)) {
        free(scan);
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    source->trace = trace;
    source->opened = opened;
    source->zero_ns = opened->facts.zero_ns + options->shift_ns;
    source->events = source->skipped = 0;
    trace_filter_start(&source->filter, options, opened->facts.first_ns + options->shift_ns);
    span_sorter_start(&source->spans);
    chrome_flows_start(&source->flows);
    read_text(source, scan, NULL, take_event);
    end_open(source);
    chrome_flows_finish(&source->flows, &source->spans, trace);
    enum exit_code code = report(source, scan);
    add_facts(source, options);
    span_sorter_stop(&source->spans);
    chrome_flows_stop(&source->flows);
    open_spans_free(&source->open);
    json_scan_stop(scan);
    free(scan);
    return code;
}

const struct trace_format trace_format_chrome = {
    .name = "Chrome JSON",
    .recognises = recognises,
    .open = open_chrome,
    .read = read_chrome,
    .close = close_chrome,
};
