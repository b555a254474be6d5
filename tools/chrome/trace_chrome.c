/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome Trace JSON as a source of a trace: of PyTorch, Triton, iris,
 * warpscope, browsers, compilers and whatever else writes it.
 *
 * The text is read twice: the unit of times, the zero time and the names of
 * processes and threads may stand behind the events.
 */
#include "chrome_spans.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- chrome document ------------------------------------------------------------------------- */
/*
 * The whole text of Chrome JSON: an array of events, or an object with one.
 *
 * Other programs write JSON, too. What has no events is not taken for a trace
 * without any, but recognised as what it looks like.
 *
 * Members are known by name; what none of them is, is skipped.
 */

/* ---- what the times of Chrome JSON count, and from when -------------------------------------- */

enum chrome_dialect {
    CHROME_ANY,
    CHROME_PYTORCH,
    CHROME_IRIS,
    CHROME_CLANG,
    CHROME_NODE,
    CHROME_OURS
};

struct chrome_clock {
    struct chrome_unit unit;
    struct chrome_unit noted_unit; /* by which first_ns and last_ns were read */
    enum chrome_dialect dialect;
    bool has_base, odd_unit;
    bool from_base;            /* times count from a base that is written as PyTorch does */
    int64_t origin_ns;         /* of our own exports: where the trace begins */
    bool monotonic;            /* it is the clock that counts since the machine was started */
    int64_t first_ns, last_ns; /* of events; first > last: none has a time */
};

/* ---- what PyTorch's profiler says of GPUs beside events ("deviceProperties") ---------------- */

enum { CHROME_GPUS_MAX = 64 };

/* Zero is none. */
struct chrome_gpus {
    struct chrome_gpu {
        uint32_t id;
        char name[128];
        uint64_t multiprocessors, memory_bytes; /* 0: not known */
    } gpus[CHROME_GPUS_MAX];
    uint32_t count;
};

/* ---- chrome document ------------------------------------------------------------------------- */

struct chrome_document {
    struct chrome_clock *clock;
    struct trace_facts *facts; /* filled from what stands beside the events; NULL: they are known */
    struct chrome_gpus *gpus;  /* the same */
    /* False when no more is wanted. */
    bool (*take)(void *context, const struct chrome_event *event);
    void *context;
    struct chrome_args args; /* of one event; chrome_document_free frees them */

    /* What was seen. */
    bool has_events;         /* an array for them, empty or not */
    uint64_t events, others; /* others: elements of it that are no objects */
    uint64_t phases;         /* events that have one */
    uint32_t signs;          /* of other programs' JSON, bits */
    bool enough;
};

/* ---- what the times of Chrome JSON count, and from when -------------------------------------- */
/*
 * Times are microseconds of some clock. What says more stands anywhere in the
 * text: a base (PyTorch, clang, our own exports), a unit (iris), the name of
 * the clock (Chromium), the program that wrote it (Node). Times since 1970 are
 * recognised by their size.
 *
 * One reader of an object's members; a table says what they mean.
 */

/* Times above are microseconds since 1970, from 2001 on. */
#define SINCE_1970_NS (INT64_C(1000000000) * 1000000000)

/* "Chrome", "PyTorch" ... */
static const char *const chrome_dialect_name[] = {"Chrome", "PyTorch", "iris",
                                                  "clang",  "Node",    "RBWP's Chrome"};

static const struct chrome_unit nanoseconds = {1, 1}, microseconds = {1000, 1};

/* ---- what members say ------------------------------------------------------------ */

/* "raw cycles (s_memrealtime @ 100MHz)": a unit of 10 ns. Others must say what they are. */
static void take_unit(struct chrome_clock *clock, const struct json_scan *scan)
{
    char text[128];
    unsigned long mhz;
    snprintf(text, sizeof text, "%.*s", (int)scan->text_bytes, scan->text);
    const char *at = strchr(text, '@');
    if (at && strstr(text, "cycles") && (mhz = strtoul(at + 1, NULL, 10)) > 0 && mhz <= 100000 &&
        strstr(at, "MHz"))
        clock->unit = (struct chrome_unit){1000, (uint32_t)mhz};
    else if (strcmp(text, "ns") == 0)
        clock->unit = nanoseconds;
    else if (strcmp(text, "us") != 0 && strncmp(text, "microsec", 8) != 0)
        clock->odd_unit = true;
    if (strstr(text, "memrealtime"))
        clock->dialect = CHROME_IRIS;
}

