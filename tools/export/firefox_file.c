/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file: version 63 of the processed profile format, which later viewers
 * upgrade. What several threads have is shared: names, frames, stacks.
 */
#include "firefox_profile.h"
#include "json_text.h"
#include "trace_span.h"
#include "track_order.h"

#include <stdio.h>
#include <stdlib.h>

#define FIREFOX_FORMAT_VERSION "63"

uint32_t firefox_stack_of(struct firefox *firefox, uint32_t prefix, uint32_t name, uint8_t category)
{
    uint32_t frame = thread_map_number(&firefox->frames, (uint64_t)name << 8 | category);
    if (frame == THREAD_NONE) {
        trace_pass_fail(firefox->pass);
        return FIREFOX_NONE;
    }
    uint32_t number =
        thread_map_place(&firefox->stacks, ((uint64_t)prefix + 1) << 32 | frame,
                         &firefox->stack_list, &firefox->stack_room, sizeof *firefox->stack_list);
    if (number == THREAD_NONE) {
        trace_pass_fail(firefox->pass);
        return FIREFOX_NONE;
    }
    firefox->stack_list[number] = (struct firefox_stack){prefix, frame};
    return number;
}

/* ---- pieces ------------------------------------------------------------------------ */

static void firefox_file_put_string(struct firefox *firefox, struct trace_text text)
{
    text = viewer_text(&firefox->text, text);
    json_string(spool_print_between(firefox->print), text.text, text.bytes);
}

/* ,"KEY":[VALUE,VALUE...] of the same value. */
static void put_same(struct out *out, const char *key, const char *value, uint32_t count)
{
    out_text(out, ",\n");
    json_key(out, key);
    for (uint32_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "[");
        out_text(out, value);
    }
    out_text(out, count ? "]" : "[]");
}

/* ,"KEY":[...] of the values of a stream. */
static void firefox_file_put_column(struct firefox *firefox, const char *key, uint32_t stream,
                                    value_text_fn *text)
{
    struct out *out = spool_print_between(firefox->print);
    out_text(out, ",\n");
    json_key(out, key);
    out_text(out, "[");
    spool_print_stream(firefox->print, stream, text);
    out_text(out, "]");
}

/* ---- what is shared ------------------------------------------------------------------ */

static void put_strings(struct firefox *firefox)
{
    struct out *out = spool_print_between(firefox->print);
    out_text(out, "\n\"stringArray\":[");
    for (uint32_t i = 0; i < firefox->name_count; i++) {
        out_text(out, i ? ",\n" : "\n");
        firefox_file_put_string(firefox, trace_name_of(firefox->pass->trace, i));
    }
    out_text(out, "]");
}

/* A frame has a function of its own. */
static void put_frames(struct firefox *firefox)
{
    struct out *out = spool_print_between(firefox->print);
    uint32_t count = firefox->frames.count;
    out_format(out, ",\n\"frameTable\":{\"length\":%u,\n\"category\":[", (unsigned)count);
    for (uint32_t i = 0; i < count; i++)
        out_format(out, i ? ",%u" : "%u", (unsigned)firefox_frame_category(firefox, i));
    out_text(out, "],\n\"func\":[");
    for (uint32_t i = 0; i < count; i++)
        out_format(out, i ? ",%u" : "%u", (unsigned)i);
    out_text(out, "]");
    put_same(out, "address", "-1", count);
    put_same(out, "inlineDepth", "0", count);
    put_same(out, "subcategory", "0", count);
    put_same(out, "nativeSymbol", "null", count);
    put_same(out, "innerWindowID", "0", count);
    put_same(out, "line", "null", count);
    put_same(out, "column", "null", count);
    out_format(out, "},\n\"funcTable\":{\"length\":%u,\n\"name\":[", (unsigned)count);
    for (uint32_t i = 0; i < count; i++)
        out_format(out, i ? ",%u" : "%u", (unsigned)firefox_frame_name(firefox, i));
    out_text(out, "]");
    put_same(out, "isJS", "false", count);
    put_same(out, "relevantForJS", "false", count);
    put_same(out, "resource", "-1", count);
    put_same(out, "source", "null", count);
    put_same(out, "lineNumber", "null", count);
    put_same(out, "columnNumber", "null", count);
    out_text(out, "}");
}

