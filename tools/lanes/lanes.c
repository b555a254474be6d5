/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp lanes. Each file is decoded twice where times count: first for where it begins, which costs
 * little, so that what is written starts at 0 and nothing has to be kept.
 */
#include "dump_bytes.h"
#include "json_text.h"
#include "kernel_export.h"
#include "message.h"
#include "ticks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- warpscope json -------------------------------------------------------------------------- */
/*
 * Lanes as warpscope's Chrome JSON: a process for each block, a thread for each group,
 * microseconds.
 *
 * The names are put into quotes once; a span is then numbers between constants.
 */

/* Rewrites the spans as they come; those that overlap stay on their thread, as warpscope has it.
 * False, with the message given: out of memory. */
struct warpscope_json {
    struct out *out;
    const struct id_names *events, *groups;
    int64_t zero_ns;
    struct warpscope_name {
        char *text; /* in quotes */
        uint32_t bytes;
    } names[RBWP_LANES_EVENTS];
    bool any, failed;
};

enum { SPAN_BYTES_MAX = 256 };

/* The text in quotes is made where it would go, and taken from there. */
static const struct warpscope_name *lanes_name_of(struct warpscope_json *json, uint32_t event)
{
    struct warpscope_name *name = &json->names[event];
    char text[ID_NAME_BYTES];
    if (name->text)
        return name;
    const char *plain = id_names_get(json->events, "event", event, text);
    (void)out_room(json->out, 8 * ID_NAME_BYTES);
    size_t from = json->out->used;
    json_string(json->out, plain, strlen(plain));
    name->bytes = (uint32_t)(json->out->used - from);
    name->text = malloc(name->bytes);
    if (name->text)
        memcpy(name->text, json->out->buffer + from, name->bytes);
    json->out->used = from;
    if (!name->text && !json->failed) {
        message("out of memory; the rest is dropped");
        json->failed = true;
    }
    return name->text ? name : NULL;
}

static char *put_us(char *at, uint64_t ns)
{
    at = put_u64(at, ns / 1000);
    *at++ = '.';
    *at++ = (char)('0' + ns % 1000 / 100);
    return put_2_digits(at, (uint32_t)(ns % 100));
}

static void lanes_put_span(struct warpscope_json *json, const struct rbwp_lane_span *span)
{
    const struct warpscope_name *name = lanes_name_of(json, span->event);
    bool instant = span->kind == RBWP_LANE_INSTANT;
    if (!name)
        return;
    char *at = out_room(json->out, SPAN_BYTES_MAX + name->bytes);
    at = json->any ? PUT(at, ",\n") : PUT(at, "\n");
    json->any = true;
    at =
        instant ? PUT(at, "{\"ph\":\"i\",\"s\":\"t\",\"pid\":") : PUT(at, "{\"ph\":\"X\",\"pid\":");
    at = put_u64(at, span->block);
    at = PUT(at, ",\"tid\":");
    at = put_u64(at, span->group);
    at = PUT(at, ",\"ts\":");
    at = put_us(at, (uint64_t)span->start_ns - (uint64_t)json->zero_ns);
    if (!instant) {
        at = PUT(at, ",\"dur\":");
        at = put_us(at, (uint64_t)span->stop_ns - (uint64_t)span->start_ns);
    }
    at = PUT(at, ",\"name\":");
    memcpy(at, name->text, name->bytes);
    at += name->bytes;
    if (span->kind == RBWP_LANE_UNENDED)
        at = PUT(at, ",\"args\":{\"unclosed\":true}");
    *at++ = '}';
    out_end(json->out, at);
}

/* Of struct warpscope_json: for rbwp_lanes_decode. */
static bool warpscope_json_take(void *context, const struct rbwp_lane_span *spans, size_t count)
{
    struct warpscope_json *json = context;
    for (size_t i = 0; i < count; i++)
        if (spans[i].kind != RBWP_LANE_STRAY_END)
            lanes_put_span(json, &spans[i]);
    return !json->failed && !out_failed(json->out);
}

