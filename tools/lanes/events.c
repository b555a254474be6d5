/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp events: device events of one or several ranks, each rank a file. */
#include "event_source.h"
#include "json_text.h"
#include "kernel_export.h"
#include "message.h"
#include "sorted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- device events as the JSON of iris, member by member in its order ------------------------ */
/*
 * With raw cycles it is iris's: times are ticks, overlapping events of a unit stay on one thread,
 * and the clocks of ranks are taken to be one. Without, times are microseconds on the ranks' common
 * clock, and events that overlap get threads of their own.
 *
 * iris writes with Python's json and an indent of 2: so does this, to the byte where cycles are
 * raw. What is ours stands at the end of metadata.
 */

struct iris_job {
    const struct events_options *options;
    const struct id_names *names;
    struct event_file *files; /* in the order of ranks */
    int count;
    struct operands inputs; /* that no output may replace */
};

struct events {
    struct rbwp_device_event *list;
    uint16_t *rows; /* of those side by side, NULL: all are on row 0 */
    size_t count, room;
};

struct writing {
    const struct iris_job *job;
    struct out *out;
    bool raw, any;
    int64_t zero; /* ticks, or ns */
};

/* ---- the events of a rank ------------------------------------------------------------ */

static bool events_keep(void *context, const struct rbwp_device_event *events, size_t count)
{
    struct events *kept = context;
    memcpy(kept->list + kept->count, events, count * sizeof *events);
    kept->count += count;
    return true;
}

static bool find_rows(struct events *events)
{
    uint64_t *tracks = calloc(events->count + 1, sizeof *tracks);
    int64_t *starts = calloc(events->count + 1, sizeof *starts);
    int64_t *stops = calloc(events->count + 1, sizeof *stops);
    events->rows = calloc(events->count + 1, sizeof *events->rows);
    bool good = tracks && starts && stops && events->rows;
    for (size_t i = 0; good && i < events->count; i++) {
        tracks[i] = (uint64_t)(uint32_t)events->list[i].xcc << 32 | (uint32_t)events->list[i].cu;
        starts[i] = events->list[i].start_ns;
        stops[i] = events->list[i].stop_ns;
    }
    if (good) {
        enum rbwp_status status =
            rbwp_overlap_rows(tracks, starts, stops, events->count, events->rows);
        if (status == RBWP_E_LIMIT)
            message("too many events overlap: they stay on one thread");
        good = status != RBWP_E_MEMORY;
    }
    free(tracks);
    free(starts);
    free(stops);
    return good;
}

static bool read_events(const struct event_file *file, bool raw, struct events *events)
{
    struct rbwp_events_stats stats;
    *events = (struct events){.room = (size_t)file->stats.events};
    events->list = calloc(events->room + 1, sizeof *events->list);
    if (events->list &&
        rbwp_events_decode(&file->source, events_keep, events, &stats, NULL) == RBWP_OK &&
        (raw || find_rows(events)))
        return true;
    return message_fail("out of memory");
}

static void free_events(struct events *events)
{
    free(events->list);
    free(events->rows);
}

/* ---- an event -------------------------------------------------------------------------- */

/* From one time to another: ticks, or nanoseconds as microseconds. It may be more than an int64_t
 * holds: times of a damaged dump may be anything. */
static void events_put_time(struct writing *writing, int64_t from, int64_t to)
{
    bool back = to < from;
    uint64_t length = back ? (uint64_t)from - (uint64_t)to : (uint64_t)to - (uint64_t)from;
    out_text(writing->out, back ? "-" : "");
    if (writing->raw)
        out_u64(writing->out, length);
    else
        out_format(writing->out, "%" PRIu64 ".%03u", length / 1000, (unsigned)(length % 1000));
}

static void begin_event(struct writing *writing)
{
    out_text(writing->out, writing->any ? ",\n    {\n" : "\n    {\n");
    writing->any = true;
}