static void put_stacks(struct firefox *firefox)
{
    struct out *out = spool_print_between(firefox->print);
    uint32_t count = firefox->stacks.count;
    const struct firefox_stack *stacks = firefox->stack_list;
    out_format(out, ",\n\"stackTable\":{\"length\":%u,\n\"frame\":[", (unsigned)count);
    for (uint32_t i = 0; i < count; i++)
        out_format(out, i ? ",%u" : "%u", (unsigned)stacks[i].frame);
    out_text(out, "],\n\"prefix\":[");
    for (uint32_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        if (stacks[i].prefix == FIREFOX_NONE)
            out_text(out, "null");
        else
            out_u64(out, stacks[i].prefix);
    }
    out_text(out, "]}");
}

static void put_shared(struct firefox *firefox)
{
    struct out *out = spool_print_between(firefox->print);
    out_text(out, ",\n\"shared\":{");
    put_strings(firefox);
    put_frames(firefox);
    put_stacks(firefox);
    out_text(out,
             ",\n\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]}"
             ",\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
             "\"functionSize\":[]}"
             ",\n\"sources\":{\"length\":0,\"id\":[],\"filename\":[],\"startLine\":[],"
             "\"startColumn\":[],\"sourceMapURL\":[]}}");
}

/* ---- threads and counters -------------------------------------------------------------- */

/* What is written of each process: what its pid is, and where the first of its threads stands. */
struct place {
    uint32_t pid, first;
};

struct writing {
    struct firefox *firefox;
    struct viewer_ids ids;
    struct place *places; /* by process */
    uint32_t *order;      /* of rows */
    uint32_t threads, written;
};

/* Every thread that there will be is counted. Processes without spans have one, too: viewers open
 * no profile without any, and a counter is that of a thread. */
static void count_threads(struct writing *writing)
{
    const struct firefox *firefox = writing->firefox;
    for (uint32_t i = 0; i < firefox->row_count; i++) {
        const struct firefox_row *row = &firefox->rows[writing->order[i]];
        struct place *place = &writing->places[row->track.process];
        for (uint32_t lane = 0; lane < row->lane_count; lane++) {
            if (row->lanes[lane].begun && place->first == FIREFOX_NONE)
                place->first = writing->threads;
            writing->threads += row->lanes[lane].begun;
        }
    }
    for (uint32_t i = 0; i < firefox->process_count; i++)
        if (writing->places[i].first == FIREFOX_NONE)
            writing->places[i].first = writing->threads++;
}

static void put_title(struct firefox *firefox, const struct trace_track *track, uint32_t lane)
{
    enum { UNIT_BYTES = 64 };
    char title[VIEWER_TITLE_BYTES + UNIT_BYTES];
    struct trace_text above = {"", 0};
    if (track->parent != TRACE_NONE)
        above = trace_track_of(firefox->pass->trace, track->parent)->name;
    viewer_title(title, above, track->name, lane);
    if (track->unit.bytes && track->unit.bytes < UNIT_BYTES - 4) {
        size_t used = strlen(title);
        snprintf(title + used, sizeof title - used, " (%.*s)", (int)track->unit.bytes,
                 track->unit.text);
    }
    firefox_file_put_string(firefox, trace_text(title));
}

/* Everything of a thread but its name and tables. */
static void put_thread_head(struct writing *writing, uint32_t process, uint32_t tid)
{
    struct firefox *firefox = writing->firefox;
    struct out *out = spool_print_between(firefox->print);
    out_text(out, writing->written++ ? ",\n{\"processName\":" : "\n{\"processName\":");
    firefox_file_put_string(firefox, trace_process_of(firefox->pass->trace, process)->name);
    out_format(out,
               ",\"pid\":\"%u\",\"tid\":%u,\"processType\":\"default\",\"isMainThread\":false,"
               "\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
               "\"unregisterTime\":null,\"pausedRanges\":[],\"showMarkersInTimeline\":true,"
               "\"name\":",
               (unsigned)writing->places[process].pid, (unsigned)tid);
}