static void lanes_put_name(struct warpscope_json *json, uint32_t block, const uint32_t *group)
{
    struct out *out = json->out;
    char text[ID_NAME_BYTES];
    out_text(out, json->any ? ",\n" : "\n");
    json->any = true;
    out_format(out, "{\"ph\":\"M\",\"pid\":%" PRIu32, block);
    if (!group) {
        out_format(out, ",\"name\":\"process_name\",\"args\":{\"name\":\"block %" PRIu32 "\"}}",
                   block);
        return;
    }
    const char *name = id_names_get(json->groups, "group", *group, text);
    out_format(out, ",\"tid\":%" PRIu32 ",\"name\":\"thread_name\",\"args\":{\"name\":", *group);
    json_string(out, name, strlen(name));
    out_text(out, "}}");
}

/* ---- lanes ----------------------------------------------------------------------------------- */

struct lanes_file {
    struct dump_bytes dump;
    struct rbwp_lanes_layout layout; /* found */
    struct rbwp_lanes_stats stats;
};

struct lanes {
    const struct lanes_options *options;
    struct id_names events, groups;
    struct lanes_file *files;
    int count;
    int64_t first_ns, last_ns; /* of files whose times are the device's own */
    bool has_host_times;       /* of all: their times are those of the host's clock then */
    uint64_t dropped;
    enum exit_code code;
    /* While rows are written. */
    struct rows_file *file;
    struct kernel_place place;
    uint64_t *event_names; /* numbers, by id */
    uint64_t *group_names; /* numbers, by group; of the first so many */
    uint32_t group_room;
};

/* ---- times ----------------------------------------------------------------------- */

/* Times of a damaged buffer may be anything. */
static int64_t minus(int64_t time_ns, int64_t ns)
{
    return (int64_t)((uint64_t)time_ns - (uint64_t)ns);
}

/* What the device's times are ahead of the host's CLOCK_MONOTONIC. */
static bool find_host_times(const struct lanes_file *file, int64_t *ahead_ns_out)
{
    const struct rbwp_lanes_layout *layout = &file->layout;
    if (!file->stats.absolute || layout->flags & RBWP_LANES_CYCLES || !layout->anchor_device ||
        !layout->anchor_host_ns || layout->anchor_device > INT64_MAX ||
        layout->anchor_host_ns > INT64_MAX)
        return false;
    *ahead_ns_out = ticks_ns((int64_t)layout->anchor_device, layout->clock_hz) -
                    (int64_t)layout->anchor_host_ns;
    return true;
}

/* To be taken off a file's times, so that those that know a time have it in common. */
static int64_t ahead_ns(const struct lanes *lanes, const struct lanes_file *file)
{
    int64_t ahead = 0;
    if (!file->stats.absolute)
        return minus(file->stats.first_ns, lanes->first_ns);
    if (lanes->has_host_times)
        (void)find_host_times(file, &ahead);
    return ahead;
}

static void find_times(struct lanes *lanes)
{
    bool any = false;
    int64_t ahead;
    lanes->has_host_times = true;
    for (int i = 0; i < lanes->count; i++)
        lanes->has_host_times &= find_host_times(&lanes->files[i], &ahead);
    for (int i = 0; i < lanes->count; i++) {
        const struct lanes_file *file = &lanes->files[i];
        int64_t first_ns = minus(file->stats.first_ns, ahead_ns(lanes, file));
        if (file->stats.absolute && (!any || first_ns < lanes->first_ns))
            lanes->first_ns = first_ns;
        any |= file->stats.absolute != 0;
    }
    for (int i = 0; i < lanes->count; i++) {
        const struct lanes_file *file = &lanes->files[i];
        int64_t last_ns = minus(file->stats.last_ns, ahead_ns(lanes, file));
        lanes->last_ns = i == 0 || last_ns > lanes->last_ns ? last_ns : lanes->last_ns;
    }
}

/* ---- reading --------------------------------------------------------------------- */

static struct rbwp_lanes_layout wanted(const struct lanes_options *options)
{
    struct rbwp_lanes_layout layout = options->layout;
    layout.size = sizeof layout;
    layout.clock_hz = options->kernel.clock_hz;
    return layout;
}