static uint32_t take_u32(const struct json_scan *scan)
{
    int64_t value;
    return chrome_time(scan->text, scan->text_bytes, nanoseconds, &value) && value >= 0 &&
                   value < UINT32_MAX
               ? (uint32_t)value
               : 0;
}

/* "metadata" and "distributedInfo": the rank, the number of ranks, the unit or name of the clock.
 */
static void take_about(struct chrome_clock *clock, struct json_scan *scan,
                       struct trace_facts *facts)
{
    while (json_scan_next(scan) == JSON_KEY) {
        bool rank = json_scan_is(scan, "rank"), unit = json_scan_is(scan, "time_unit");
        bool size = json_scan_is(scan, "world_size"), domain = json_scan_is(scan, "clock-domain");
        enum json_token token = json_scan_next(scan);
        json_scan_skip(scan, token);
        if (token == JSON_NUMBER && rank) {
            facts->has_node = true;
            facts->node = take_u32(scan);
        } else if (token == JSON_NUMBER && size) {
            facts->nodes = take_u32(scan);
        } else if (token == JSON_TEXT && unit) {
            take_unit(clock, scan);
        } else if (token == JSON_TEXT && domain) {
            clock->monotonic = json_scan_is(scan, "LINUX_CLOCK_MONOTONIC");
        }
    }
}

/* "otherData" of our own exports: what their times count from, and the zero time of their run. */
static void take_origin(struct chrome_clock *clock, struct json_scan *scan,
                        struct trace_facts *facts)
{
    static const char *const keys[] = {"origin_ns", "process.0.zero_time_ns", "process.0.shift_ns"};
    int64_t values[3] = {0};
    bool ours = false, found[3] = {false};
    enum json_token token;
    while ((token = json_scan_next(scan)) == JSON_KEY) {
        int key = 0;
        while (key < 3 && !json_scan_is(scan, keys[key]))
            key++;
        ours |= json_scan_is(scan, "rbwp.version");
        made_of_note(&facts->made_of, (struct trace_text){scan->text, (uint32_t)scan->text_bytes});
        token = json_scan_next(scan);
        json_scan_skip(scan, token);
        if (key < 3 && token == JSON_TEXT)
            found[key] = chrome_time(scan->text, scan->text_bytes, nanoseconds, &values[key]);
    }
    if (token == JSON_END)
        return;
    if (!ours)
        facts->made_of.count = 0;
    if (!ours || !found[0])
        return;
    clock->has_base = true;
    clock->dialect = CHROME_OURS;
    clock->origin_ns = values[0];
    if (!clock->from_base)
        facts->zero_ns = values[0];
    facts->has_node = false; /* its processes have their nodes */
    facts->nodes = 0;
    if (found[1] && found[2] && values[1] &&
        __builtin_add_overflow(values[1], values[2], &facts->run_zero_ns))
        facts->run_zero_ns = 0;
}

/* A member of the whole text, whose value is next, taken for what it says. False if it says
 * nothing of times; then nothing was taken. */