struct column {
    const char *key;
    enum firefox_stream stream;
    value_text_fn *text;
};

static void put_tables(struct firefox *firefox, const struct firefox_lane *lane)
{
    static const struct column markers[] = {
        {"data", MARKER_DATA, firefox_data},        {"name", MARKER_WHAT, firefox_names},
        {"startTime", MARKER_START, firefox_times}, {"endTime", MARKER_END, firefox_ends},
        {"phase", MARKER_WHAT, firefox_phases},     {"category", MARKER_WHAT, firefox_categories}};
    static const struct column samples[] = {{"stack", SAMPLE_STACK, firefox_stacks},
                                            {"time", SAMPLE_TIME, firefox_times},
                                            {"weight", SAMPLE_WEIGHT, firefox_lengths}};
    struct out *out = spool_print_between(firefox->print);
    out_text(out, ",\n\"markers\":{");
    json_u64(out, "length", lane->markers);
    for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++)
        firefox_file_put_column(firefox, markers[i].key, lane->streams + markers[i].stream,
                                markers[i].text);
    out_text(out, "},\n\"samples\":{\"weightType\":\"tracing-ms\",");
    json_u64(out, "length", lane->samples);
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        firefox_file_put_column(firefox, samples[i].key, lane->streams + samples[i].stream,
                                samples[i].text);
    out_text(out, "}}");
}

static void firefox_file_put_row(struct writing *writing, const struct firefox_row *row)
{
    for (uint32_t i = 0; i < row->lane_count; i++) {
        if (!row->lanes[i].begun)
            continue;
        uint64_t os_id = row->track.kind == TRACE_THREAD && i == 0 ? row->track.os_id : 0;
        put_thread_head(writing, row->track.process, viewer_tid(&writing->ids, os_id));
        put_title(writing->firefox, &row->track, i);
        put_tables(writing->firefox, &row->lanes[i]);
    }
}

static void put_threads(struct writing *writing)
{
    struct firefox *firefox = writing->firefox;
    out_text(spool_print_between(firefox->print), ",\n\"threads\":[");
    for (uint32_t i = 0; i < firefox->row_count; i++)
        firefox_file_put_row(writing, &firefox->rows[writing->order[i]]);
    /* Of one that did nothing, at the beginning: without any time a viewer has nothing to show. */
    for (uint32_t i = 0; i < firefox->process_count; i++)
        if (writing->places[i].first == writing->written) {
            struct out *out = spool_print_between(firefox->print);
            put_thread_head(writing, i, viewer_tid(&writing->ids, 0));
            out_text(out,
                     "\"no spans\",\n\"markers\":{\"length\":0,\"data\":[],\"name\":[],"
                     "\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[]},\n"
                     "\"samples\":{\"weightType\":\"tracing-ms\",\"length\":1,\"stack\":[null],"
                     "\"time\":[0.000000],\"weight\":[0.000000]}}");
        }
    out_text(spool_print_between(firefox->print), "]");
}

