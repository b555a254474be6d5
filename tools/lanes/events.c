/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp events: device events of one or several ranks, each rank a file. */
#include "durations_report.h"
#include "event_source.h"
#include "id_names.h"
#include "iris_json.h"
#include "json_text.h"
#include "kernel_export.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

static void tell(struct events_job *job, const struct event_file *file)
{
    const struct rbwp_events_stats *stats = &file->stats;
    const struct {
        uint64_t count;
        const char *what;
    } kinds[] = {
        {stats->unwritten, "slots were given out and have no time, left out"},
        {stats->backwards, "events stop before they start"},
        {stats->other_rank, "events are of another rank"},
        {stats->bad_bytes, "events have a negative size or place"},
        {file->missing, "events are missing, as the file is cut"},
        {file->dump.cut, "cut: the file is shorter than its head says"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].count) {
            message("%s: damaged: %" PRIu64 " %s", file->dump.name, kinds[i].count, kinds[i].what);
            job->code = exit_worse(job->code, EXIT_PARTLY);
        }
    uint64_t dropped = stats->dropped - (file->missing < stats->dropped ? file->missing : 0);
    if (dropped)
        message("%s: %" PRIu64 " of %" PRIu64 " events had no slot", file->dump.name, dropped,
                stats->counted);
    if (stats->unended)
        message("%s: %" PRIu64 " events have no end", file->dump.name, stats->unended);
    if (stats->unused)
        message("%s: %" PRIu64 " slots were asked for in advance and not used, left out",
                file->dump.name, stats->unused);
    job->dropped += dropped;
}

static int by_rank(const void *a, const void *b)
{
    const struct event_file *left = a, *right = b;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static bool ranks_differ(const struct events_job *job)
{
    for (int i = 1; i < job->count; i++)
        if (job->files[i].rank == job->files[i - 1].rank) {
            message("%s and %s are both of rank %" PRIu32, job->files[i - 1].dump.name,
                    job->files[i].dump.name, job->files[i].rank);
            return false;
        }
    return true;
}

static bool read_files(struct events_job *job, struct operands files)
{
    bool any = false;
    job->has_host_times = true;
    job->files = calloc((size_t)files.count, sizeof *job->files);
    if (!job->files) {
        message("out of memory");
        return false;
    }
    for (int i = 0; i < files.count; i++) {
        struct event_file *file = &job->files[job->count];
        if (!event_file_open(file, files.words[i], (uint32_t)i, job->options)) {
            job->code = EXIT_BAD_DATA;
            continue;
        }
        tell(job, file);
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

static const char *event_name(const void *context, int64_t event, char *text)
{
    const struct events_job *job = context;
    for (uint32_t i = 0; i < job->names.count; i++)
        if (job->names.names[i].id == event)
            return id_names_get(&job->names, "unknown", event, text);
    return rbwp_events_name_of((int32_t)event, text);
}

static void put_file(struct out *out, const struct event_file *file)
{
    const struct rbwp_events_stats *stats = &file->stats;
    out_text(out, "{");
    json_name(out, "file", file->dump.name, strlen(file->dump.name));
    const struct {
        const char *key;
        uint64_t value;
    } members[] = {{"rank", file->rank},
                   {"counted", stats->counted},
                   {"dropped", stats->dropped},
                   {"events", stats->events},
                   {"spans", stats->spans},
                   {"unended", stats->unended},
                   {"unwritten", stats->unwritten},
                   {"backwards", stats->backwards},
                   {"other_rank", stats->other_rank},
                   {"bad_bytes", stats->bad_bytes},
                   {"missing", file->missing},
                   {"clock_error_ns", file->bound_ns}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        out_text(out, ",");
        json_u64(out, members[i].key, members[i].value);
    }
    out_text(out, ",");
    json_i64(out, "clock_offset_ns", file->source.offset_ns);
    out_text(out, "}");
}

static void put_durations(const struct events_job *job, struct out *out,
                          struct rbwp_durations *durations)
{
    const struct durations_names names = {job, rank_name, event_name};
    if (!job->options->kernel.json) {
        durations_text(out, durations, &names);
        return;
    }
    durations_json(out, durations, &names);
    out_text(out, ",\n\"files\":[");
    for (int i = 0; i < job->count; i++) {
        out_text(out, i ? ",\n" : "\n");
        put_file(out, &job->files[i]);
    }
    out_text(out, "\n]}\n");
}

static bool decode(const struct event_file *file, rbwp_device_events_fn take, void *context)
{
    struct rbwp_events_stats stats;
    return rbwp_events_decode(&file->source, take, context, &stats, NULL) == RBWP_OK;
}

static enum exit_code show_durations(struct events_job *job, struct operands files)
{
    struct out out;
    struct rbwp_durations *durations = rbwp_durations_new();
    bool good = durations != NULL;
    for (int i = 0; i < job->count && good; i++)
        good = decode(&job->files[i], rbwp_durations_take_events, durations);
    if (!good)
        message("out of memory");
    else if (!out_open(&out, &job->options->kernel.export.reading.output, files))
        good = false;
    else {
        put_durations(job, &out, durations);
        job->code = exit_worse(job->code, out_close(&out));
    }
    rbwp_durations_free(durations);
    return good ? job->code : EXIT_BAD_DATA;
}

/* ---- rows of a profile -------------------------------------------------------------------- */

static bool take_rows(void *context, const struct rbwp_device_event *events, size_t count)
{
    struct events_job *job = context;
    uint64_t cells[KERNEL_EVENT_COLUMNS];
    char text[ID_NAME_BYTES];
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        uint64_t name = rows_file_name(job->file, event_name(job, events[i].id, text));
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
        good = decode(from, take_rows, job);
    }
    return good;
}

static enum exit_code make(struct events_job *job, struct operands files)
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
    if (kernel_wants(options, "iris"))
        return exit_worse(job->code, iris_json_write(&iris));
    if (kernel_wants_durations(options))
        return show_durations(job, files);
    return exit_worse(job->code, kernel_export(options, files, &maker));
}

enum exit_code events_run(const struct events_options *options, struct operands files)
{
    struct events_job job = {.options = options};
    enum exit_code code = EXIT_USAGE;
    bool iris = kernel_wants(&options->kernel, "iris");
    if (!iris && (options->merge || options->raw_cycles)) {
        message_usage("--merge and --raw-cycles are for --to iris");
        return EXIT_USAGE;
    }
    if (iris && !options->merge && files.count > 1 &&
        out_is_standard(&options->kernel.export.reading.output)) {
        message_usage("several ranks are several files: give -o FILE, or --merge");
        return EXIT_USAGE;
    }
    if (id_names_parse(&job.names, "--events", options->kernel.events))
        code = read_files(&job, files) ? make(&job, files) : EXIT_BAD_DATA;
    for (int i = 0; i < job.count; i++)
        event_file_close(&job.files[i]);
    free(job.files);
    id_names_free(&job.names);
    return code;
}