static void put_args(struct out *out, const struct rbwp_device_event *event)
{
    out_format(out,
               "      \"args\": {\n        \"program_id\": %" PRId32
               ",\n        \"pid_m\": %" PRId32 ",\n        \"pid_n\": %" PRId32
               ",\n        \"target_rank\": %" PRId32 ",\n",
               event->program, event->pid_m, event->pid_n, event->target_rank);
    out_format(out,
               "        \"address\": \"%s0x%" PRIx64 "\",\n        \"xcc_id\": %" PRId32
               ",\n        \"cu_id\": %" PRId32 ",\n",
               event->address < 0 ? "-" : "",
               event->address < 0 ? 0 - (uint64_t)event->address : (uint64_t)event->address,
               event->xcc, event->cu);
    out_format(out,
               "        \"op_index\": %" PRId32 ",\n        \"payload_size\": %" PRId32
               "\n      },\n",
               event->op, event->bytes);
}

static void put_event(struct writing *writing, const struct rbwp_device_event *event, uint16_t row)
{
    struct out *out = writing->out;
    char text[ID_NAME_BYTES], builtin[RBWP_EVENTS_NAME_BYTES];
    bool raw = writing->raw;
    int64_t start = raw ? event->start_ticks : event->start_ns;
    int64_t stop = raw ? event->stop_ticks : event->stop_ns;
    const char *name = rbwp_events_name_of(event->id, builtin);
    for (uint32_t i = 0; i < writing->job->names->count; i++)
        if (writing->job->names->names[i].id == event->id)
            name = id_names_get(writing->job->names, "unknown", event->id, text);
    begin_event(writing);
    out_text(out, "      \"name\": ");
    json_string(out, name, strlen(name));
    out_text(out, ",\n      \"cat\": \"iris\",\n      \"ts\": ");
    events_put_time(writing, writing->zero, start);
    out_format(out, ",\n      \"pid\": %" PRId32 ",\n      \"tid\": \"XCC%" PRId32 "_CU%" PRId32,
               event->rank, event->xcc, event->cu);
    if (row)
        out_format(out, " / %u", row);
    out_text(out, "\",\n");
    put_args(out, event);
    if (event->stop_ticks != 0 && event->stop_ticks > event->start_ticks) {
        out_text(out, "      \"ph\": \"X\",\n      \"dur\": ");
        events_put_time(writing, start, stop);
        out_text(out, "\n    }");
    } else {
        out_text(out, "      \"ph\": \"i\",\n      \"s\": \"t\"\n    }");
    }
}

static void put_events(struct writing *writing, const struct event_file *file,
                       const struct events *events)
{
    for (size_t i = 0; i < events->count && !out_failed(writing->out); i++)
        put_event(writing, &events->list[i], events->rows ? events->rows[i] : 0);
    begin_event(writing);
    out_format(writing->out,
               "      \"name\": \"process_name\",\n      \"ph\": \"M\",\n      \"pid\": %" PRIu32
               ",\n      \"args\": {\n        \"name\": \"Rank %" PRIu32 "\"\n      }\n    }",
               file->rank, file->rank);
}

/* ---- metadata --------------------------------------------------------------------------- */

static const char *unit_of(const struct event_file *file, bool raw, bool merged, char text[64])
{
    uint64_t hz = file->source.clock_hz ? file->source.clock_hz : 1000000000;
    const char *kind = merged ? "cycles" : "raw cycles";
    if (!raw)
        return "microseconds";
    if (hz == 1000000000)
        snprintf(text, 64, "%s (globaltimer @ 1GHz)", kind);
    else if (hz % 1000000 == 0)
        snprintf(text, 64, "%s (s_memrealtime @ %" PRIu64 "MHz)", kind, hz / 1000000);
    else
        snprintf(text, 64, "%s (@ %" PRIu64 "Hz)", kind, hz);
    return text;
}

static void put_fields(struct out *out)
{
    static const char *const fields[][2] = {{"name", "Operation"},
                                            {"cat", "Category, always iris"},
                                            {"ts", "Start"},
                                            {"pid", "Rank that recorded the event"},
                                            {"tid", "Chiplet and compute unit"},
                                            {"ph", "X with a duration, i without"},
                                            {"dur", "Stop less start"}};
    static const char *const args[][2] = {{"program_id", "Program along axis 0"},
                                          {"pid_m", "Program's row, as the caller says"},
                                          {"pid_n", "Program's column, as the caller says"},
                                          {"target_rank", "Rank at the other end"},
                                          {"address", "Least address of the block"},
                                          {"xcc_id", "Chiplet"},
                                          {"cu_id", "Compute unit"},
                                          {"op_index", "Number among the rank's operations"},
                                          {"payload_size", "Bytes, 0 unknown"}};
    out_text(out, "    \"fields\": {\n");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        out_format(out, "      \"%s\": \"%s\",\n", fields[i][0], fields[i][1]);
    out_text(out, "      \"args\": {\n");
    for (size_t i = 0; i < sizeof args / sizeof args[0]; i++)
        out_format(out, "        \"%s\": \"%s\"%s\n", args[i][0], args[i][1],
                   i + 1 < sizeof args / sizeof args[0] ? "," : "");
    out_text(out, "      }\n    },\n");
}