static void firefox_file_put_counter(const struct writing *writing, const struct firefox_row *row)
{
    struct firefox *firefox = writing->firefox;
    struct out *out = spool_print_between(firefox->print);
    const struct place *place = &writing->places[row->track.process];
    bool bytes = trace_text_is(row->track.unit, "bytes");
    const char *unit = bytes ? "bytes" : "";
    out_text(out, "{\"name\":");
    put_title(firefox, &row->track, 0);
    out_text(out, ",\"category\":\"rbwp\",\"description\":");
    firefox_file_put_string(firefox, row->track.unit);
    out_format(out, ",\"pid\":\"%u\",\"mainThreadIndex\":%u,", (unsigned)place->pid,
               (unsigned)place->first);
    out_format(out,
               "\"display\":{\"graphType\":\"line-accumulated\",\"unit\":\"%s\",\"color\":\"blue\","
               "\"markerSchemaLocation\":null,\"sortWeight\":50,\"label\":",
               unit);
    put_title(firefox, &row->track, 0);
    out_format(out,
               ",\"tooltipRows\":[{\"type\":\"value\",\"source\":\"accumulated\",\"format\":"
               "{\"unit\":\"%s\"},\"label\":\"above the least in sight\"}]},\n\"samples\":{",
               bytes ? "bytes" : "number");
    json_u64(out, "length", row->samples);
    firefox_file_put_column(firefox, "time", row->streams + COUNTER_TIME, firefox_times);
    firefox_file_put_column(firefox, "count", row->streams + COUNTER_CHANGE, spool_print_text);
    out_text(out, "}}");
}

static void put_counters(const struct writing *writing)
{
    struct firefox *firefox = writing->firefox;
    struct out *out = spool_print_between(firefox->print);
    bool any = false;
    out_text(out, ",\n\"counters\":[");
    for (uint32_t i = 0; i < firefox->row_count; i++) {
        const struct firefox_row *row = &firefox->rows[writing->order[i]];
        if (row->samples == 0)
            continue;
        out_text(out, any ? ",\n" : "\n");
        firefox_file_put_counter(writing, row);
        any = true;
    }
    out_text(out, "]");
}

/* ---- about the profile ------------------------------------------------------------------ */

static void firefox_file_put_categories(struct out *out)
{
    static const char *const colors[TRACE_CATEGORIES] = {
        [TRACE_CALL] = "blue",      [TRACE_AM] = "orange",        [TRACE_XFER] = "yellow",
        [TRACE_DEPPART] = "purple", [TRACE_REAP] = "lightblue",   [TRACE_WAITING] = "transparent",
        [TRACE_SUB_ITEM] = "brown", [TRACE_GPU_WORK] = "green",   [TRACE_TASK] = "blue",
        [TRACE_CALLED] = "orange",  [TRACE_WAIT] = "transparent", [TRACE_COPY] = "yellow",
        [TRACE_OTHER] = "grey",     [TRACE_RANGE] = "magenta",    [TRACE_ANNOTATION] = "magenta",
        [TRACE_QUEUED] = "grey"};
    for (int i = 0; i < TRACE_CATEGORIES; i++)
        out_format(out, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
                   i ? ",\n" : "\n", trace_category_name[i], colors[i]);
}

static void put_field(struct out *out, const char *key, const char *label, const char *format)
{
    out_format(out, ",\n{\"key\":\"%s\",\"label\":\"%s\",\"format\":\"%s\"}", key, label, format);
}

/* The fields that the data of a marker may have. */
static void firefox_file_put_schema(struct firefox *firefox)
{
    struct out *out = spool_print_between(firefox->print);
    out_text(out, "{\"name\":\"span\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":"
                  "\"{marker.name}\",\"chartLabel\":\"{marker.name}\",\"display\":"
                  "[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
                  "\"isStackBased\":true,\"fields\":[\n"
                  "{\"key\":\"slot\",\"label\":\"slot\",\"format\":\"integer\"}");
    put_field(out, "item", "item", "integer");
    put_field(out, "end", "end", "string");
    put_field(out, "own_category", "own category", "string");
    put_field(out, "stream", "stream", "string");
    put_field(out, "correlation", "correlation", "string");
    put_field(out, "launch_ms", "launched at", "time");
    put_field(out, "launch_thread_id", "launched by thread", "string");
    put_field(out, "launch_span", "launched in span", "string");
    put_field(out, "launch_inferred", "launch is inferred", "string");
    put_field(out, "start_uncertain_ns", "start may be wrong by ns", "string");
    put_field(out, "stop_uncertain_ns", "end may be wrong by ns", "string");
    put_field(out, "certain_ns", "ran at least for ns", "string");
    for (uint32_t i = 0; i < firefox->fields.count; i++) {
        uint32_t name = (uint32_t)firefox->fields.ids[i];
        struct trace_text key = firefox_field_key(firefox, name);
        out_text(out, ",\n{\"key\":");
        json_string(out, key.text, key.bytes);
        out_text(out, ",\"label\":");
        firefox_file_put_string(firefox, trace_name_of(firefox->pass->trace, name));
        out_text(out, ",\"format\":\"string\"}");
    }
    out_text(out, "]}");
}