static void report_damage(const struct lanes_file *file)
{
    const struct rbwp_lanes_stats *stats = &file->stats;
    const struct {
        uint64_t count;
        const char *what;
    } kinds[] = {
        {stats->stray_ends, "ends without a begin"},
        {stats->misplaced, "records with the tag of another lane"},
        {stats->holes, "holes between the records of a lane"},
        {stats->backwards, "times before that of the record before"},
        {stats->after_finalize, "records behind their lane's finalize, dropped"},
        {stats->outside, "slots of no lane that are not empty"},
        {stats->too_deep, "begins given up, as more than 64 were open"},
        {stats->cut || file->dump.cut,
         "cut, or bytes stand behind its records: the file is not as long as its head says"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].count)
            message("%s: damaged: %" PRIu64 " %s", file->dump.name, kinds[i].count, kinds[i].what);
}

static void report_rest(const struct lanes_file *file)
{
    const struct rbwp_lanes_stats *stats = &file->stats;
    if (stats->dropped)
        message("%s: the kernel had no room for %" PRIu64 " records", file->dump.name,
                stats->dropped);
    else if (stats->full)
        message(stats->finalized == stats->lanes
                    ? "%s: %" PRIu64 " lanes have finalize in their last slot: records are missing "
                      "if that slot was kept for it (as rbwp_device.h does), else none are"
                    : "%s: %" PRIu64 " lanes are full: records may be missing",
                file->dump.name, stats->full);
    message_count(file->dump.name, stats->unended, "begins have no end");
}

/* Whether it can be read at all. */
static bool lanes_look_at(struct lanes *lanes, struct lanes_file *file)
{
    struct rbwp_lanes_layout layout = wanted(lanes->options);
    struct rbwp_error error;
    file->layout.size = sizeof file->layout;
    if (rbwp_lanes_find_layout(file->dump.bytes, file->dump.count, &layout, &file->layout,
                               &error) != RBWP_OK ||
        rbwp_lanes_decode(file->dump.bytes, file->dump.count, &file->layout, NULL, NULL,
                          &file->stats, &error) != RBWP_OK)
        return message_fail("%s: %s", file->dump.name, error.text);
    report_damage(file);
    report_rest(file);
    if (rbwp_lanes_damage(&file->stats) || file->dump.cut)
        lanes->code = exit_worse(lanes->code, EXIT_PARTIAL);
    lanes->dropped += file->stats.dropped;
    return true;
}

static bool lanes_read_files(struct lanes *lanes, struct operands files)
{
    lanes->files = calloc((size_t)files.count, sizeof *lanes->files);
    if (!lanes->files)
        return message_fail("out of memory");
    for (int i = 0; i < files.count; i++) {
        struct lanes_file *file = &lanes->files[lanes->count];
        if (!dump_bytes_read(&file->dump, files.words[i])) {
            lanes->code = EXIT_BAD_DATA;
            continue;
        }
        if (!lanes_look_at(lanes, file)) {
            lanes->code = EXIT_BAD_DATA;
            dump_bytes_free(&file->dump);
            continue;
        }
        lanes->count++;
    }
    find_times(lanes);
    return lanes->count > 0;
}

static bool lanes_decode(const struct lanes_file *file, rbwp_lane_spans_fn take, void *context)
{
    struct rbwp_lanes_stats stats;
    struct rbwp_error error;
    enum rbwp_status status = rbwp_lanes_decode(file->dump.bytes, file->dump.count, &file->layout,
                                                take, context, &stats, &error);
    if (status < 0)
        message("%s: %s", file->dump.name, error.text);
    return status == RBWP_OK;
}

/* ---- the durations ------------------------------------------------------------------- */

static const char *group_name(const void *context, uint64_t group, char *text)
{
    const struct lanes *lanes = context;
    return id_names_get(&lanes->groups, "group", (int64_t)group, text);
}

static const char *lanes_event_name(const void *context, int64_t event, char *text)
{
    const struct lanes *lanes = context;
    return id_names_get(&lanes->events, "event", event, text);
}

static struct result_cell file_made(const struct result_at *at, int what)
{
    const struct lanes_file *file = at->row;
    return what ? result_u64(file->stats.cut || file->dump.cut)
                : result_word(rbwp_lanes_dialect_name(file->layout.dialect));
}