/* What the program's machine was is not in its buffers. */
static void put_system(struct out *out, const struct event_file *file)
{
    out_text(out, "    \"process_name\": \"rbwp\",\n    \"command_line\": \"rbwp events ");
    size_t at = out->used;
    json_string(out, file->dump.name, strlen(file->dump.name));
    memmove(out->buffer + at, out->buffer + at + 1, out->used - at - 1); /* inside the quotes */
    out->used--;
    out_text(out, ",\n    \"hostname\": \"\",\n    \"gpu_device_name\": \"Unknown GPU\",\n"
                  "    \"gpu_total_memory_gb\": \"0.00\",\n    \"gpu_arch\": \"unknown\",\n"
                  "    \"gpu_cu_count\": 0,\n    \"gpu_num_xcc\": 0,\n"
                  "    \"rocm_version\": [\n      0,\n      0\n    ]");
}

static void put_clock(struct out *out, const struct event_file *file, const char *indent)
{
    out_format(out, "%s\"recorded\": %" PRIu64 ",\n%s\"dropped\": %" PRIu64, indent,
               file->stats.counted, indent, file->stats.dropped);
    if (file->has_offset)
        out_format(out,
                   ",\n%s\"clock_offset_ns\": %" PRId64 ",\n%s\"clock_error_ns\": %" PRIu64
                   ",\n%s\"clock_drift_ppb\": %" PRId64,
                   indent, file->source.offset_ns, indent, file->bound_ns, indent,
                   file->source.drift_ppb);
}

static void events_put_head(struct out *out)
{
    out_text(out, "\n  ],\n  \"displayTimeUnit\": \"ns\",\n  \"metadata\": {\n"
                  "    \"schema_version\": \"1.1\",\n");
}

static uint32_t world_size(const struct iris_job *job)
{
    uint32_t ranks = (uint32_t)job->count;
    for (int i = 0; i < job->count; i++) {
        ranks = job->files[i].ranks > ranks ? job->files[i].ranks : ranks;
        ranks = job->files[i].rank + 1 > ranks ? job->files[i].rank + 1 : ranks;
    }
    return ranks;
}

static void put_rank_metadata(struct writing *writing, const struct event_file *file)
{
    struct out *out = writing->out;
    char text[64];
    events_put_head(out);
    out_format(out,
               "    \"num_events\": %" PRIu64 ",\n    \"rank\": %" PRIu32
               ",\n    \"world_size\": %" PRIu32 ",\n    \"time_unit\": \"%s\",\n",
               file->stats.events, file->rank, world_size(writing->job),
               unit_of(file, writing->raw, false, text));
    put_fields(out);
    put_system(out, file);
    out_text(out, ",\n");
    put_clock(out, file, "    ");
    out_text(out, "\n  }\n}");
}

static void put_merged_metadata(struct writing *writing, uint64_t total)
{
    const struct iris_job *job = writing->job;
    struct out *out = writing->out;
    char text[64];
    events_put_head(out);
    out_format(out,
               "    \"total_events\": %" PRIu64 ",\n    \"max_events\": %" PRIu64
               ",\n    \"time_unit\": \"%s\",\n    \"world_size\": %" PRIu32
               ",\n    \"timestamp_offset\": ",
               total, job->files[0].max_events, unit_of(job->files, writing->raw, true, text),
               world_size(job));
    events_put_time(writing, 0, writing->zero);
    out_format(out, ",\n    \"aligned\": \"%s\",\n",
               writing->raw ? "minimum timestamp across all ranks"
                            : "clock offsets of the ranks, then the minimum timestamp");
    put_fields(out);
    put_system(out, job->files);
    out_text(out, ",\n    \"ranks\": [");
    for (int i = 0; i < job->count; i++) {
        out_format(out, "%s\n      {\n        \"rank\": %" PRIu32 ",\n", i ? "," : "",
                   job->files[i].rank);
        put_clock(out, &job->files[i], "        ");
        out_text(out, "\n      }");
    }
    out_text(out, "\n    ]\n  }\n}");
}