static void put_section(struct firefox *firefox, const char *label, const struct kept_facts *facts)
{
    struct out *out = spool_print_between(firefox->print);
    out_format(out, "{\"label\":\"%s\",\"entries\":[", label);
    for (const struct kept_fact *fact = facts->first; fact; fact = fact->next) {
        out_text(out, fact == facts->first ? "\n{\"label\":" : ",\n{\"label\":");
        firefox_file_put_string(firefox, fact->key);
        out_text(out, ",\"format\":\"string\",\"value\":");
        firefox_file_put_string(firefox, fact->value);
        out_text(out, "}");
    }
    out_text(out, "]}");
}

/* Without it a viewer takes the times of the threads alone; like those it ends an interval later.
 */
static void put_times(struct firefox *firefox)
{
    enum { INTERVAL_NS = 1000 };
    struct out *out = spool_print_between(firefox->print);
    if (!firefox->timed)
        return;
    int64_t first_ns = viewer_time(firefox->pass->trace, firefox->first_ns);
    int64_t end_ns = viewer_time(firefox->pass->trace, firefox->last_ns);
    if (__builtin_add_overflow(end_ns, INTERVAL_NS, &end_ns))
        end_ns = INT64_MAX;
    out_text(out, ",\n\"profilingStartTime\":");
    out_end(out, firefox_put_ms(out_room(out, FIREFOX_MS_MAX), first_ns));
    out_text(out, ",\"profilingEndTime\":");
    out_end(out, firefox_put_ms(out_room(out, FIREFOX_MS_MAX), end_ns));
}

static void put_meta(const struct writing *writing)
{
    struct firefox *firefox = writing->firefox;
    struct out *out = spool_print_between(firefox->print);
    out_text(out, "{\"meta\":{\"preprocessedProfileVersion\":" FIREFOX_FORMAT_VERSION
                  ",\"version\":31,\"interval\":0.001,\"processType\":0,\"stackwalk\":0,"
                  "\"debug\":false,\"symbolicated\":true,\"symbolicationNotSupported\":true,"
                  "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
                  "\"keepProfileThreadOrder\":true,\n");
    out_format(out,
               "\"product\":\"rbwp\",\"importedFrom\":\"rbwp %s\",\"startTime\":", rbwp_version());
    int64_t origin_ns = firefox->pass->trace ? trace_origin_ns(firefox->pass->trace) : 0;
    out_end(out, firefox_put_ms(out_room(out, FIREFOX_MS_MAX), origin_ns));
    put_times(firefox);
    out_text(out, ",\n\"initialVisibleThreads\":[");
    for (uint32_t i = 0; i < writing->threads; i++)
        out_format(out, i ? ",%u" : "%u", (unsigned)i);
    out_text(out, "],\n\"categories\":[");
    firefox_file_put_categories(out);
    out_text(out, "],\n\"markerSchema\":[");
    firefox_file_put_schema(firefox);
    out_text(out, "],\n\"extra\":[");
    put_section(firefox, "Trace", &firefox->facts);
    if (firefox->losses.first) {
        out_text(out, ",");
        put_section(firefox, "Lost", &firefox->losses);
    }
    out_text(out, "]},\n\"libs\":[],\n\"pages\":[]");
}

/* ---- all of it ---------------------------------------------------------------------------- */