static bool chrome_clock_member(struct chrome_clock *clock, struct json_scan *scan,
                                struct trace_facts *facts)
{
    bool base = json_scan_is(scan, "baseTimeNanoseconds");
    bool beginning = json_scan_is(scan, "beginningOfTime");
    bool origin = json_scan_is(scan, "otherData");
    bool devices = json_scan_is(scan, "deviceProperties");
    bool about = json_scan_is(scan, "metadata") || json_scan_is(scan, "distributedInfo");
    if ((base || devices) && clock->dialect != CHROME_OURS)
        clock->dialect = CHROME_PYTORCH;
    clock->from_base |= base;
    if (beginning)
        clock->dialect = CHROME_CLANG;
    if (!base && !beginning && !origin && !about)
        return false;
    enum json_token token = json_scan_next(scan);
    if ((base || beginning) && token == JSON_NUMBER)
        clock->has_base = chrome_time(scan->text, scan->text_bytes,
                                      base ? nanoseconds : microseconds, &facts->zero_ns);
    else if (about && token == JSON_OBJECT)
        take_about(clock, scan, facts);
    else if (origin && token == JSON_OBJECT)
        take_origin(clock, scan, facts);
    else
        json_scan_skip(scan, token);
    return true;
}

/* Node's tracing says what it is in an event named "node"; its times are of uv_hrtime. */
static void chrome_clock_metadata(struct chrome_clock *clock, const struct chrome_event *event)
{
    if (!chrome_event_is(event, "node") || !chrome_event_has_category(event, "__metadata"))
        return;
    clock->dialect = CHROME_NODE;
    clock->monotonic = true;
}

/* ---- events ---------------------------------------------------------------------- */

static void chrome_clock_note(struct chrome_clock *clock, const struct chrome_event *event)
{
    clock->noted_unit = clock->unit;
    int64_t last_ns = event->time_ns + (event->has_duration ? event->duration_ns : 0);
    clock->first_ns = event->time_ns < clock->first_ns ? event->time_ns : clock->first_ns;
    clock->last_ns = last_ns > clock->last_ns ? last_ns : clock->last_ns;
}

/* The unit may have stood behind the events: their times were taken for microseconds then. */
static void correct_unit(struct chrome_clock *clock)
{
    struct chrome_unit before = clock->noted_unit, now = clock->unit;
    if (before.denominator == 0 ||
        (before.numerator == now.numerator && before.denominator == now.denominator))
        return;
    long double factor = (long double)now.numerator / now.denominator /
                         ((long double)before.numerator / before.denominator);
    clock->first_ns = (int64_t)((long double)clock->first_ns * factor);
    clock->last_ns = (int64_t)((long double)clock->last_ns * factor);
}

/* When all was seen. */
static void chrome_clock_finish(struct chrome_clock *clock, struct trace_facts *facts,
                                const char *name)
{
    correct_unit(clock);
    bool timed = clock->first_ns <= clock->last_ns;
    bool in_us = clock->unit.numerator == 1000 && clock->unit.denominator == 1;
    int64_t first_ns;
    if (!clock->has_base || facts->zero_ns < 0 ||
        __builtin_add_overflow(facts->zero_ns, timed ? clock->first_ns : 0, &first_ns) ||
        first_ns > INT64_MAX / 2) {
        facts->zero_ns = 0;
        clock->has_base = false;
    }
    facts->wall_clock = clock->has_base || (timed && in_us && clock->first_ns >= SINCE_1970_NS);
    facts->has_zero = facts->wall_clock;
    facts->has_monotonic = clock->monotonic && !facts->wall_clock && timed;
    bool ours = clock->dialect == CHROME_OURS; /* they begin at their origin, whatever is in them */
    facts->first_ns = facts->zero_ns + (timed && !ours ? clock->first_ns : 0);
    if (ours && clock->from_base && clock->has_base)
        facts->first_ns = clock->origin_ns;
    facts->last_ns = timed ? facts->zero_ns + clock->last_ns : 0;
    if (clock->odd_unit)
        message("%s: its unit of time is not known; it is taken for microseconds", name);
}

/* ---- what PyTorch's profiler says of GPUs beside events ("deviceProperties") ---------------- */

static uint64_t chrome_document_number_of(const struct json_scan *scan)
{
    char text[32];
    size_t bytes = scan->text_bytes < sizeof text - 1 ? scan->text_bytes : sizeof text - 1;
    memcpy(text, scan->text, bytes);
    text[bytes] = '\0';
    return text[0] == '-' ? 0 : strtoull(text, NULL, 10);
}