/* ---- files -------------------------------------------------------------------------------- */

/* "trace.json" of rank 3 is "trace_rank3.json", "trace" "trace_rank3", and ".gz" stays last. Free
 * it; NULL without memory. */
static char *iris_json_rank_path(const char *path, uint32_t rank)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const size_t plain = strlen(file) - (out_gzip_wanted(file) ? strlen(".gz") : 0);
    const char *dot = memrchr(file, '.', plain);
    size_t stem = dot && dot > file ? (size_t)(dot - path) : (size_t)(file - path) + plain,
           room = strlen(path) + 24;
    char *made = malloc(room);
    if (made)
        snprintf(made, room, "%.*s_rank%" PRIu32 "%s", (int)stem, path, rank, path + stem);
    return made;
}

static enum exit_code write_rank(const struct iris_job *job, const struct event_file *file)
{
    struct out out;
    struct events events = {0};
    struct out_options output = job->options->kernel.export.reading.output;
    bool standard = out_is_standard(&output);
    char *path = standard ? NULL : iris_json_rank_path(output.path, file->rank);
    struct writing writing = {.job = job, .out = &out, .raw = job->options->raw_cycles};
    output.path = path;
    if (!standard && !path)
        message("out of memory");
    if ((!standard && !path) || !read_events(file, writing.raw, &events) ||
        !out_open_packed(&out, &output, job->inputs, NULL)) {
        free_events(&events);
        free(path);
        return EXIT_BAD_DATA;
    }
    out_text(&out, "{\n  \"traceEvents\": [");
    put_events(&writing, file, &events);
    put_rank_metadata(&writing, file);
    enum exit_code code = out_close_packed(&out);
    free_events(&events);
    free(path);
    return code;
}

/* The earliest of all, which becomes 0. */
static int64_t find_zero(const struct events *events, int count, bool raw)
{
    int64_t zero = 0;
    bool any = false;
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < events[i].count; k++) {
            const struct rbwp_device_event *event = &events[i].list[k];
            int64_t start = raw ? event->start_ticks : event->start_ns;
            zero = !any || start < zero ? start : zero;
            any = true;
        }
    return zero;
}

static void put_merged(struct writing *writing, const struct events *events)
{
    const struct iris_job *job = writing->job;
    uint64_t total = 0;
    writing->zero = find_zero(events, job->count, writing->raw);
    out_text(writing->out, "{\n  \"traceEvents\": [");
    for (int i = 0; i < job->count; i++) {
        put_events(writing, &job->files[i], &events[i]);
        total += events[i].count + 1;
    }
    put_merged_metadata(writing, total);
}

static enum exit_code write_merged(const struct iris_job *job)
{
    struct out out;
    struct writing writing = {.job = job, .out = &out, .raw = job->options->raw_cycles};
    struct events *events = calloc((size_t)job->count, sizeof *events);
    bool good = events != NULL;
    if (!good)
        message("out of memory");
    for (int i = 0; i < job->count && good; i++)
        good = read_events(&job->files[i], writing.raw, &events[i]);
    if (good &&
        out_open_packed(&out, &job->options->kernel.export.reading.output, job->inputs, NULL)) {
        put_merged(&writing, events);
        good = out_close_packed(&out) == EXIT_GOOD;
    } else {
        good = false;
    }
    for (int i = 0; events && i < job->count; i++)
        free_events(&events[i]);
    free(events);
    return good ? EXIT_GOOD : EXIT_BAD_DATA;
}

/* Writes a file for each rank, and with merge the one of all. */
static enum exit_code iris_json_write(const struct iris_job *job)
{
    enum exit_code code = EXIT_GOOD;
    if (out_is_standard(&job->options->kernel.export.reading.output))
        return job->options->merge ? write_merged(job) : write_rank(job, job->files);
    for (int i = 0; i < job->count; i++)
        code = exit_worse(code, write_rank(job, &job->files[i]));
    return job->options->merge ? exit_worse(code, write_merged(job)) : code;
}