static bool start_writing(struct writing *writing)
{
    struct firefox *firefox = writing->firefox;
    writing->order = track_order_all(firefox->rows, sizeof *firefox->rows, firefox->row_count);
    writing->places = calloc((size_t)firefox->process_count + 1, sizeof *writing->places);
    if (!writing->order || !writing->places)
        return false;
    for (uint32_t i = 0; i < firefox->process_count; i++) {
        uint64_t os_id = trace_process_of(firefox->pass->trace, i)->os_id;
        writing->places[i] = (struct place){viewer_pid(&writing->ids, os_id), FIREFOX_NONE};
    }
    count_threads(writing);
    return true;
}

static void write_all_of_it(struct writing *writing)
{
    struct firefox *firefox = writing->firefox;
    put_meta(writing);
    put_shared(firefox);
    put_threads(writing);
    put_counters(writing);
    out_text(spool_print_between(firefox->print), "}\n");
}

void firefox_write(struct firefox *firefox)
{
    struct writing writing = {.firefox = firefox};
    struct trace_pass *pass = firefox->pass;
    int64_t origin_ns = pass->trace ? trace_origin_ns(pass->trace) : 0;
    firefox->print = spool_print_new(&firefox->spool, &pass->out, origin_ns, pass->threads);
    if (firefox->print && start_writing(&writing))
        write_all_of_it(&writing);
    else
        trace_pass_fail(firefox->pass);
    spool_print_finish(firefox->print);
    viewer_ids_free(&writing.ids);
    free(writing.places);
    free(writing.order);
}

/* ---- firefox values -------------------------------------------------------------------------- */
/* The inner loops of the export: room for all of a piece is asked for once. */

enum { INSTANT = 0x80 }; /* behind the categories */
_Static_assert((int)TRACE_CATEGORIES <= (int)INSTANT, "a bit is left");

char *firefox_put_ms(char *at, int64_t ns)
{
    uint64_t many = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        *at++ = '-';
    at = put_u64(at, many / 1000000);
    *at++ = '.';
    uint32_t rest = (uint32_t)(many % 1000000);
    return put_4_digits(put_2_digits(at, rest / 10000), rest % 10000);
}

/* ---- kept ---------------------------------------------------------------------------------- */

void firefox_keep_data(struct spool *spool, uint32_t stream, const struct trace_span *span,
                       const struct buffer *tail)
{
    size_t tail_bytes = tail ? tail->count : 0;
    char *at = spool_room(spool, stream, 2 * VARINT_BYTES_MAX + 2 + tail_bytes);
    if (!at)
        return;
    *at++ = (char)span->category;
    *at++ = (char)span->flags;
    at = put_short(put_short(at, span->item), tail_bytes);
    if (tail_bytes)
        memcpy(at, tail->bytes, tail_bytes);
    spool_end(spool, stream, at + tail_bytes);
}

void firefox_keep_what(struct spool *spool, uint32_t stream, const struct trace_span *span)
{
    char *at = spool_room(spool, stream, VARINT_BYTES_MAX + 1);
    if (!at)
        return;
    *at++ = (char)(span->category | (span->flags & TRACE_INSTANT ? INSTANT : 0));
    spool_end(spool, stream, put_short(at, span->name));
}

void firefox_keep_end(struct spool *spool, uint32_t stream, int64_t time_ns, bool there)
{
    char *at = spool_room(spool, stream, VARINT_BYTES_MAX + 1);
    if (!at)
        return;
    at = put_difference(spool, stream, at, time_ns); /* first: it looks where the piece begins */
    *at++ = (char)there;
    spool_end(spool, stream, at);
}

/* ---- columns --------------------------------------------------------------------------------- */

static char *put_data(char *at, uint8_t category, uint8_t flags, uint64_t item)
{
    at = PUT(at, "\n{\"type\":\"span\"");
    if (category == TRACE_CALL || category == TRACE_GPU_WORK)
        at = put_u64(PUT(at, ",\"slot\":"), item);
    else if (category <= TRACE_SUB_ITEM || item)
        at = put_u64(PUT(at, ",\"item\":"), item);
    if (flags & TRACE_UNFINISHED)
        at = flags & TRACE_OPEN ? PUT(at, ",\"end\":\"open\"") : PUT(at, ",\"end\":\"unknown\"");
    return at;
}