static void take_value(struct chrome_gpu *gpu, const char *what, enum json_token token,
                       const struct json_scan *scan)
{
    if (token == JSON_TEXT && strcmp(what, "name") == 0)
        snprintf(gpu->name, sizeof gpu->name, "%.*s", (int)scan->text_bytes, scan->text);
    if (token != JSON_NUMBER)
        return;
    if (strcmp(what, "id") == 0)
        gpu->id = (uint32_t)chrome_document_number_of(scan);
    else if (strcmp(what, "numSms") == 0)
        gpu->multiprocessors = chrome_document_number_of(scan);
    else if (strcmp(what, "totalGlobalMem") == 0)
        gpu->memory_bytes = chrome_document_number_of(scan);
}

/* False: it ends in the middle. */
static bool read_gpu(struct chrome_gpu *gpu, struct json_scan *scan)
{
    static const char *const keys[] = {"id", "name", "numSms", "totalGlobalMem", ""};
    enum json_token token;
    while ((token = json_scan_next(scan)) == JSON_KEY) {
        int key = 0;
        while (*keys[key] && !json_scan_is(scan, keys[key]))
            key++;
        token = json_scan_next(scan);
        take_value(gpu, keys[key], token, scan);
        json_scan_skip(scan, token);
    }
    return token == JSON_OBJECT_END;
}

/* The member's value comes next. */
static void chrome_gpus_read(struct chrome_gpus *gpus, struct json_scan *scan)
{
    enum json_token token = json_scan_next(scan);
    if (token != JSON_ARRAY) {
        json_scan_skip(scan, token);
        return;
    }
    while ((token = json_scan_next(scan)) != JSON_ARRAY_END && token != JSON_END) {
        struct chrome_gpu gpu = {0};
        if (token != JSON_OBJECT) {
            json_scan_skip(scan, token);
            continue;
        }
        if (!read_gpu(&gpu, scan))
            return;
        if (gpus->count < CHROME_GPUS_MAX)
            gpus->gpus[gpus->count++] = gpu;
    }
}

/* As facts of a process of the trace, as those of RBWP files. */
static void chrome_gpus_add_facts(const struct chrome_gpus *gpus, struct trace *trace,
                                  uint32_t process)
{
    char key[64];
    for (uint32_t i = 0; i < gpus->count; i++) {
        const struct chrome_gpu *gpu = &gpus->gpus[i];
#define FACT(what, ...)                                                                            \
    do {                                                                                           \
        snprintf(key, sizeof key, "process.%" PRIu32 ".gpu.%" PRIu32 "." what, process, gpu->id);  \
        trace_add_fact(trace, key, __VA_ARGS__);                                                   \
    } while (0)
        if (*gpu->name)
            FACT("name", "%s", gpu->name);
        if (gpu->multiprocessors)
            FACT("multiprocessors", "%" PRIu64, gpu->multiprocessors);
        if (gpu->memory_bytes)
            FACT("memory_bytes", "%" PRIu64, gpu->memory_bytes);
#undef FACT
    }
}

/* ---- chrome document ------------------------------------------------------------------------- */

/* An object with members, or an array of objects. */
static bool chrome_document_recognises(const uint8_t *head, size_t bytes)
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

/* ---- reading --------------------------------------------------------------------- */

static void read_events(struct chrome_document *document, struct json_scan *scan)
{
    struct chrome_event event = {.args = &document->args};
    document->has_events = true;
    while (!document->enough) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END || token == JSON_ARRAY_END)
            return;
        if (token != JSON_OBJECT) {
            document->others++;
            json_scan_skip(scan, token);
        } else if (chrome_event_read(scan, document->clock->unit, &event)) {
            document->events++;
            document->phases += event.phase != '\0';
            document->enough = !document->take(document->context, &event);
        }
    }
}