/* ---- events ---------------------------------------------------------------------------------- */

struct events_job {
    const struct events_options *options;
    struct id_names names;
    struct event_file *files; /* by rank */
    int count;
    int64_t first_ns, last_ns; /* of all */
    bool has_host_times;       /* they are those of the host's clock */
    uint64_t dropped;
    enum exit_code code;
    struct rows_file *file; /* while rows are written */
    struct kernel_place place;
};

/* ---- reading --------------------------------------------------------------------- */

static void events_report(struct events_job *job, const struct event_file *file)
{
    const struct rbwp_events_stats *stats = &file->stats;
    const struct {
        uint64_t count;
        const char *what;
    } kinds[] = {
        {stats->unwritten, "slots were given out and have no time, dropped"},
        {stats->backwards, "events stop before they start"},
        {stats->other_rank, "events are of another rank"},
        {stats->bad_bytes, "events have a negative size or place"},
        {file->missing, "events are missing, as the file is cut"},
        {file->dump.cut, "cut: the file is shorter than its head says"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].count) {
            message("%s: damaged: %" PRIu64 " %s", file->dump.name, kinds[i].count, kinds[i].what);
            job->code = exit_worse(job->code, EXIT_PARTIAL);
        }
    uint64_t dropped = stats->dropped - (file->missing < stats->dropped ? file->missing : 0);
    if (dropped)
        message("%s: %" PRIu64 " of %" PRIu64 " events had no slot", file->dump.name, dropped,
                stats->counted);
    message_count(file->dump.name, stats->unended, "events have no end");
    message_count(file->dump.name, stats->unused,
                  "slots were asked for in advance and not used, dropped");
    job->dropped += dropped;
}

SORTED_COMPARE(by_rank, struct event_file, it->rank)

static bool ranks_differ(const struct events_job *job)
{
    for (int i = 1; i < job->count; i++)
        if (job->files[i].rank == job->files[i - 1].rank)
            return message_fail("%s and %s are both of rank %" PRIu32, job->files[i - 1].dump.name,
                                job->files[i].dump.name, job->files[i].rank);
    return true;
}

static bool events_read_files(struct events_job *job, struct operands files)
{
    bool any = false;
    job->has_host_times = true;
    job->files = calloc((size_t)files.count, sizeof *job->files);
    if (!job->files)
        return message_fail("out of memory");
    for (int i = 0; i < files.count; i++) {
        struct event_file *file = &job->files[job->count];
        if (!event_file_open(file, files.words[i], (uint32_t)i, job->options)) {
            job->code = EXIT_BAD_DATA;
            continue;
        }
        events_report(job, file);
        if (file->stats.events && (!any || file->stats.first_ns < job->first_ns))
            job->first_ns = file->stats.first_ns;
        if (file->stats.events && (!any || file->stats.last_ns > job->last_ns))
            job->last_ns = file->stats.last_ns;
        any |= file->stats.events > 0;
        job->has_host_times &= file->has_offset;
        job->count++;
    }
    qsort(job->files, (size_t)job->count, sizeof *job->files, by_rank);
    return job->count > 0 && ranks_differ(job);
}

/* ---- the durations ------------------------------------------------------------------- */

static const char *rank_name(const void *context, uint64_t rank, char *text)
{
    (void)context;
    snprintf(text, ID_NAME_BYTES, "rank %" PRIu64, rank);
    return text;
}

static const char *events_event_name(const void *context, int64_t event, char *text)
{
    const struct events_job *job = context;
    for (uint32_t i = 0; i < job->names.count; i++)
        if (job->names.names[i].id == event)
            return id_names_get(&job->names, "unknown", event, text);
    return rbwp_events_name_of((int32_t)event, text);
}

#define EVENTS_FOUND(key, unit, field) RESULT_PLAIN(key, unit, struct event_file, field)
#define EVENTS_STAT(field) EVENTS_FOUND(#field, RESULT_COUNT, stats.field),
/* clang-format off */
#define EVENTS_STATS(X) \
    X(counted) X(dropped) X(events) X(spans) X(unended) X(unwritten) X(backwards) \
    X(other_rank) X(bad_bytes)