static char *put_whole_data(char *at, struct spool_values *values)
{
    uint8_t category = (uint8_t)*values->at++, flags = (uint8_t)*values->at++;
    at = put_data(at, category, flags, get_short(values));
    size_t tail_bytes = (size_t)get_short(values);
    memcpy(at, values->at, tail_bytes);
    values->at += tail_bytes;
    at += tail_bytes;
    *at++ = '}';
    return at;
}

static char *firefox_values_put_name(char *at, struct spool_values *values)
{
    values->at++;
    return put_u64(at, get_short(values));
}

static char *put_phase(char *at, struct spool_values *values)
{
    enum { PHASE_INSTANT, PHASE_INTERVAL };
    bool instant = *values->at++ & INSTANT;
    (void)get_short(values);
    return put_u64(at, instant ? PHASE_INSTANT : PHASE_INTERVAL);
}

static char *put_category(char *at, struct spool_values *values)
{
    uint8_t category = *values->at++ & (INSTANT - 1);
    (void)get_short(values);
    return put_u64(at, category);
}

static char *put_stack(char *at, struct spool_values *values)
{
    uint64_t stack = get_short(values);
    return stack == UINT32_MAX ? PUT(at, "null") : put_u64(at, stack);
}

static char *firefox_values_put_end(char *at, struct spool_values *values, int64_t origin_ns)
{
    int64_t time_ns = get_near(values);
    return *values->at++ ? firefox_put_ms(at, viewer_since(origin_ns, time_ns)) : PUT(at, "null");
}

/* A column of what PUT_VALUE makes of each value: it has so many bytes at least, and its text so
 * many at most, the comma not counted. */
#define FIREFOX_VALUES_COLUMN(function, value_bytes_min, text_bytes_max, put_value)                \
    void function(int64_t origin_ns, struct buffer *to, const char *piece, size_t bytes,           \
                  bool first)                                                                      \
    {                                                                                              \
        struct spool_values values = {.at = piece};                                                \
        char *at = (char *)buffer_reserve(to, bytes / (value_bytes_min) * ((text_bytes_max) + 1) + \
                                                  bytes);                                          \
        (void)origin_ns;                                                                           \
        while (at && values.at < piece + bytes) {                                                  \
            if (!first)                                                                            \
                *at++ = ',';                                                                       \
            first = false;                                                                         \
            at = (put_value);                                                                      \
        }                                                                                          \
        if (at)                                                                                    \
            buffer_end(to, (uint8_t *)at);                                                         \
    }

FIREFOX_VALUES_COLUMN(firefox_data, 4, 80,
                      put_whole_data(at, &values)) /* and the tail, which is in the piece */
FIREFOX_VALUES_COLUMN(firefox_names, 2, DIGITS_MAX, firefox_values_put_name(at, &values))
FIREFOX_VALUES_COLUMN(firefox_phases, 2, 1, put_phase(at, &values))
FIREFOX_VALUES_COLUMN(firefox_categories, 2, 3, put_category(at, &values))
FIREFOX_VALUES_COLUMN(firefox_times, 1, FIREFOX_MS_MAX,
                      firefox_put_ms(at, viewer_since(origin_ns, get_near(&values))))
FIREFOX_VALUES_COLUMN(firefox_ends, 2, FIREFOX_MS_MAX,
                      firefox_values_put_end(at, &values, origin_ns))
FIREFOX_VALUES_COLUMN(firefox_lengths, 1, FIREFOX_MS_MAX,
                      firefox_put_ms(at, (int64_t)get_short(&values)))
FIREFOX_VALUES_COLUMN(firefox_stacks, 1, DIGITS_MAX, put_stack(at, &values))