/* Members of JSON that is no trace of this kind. What comes first is the surer sign. */
static const struct {
    const char *member, *what;
} signs[] = {
    {"timeDeltas", "a CPU profile of V8 (.cpuprofile)"},
    {"snapshot", "a heap snapshot of V8"},
    {"libs", "a profile of the Firefox Profiler"}, /* before what it shares with the next */
    {"shared", "a speedscope file"},
    {"resourceSpans", "spans of OpenTelemetry"},
    {"blocks", "what rbwp dump writes; give the RBWP file itself"},
    {"thread_id", "what rbwp dump writes; give the RBWP file itself"},
    {"duration_ns", "what rbwp export --to=ndjson writes; give the file that it was made of"},
};
enum { SIGNS = sizeof signs / sizeof signs[0] };

static void take_member(struct chrome_document *document, struct json_scan *scan)
{
    bool events = json_scan_is(scan, "traceEvents");
    for (int i = 0; i < SIGNS; i++)
        if (json_scan_is(scan, signs[i].member))
            document->signs |= 1u << i;
    if (document->facts && chrome_clock_member(document->clock, scan, document->facts))
        return;
    if (document->gpus && json_scan_is(scan, "deviceProperties")) {
        chrome_gpus_read(document->gpus, scan);
        return;
    }
    enum json_token token = json_scan_next(scan);
    if (events && token == JSON_ARRAY)
        read_events(document, scan);
    else
        json_scan_skip(scan, token);
}

static void chrome_document_read(struct chrome_document *document, struct json_scan *scan)
{
    if (unpack_peek(&scan->bytes) == 0xef)
        (void)unpack_skip(&scan->bytes, 3); /* a byte order mark */
    enum json_token token = json_scan_next(scan);
    if (token == JSON_ARRAY)
        read_events(document, scan);
    while (token == JSON_OBJECT && !document->enough) {
        enum json_token member = json_scan_next(scan);
        if (member == JSON_END || member == JSON_OBJECT_END)
            break;
        if (member == JSON_KEY)
            take_member(document, scan);
    }
    if (scan->depth == 0)
        (void)json_scan_next(scan); /* there should be nothing, which it checks */
}

/* ---- what it is ------------------------------------------------------------------ */

/* After reading: whether it is Chrome JSON, or nothing is wrong with it. Else the message is given.
 */
static bool chrome_document_is_trace(const struct chrome_document *document,
                                     const struct json_scan *scan, const char *name)
{
    const char *looks = NULL;
    if (document->phases > 0 ||
        (document->has_events && document->events + document->others == 0 && !*scan->problem))
        return true;
    for (int i = SIGNS; i-- > 0;)
        if (document->signs >> i & 1)
            looks = signs[i].what;
    if (looks)
        message("%s: no Chrome JSON: it looks like %s", name, looks);
    else if (*scan->problem)
        message("%s: no Chrome JSON: %s", name, scan->problem);
    else
        message("%s: no Chrome JSON: %s", name,
                document->has_events ? "no element of its array is an event with a phase (\"ph\")"
                                     : "it has no array of traceEvents");
    trace_formats_list();
    return false;
}

/* ---- trace chrome ---------------------------------------------------------------------------- */

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
    chrome_args_free(&document.args);
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
    source->clock =
        (struct chrome_clock){.unit = microseconds, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
    if (!note_all(source, opened, &opened->facts)) {
        (void)close_chrome(opened);
        return false;
    }
    chrome_tracks_join(&source->tracks);
    chrome_clock_finish(&source->clock, &opened->facts, opened->name);
    return true;
}

/* ---- reading --------------------------------------------------------------------- */

static bool chrome_report_problems(const struct chrome_source *source, const struct json_scan *scan,
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
    bool have_gpus = false;
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
        if (!have_gpus)
            chrome_gpus_add_facts(&source->gpus, trace, number);
        have_gpus = true;
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
    whole &= chrome_report_problems(source, scan, opened->name);
    message_count(opened->name, document.others, "elements of its array are no events");
    chrome_add_facts(source, trace, opened, options);
    chrome_spans_free(reading.spans);
    chrome_args_free(&document.args);
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