/* clang-format on */
static const struct result_column events_file_columns[] = {
    EVENTS_FOUND("file", RESULT_STRING, dump.name),
    EVENTS_FOUND("rank", RESULT_ID, rank),
    EVENTS_STATS(EVENTS_STAT) EVENTS_FOUND("missing", RESULT_COUNT, missing),
    EVENTS_FOUND("clock_error_ns", RESULT_NS, bound_ns),
    EVENTS_FOUND("clock_offset_ns", RESULT_TIME, source.offset_ns),
    RESULT_LAST};
static const struct result_table events_files_table = {"files", NULL, events_file_columns,
                                                       "",      NULL, 0};

const struct result_column events_columns[] = {
    DURATIONS,
    {"files", NULL, 0, RESULT_LIST, .list = &events_files_table,
     RESULT_LIST_OF(struct events_job, files, count), .closed = true},
    {0}};

static bool events_decode(const struct event_file *file, rbwp_device_events_fn take, void *context)
{
    struct rbwp_events_stats stats;
    return rbwp_events_decode(&file->source, take, context, &stats, NULL) == RBWP_OK;
}

static bool events_fill_durations(const void *context, struct rbwp_durations *durations)
{
    const struct events_job *job = context;
    bool good = true;
    for (int i = 0; i < job->count && good; i++)
        good = events_decode(&job->files[i], rbwp_durations_take_events, durations);
    return good;
}

/* ---- rows of a profile -------------------------------------------------------------------- */

static bool events_on_rows(void *context, const struct rbwp_device_event *events, size_t count)
{
    struct events_job *job = context;
    uint64_t cells[COLUMNS_device_event];
    char text[ID_NAME_BYTES];
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        uint64_t name = rows_file_name(job->file, events_event_name(job, events[i].id, text));
        kernel_event_cells(&job->place, &events[i], name, cells);
        good = rows_file_add(job->file, 0, cells);
    }
    return good;
}

static bool fill(void *context, struct rows_file *file)
{
    struct events_job *job = context;
    bool good = true;
    job->file = file;
    for (int i = 0; i < job->count && good; i++) {
        const struct event_file *from = &job->files[i];
        job->place = (struct kernel_place){.processor = from->rank,
                                           .shift_ns = (int64_t)(0 - (uint64_t)job->first_ns),
                                           .bound_ns = from->bound_ns};
        good = events_decode(from, events_on_rows, job);
    }
    return good;
}

static enum exit_code events_make(struct events_job *job, struct operands files)
{
    const struct kernel_options *options = &job->options->kernel;
    const struct kernel_maker maker = {
        &kernel_event_schema,
        job,
        fill,
        job->dropped,
        job->has_host_times ? job->first_ns : 0,
        (int64_t)((uint64_t)job->last_ns - (uint64_t)job->first_ns)}; /* whatever they are */
    const struct iris_job iris = {job->options, &job->names, job->files, job->count, files};
    struct durations_report report = {
        job,  false, rank_name, events_event_name, events_fill_durations, events_columns,
        NULL, NULL};
    if (kernel_wants(options, "iris"))
        return exit_worse(job->code, iris_json_write(&iris));
    if (kernel_wants_durations(options))
        return exit_worse(job->code, durations_show(&report, options, files));
    return exit_worse(job->code, kernel_export(options, files, &maker));
}

enum exit_code events_run(const struct events_options *options, struct operands files)
{
    struct events_job job = {.options = options};
    enum exit_code code = EXIT_USAGE;
    bool iris = kernel_wants(&options->kernel, "iris");
    if (!iris && (options->merge || options->raw_cycles))
        return message_usage("--merge and --raw-cycles are for --to iris");
    if (iris && !options->merge && files.count > 1 &&
        out_is_standard(&options->kernel.export.reading.output))
        return message_usage("several ranks are several files: give -o FILE, or --merge");
    if (id_names_parse(&job.names, "--events", options->kernel.events))
        code = events_read_files(&job, files) ? events_make(&job, files) : EXIT_BAD_DATA;
    for (int i = 0; i < job.count; i++)
        event_file_close(&job.files[i]);
    free(job.files);
    id_names_free(&job.names);
    return code;
}