#define LANES_FOUND(key, unit, field) RESULT_PLAIN(key, unit, struct lanes_file, field)
#define LANES_STAT(field) LANES_FOUND(#field, RESULT_COUNT, stats.field),
/* clang-format off */
#define LANES_STATS(X) \
    X(records) X(lanes) X(finalized) X(spans) X(instants) X(heartbeats) X(unended) X(full) \
    X(dropped) X(stray_ends) X(misplaced) X(holes) X(backwards) X(after_finalize) X(outside) \
    X(too_deep) X(stale)
/* clang-format on */
static const struct result_column lanes_file_columns[] = {
    LANES_FOUND("file", RESULT_STRING, dump.name),
    RESULT_PLAIN_MADE("dialect", RESULT_WORD, file_made, 0),
    LANES_FOUND("blocks", RESULT_COUNT, layout.num_blocks),
    LANES_FOUND("groups", RESULT_COUNT, layout.num_groups),
    LANES_STATS(LANES_STAT) RESULT_PLAIN_MADE("cut", RESULT_COUNT, file_made, 1),
    RESULT_LAST};
static const struct result_table lanes_files_table = {"files", NULL, lanes_file_columns,
                                                      "",      NULL, 0};

const struct result_column lanes_columns[] = {
    DURATIONS,
    {"files", NULL, 0, RESULT_LIST, .list = &lanes_files_table,
     RESULT_LIST_OF(struct lanes, files, count), .closed = true},
    {0}};

/* As rbwp_durations_take_lanes, with the block in the upper half of the group's number. */
static bool take_of_block(void *durations, const struct rbwp_lane_span *spans, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        const struct rbwp_lane_span *span = &spans[i];
        const uint64_t group = (uint64_t)span->block << 32 | span->group;
        if (span->kind == RBWP_LANE_SPAN)
            good = rbwp_durations_add(durations, group, span->event,
                                      (uint64_t)span->stop_ns - (uint64_t)span->start_ns);
        else if (span->kind != RBWP_LANE_INSTANT)
            good = rbwp_durations_add_unmatched(durations, group, span->event);
    }
    return good;
}

static bool lanes_fill_durations(const void *context, struct rbwp_durations *durations)
{
    const struct lanes *lanes = context;
    bool good = true;
    for (int i = 0; i < lanes->count && good; i++)
        good = lanes_decode(&lanes->files[i],
                            lanes->options->by_block ? take_of_block : rbwp_durations_take_lanes,
                            durations);
    return good;
}

/* ---- other forms ----------------------------------------------------------------------- */

static enum exit_code write_warpscope(struct lanes *lanes, struct operands files)
{
    struct out out;
    const struct lanes_file *file = &lanes->files[0];
    struct warpscope_json *json = calloc(1, sizeof *json);
    if (!json ||
        !out_open_packed(&out, &lanes->options->kernel.export.reading.output, files, NULL)) {
        if (!json)
            message("out of memory");
        free(json);
        return EXIT_BAD_DATA;
    }
    json->out = &out;
    json->events = &lanes->events;
    json->groups = &lanes->groups;
    json->zero_ns = file->stats.first_ns;
    out_text(json->out, "{\"traceEvents\":[");
    for (uint32_t block = 0; block < file->layout.num_blocks && !out_failed(json->out); block++) {
        lanes_put_name(json, block, NULL);
        for (uint32_t group = 0; group < file->layout.num_groups; group++)
            lanes_put_name(json, block, &group);
    }
    bool good = lanes_decode(file, warpscope_json_take, json) || out_failed(&out);
    out_text(json->out, "\n],\"displayTimeUnit\":\"ns\"}\n");
    for (uint32_t i = 0; i < RBWP_LANES_EVENTS; i++)
        free(json->names[i].text);
    free(json);
    enum exit_code code = exit_worse(lanes->code, out_close_packed(&out));
    return good ? code : exit_worse(code, EXIT_PARTIAL);
}

/* Numbers of names are looked up once. */
static uint64_t number_of_group(struct lanes *lanes, uint32_t group)
{
    char text[ID_NAME_BYTES];
    uint64_t *known = group < lanes->group_room ? &lanes->group_names[group] : NULL;
    if (known && *known)
        return *known;
    uint64_t number =
        rows_file_name(lanes->file, id_names_get(&lanes->groups, "group", group, text));
    if (known)
        *known = number;
    return number;
}

static uint64_t number_of_event(struct lanes *lanes, uint32_t event)
{
    char text[ID_NAME_BYTES];
    uint64_t *known = &lanes->event_names[event];
    if (!*known)
        *known = rows_file_name(lanes->file, id_names_get(&lanes->events, "event", event, text));
    return *known;
}

static bool lanes_on_rows(void *context, const struct rbwp_lane_span *spans, size_t count)
{
    struct lanes *lanes = context;
    uint64_t cells[COLUMNS_lane_span];
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        if (spans[i].kind == RBWP_LANE_STRAY_END)
            continue;
        uint64_t group = number_of_group(lanes, spans[i].group); /* new names in this order */
        uint64_t event = number_of_event(lanes, spans[i].event);
        kernel_lane_cells(&lanes->place, &spans[i], group, event, cells);
        if (lanes->options->by_block)
            cells[AT_lane_span_sm] = KERNEL_SM_UNKNOWN;
        good = rows_file_add(lanes->file, 0, cells);
    }
    return good;
}

static bool lanes_fill(void *context, struct rows_file *file)
{
    struct lanes *lanes = context;
    bool good = true;
    lanes->file = file;
    lanes->group_room = 4096;
    lanes->event_names = calloc(RBWP_LANES_EVENTS, sizeof *lanes->event_names);
    lanes->group_names = calloc(lanes->group_room, sizeof *lanes->group_names);
    if (!lanes->event_names || !lanes->group_names) {
        message("out of memory");
        good = false;
    }
    for (int i = 0; i < lanes->count && good; i++) {
        const struct lanes_file *from = &lanes->files[i];
        int64_t shift_ns = minus(minus(0, lanes->first_ns), ahead_ns(lanes, from));
        lanes->place = (struct kernel_place){.processor = (uint64_t)i, .shift_ns = shift_ns};
        good = lanes_decode(from, lanes_on_rows, lanes);
    }
    free(lanes->event_names);
    free(lanes->group_names);
    return good;
}

static enum exit_code lanes_make(struct lanes *lanes, struct operands files)
{
    const struct kernel_options *options = &lanes->options->kernel;
    const struct kernel_maker maker = {&kernel_lane_schema,
                                       lanes,
                                       lanes_fill,
                                       lanes->dropped,
                                       lanes->has_host_times ? lanes->first_ns : 0,
                                       minus(lanes->last_ns, lanes->first_ns)};
    struct durations_report report = {lanes,
                                      lanes->options->by_block,
                                      group_name,
                                      lanes_event_name,
                                      lanes_fill_durations,
                                      lanes_columns,
                                      NULL,
                                      NULL};
    if (kernel_wants_durations(options))
        return exit_worse(lanes->code, durations_show(&report, options, files));
    if (kernel_wants(options, "warpscope"))
        return write_warpscope(lanes, files);
    return exit_worse(lanes->code, kernel_export(options, files, &maker));
}

enum exit_code lanes_run(const struct lanes_options *options, struct operands files)
{
    struct lanes lanes = {.options = options};
    enum exit_code code = EXIT_USAGE;
    if (kernel_wants(&options->kernel, "warpscope") && files.count > 1)
        return message_usage("--to warpscope takes one file: it has no place for several launches");
    if (id_names_parse(&lanes.events, "--events", options->kernel.events) &&
        id_names_parse(&lanes.groups, "--groups", options->kernel.groups))
        code = lanes_read_files(&lanes, files) ? lanes_make(&lanes, files) : EXIT_BAD_DATA;
    for (int i = 0; i < lanes.count; i++)
        dump_bytes_free(&lanes.files[i].dump);
    free(lanes.files);
    id_names_free(&lanes.events);
    id_names_free(&lanes.groups);
    return code;
}
