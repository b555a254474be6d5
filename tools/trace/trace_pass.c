/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_pass.h"
#include "input.h"
#include "job_files.h"
#include "jobs_option.h"
#include "message.h"
#include "out_gzip.h"
#include "parents_first.h"
#include "recordings.h"
#include "trace_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

const struct option reading_option_table[] = {
    {"live", 0, NULL, NULL, INPUT_LIVE_HELP, offsetof(struct reading_options, live),
     option_store_true},
    {"jobs", 'j', "N", NULL, JOBS_OPTION_HELP, offsetof(struct reading_options, threads),
     jobs_option_store},
    {"raw-times", 0, NULL, NULL, "GPU work as it was seen, clocks of nodes as they were",
     offsetof(struct reading_options, raw_times), option_store_true},
    {"quiet", 0, NULL, NULL, "how several files were aligned is not reported",
     offsetof(struct reading_options, align.quiet), option_store_true},
    {0},
};

/* More files than this are not kept open together. */
enum { SOURCES_AWAKE = 64 };

/* ---- sources --------------------------------------------------------------------- */

/* All are open until the last one is read, each twice at most. */
static void allow_descriptors(int files)
{
    struct rlimit limit;
    rlim_t needed = 2 * (rlim_t)files + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return;
    limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* what is not allowed cannot be opened, and is told */
}

static enum exit_code open_sources(struct trace_sources *sources, struct operands files, bool live)
{
    enum exit_code code = EXIT_GOOD;
    sources->list = calloc((size_t)files.count, sizeof *sources->list);
    sources->alignments = calloc((size_t)files.count, sizeof *sources->alignments);
    if (!sources->list || !sources->alignments) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    allow_descriptors(files.count);
    for (int i = 0; i < files.count; i++) {
        struct trace_source *source = &sources->list[sources->count];
        if (trace_source_open(source, files.words[i], live)) {
            source->number = (uint32_t)i;
            sources->count++;
            if (files.count > SOURCES_AWAKE)
                trace_source_rest(source);
        } else {
            code = EXIT_BAD_DATA;
        }
    }
    return code;
}

static int64_t origin_ns(const struct trace_sources *sources)
{
    int64_t origin = INT64_MAX;
    for (int i = 0; i < sources->count; i++) {
        int64_t first =
            trace_on_axis(&sources->alignments[i].axis, sources->list[i].facts.first_ns);
        origin = first && first < origin ? first : origin;
    }
    return origin == INT64_MAX ? 0 : origin;
}

/* One that rested does so again: there are many. */
static enum exit_code read_source(struct trace_source *source, struct trace *trace,
                                  const struct trace_read_options *options)
{
    bool rested = !source->state;
    if (!trace_source_wake(source))
        return EXIT_BAD_DATA;
    enum exit_code code = trace_source_read(source, trace, options);
    return rested ? exit_worse(code, trace_source_close(source)) : code;
}

static enum exit_code read_sources(struct trace_pass *pass, const struct trace_sources *sources)
{
    enum exit_code code = EXIT_GOOD;
    for (int i = 0; i < sources->count && !trace_is_full(pass->trace); i++) {
        if (!shard_has(pass->options->inputs.shard, sources->list[i].number))
            continue;
        struct trace_read_options options = {.filter = &pass->filter,
                                             .axis = sources->alignments[i].axis,
                                             .clock_bounded = sources->alignments[i].bounded,
                                             .clock_error_ns = sources->alignments[i].error_ns,
                                             .threads = pass->threads,
                                             .raw_times = pass->options->raw_times,
                                             .clip = pass->maker->clips,
                                             .innermost = pass->innermost,
                                             .annotate = pass->options->annotate};
        code = exit_worse(code, read_source(&sources->list[i], pass->trace, &options));
    }
    return code;
}

static enum exit_code close_sources(struct trace_sources *sources)
{
    enum exit_code code = EXIT_GOOD;
    for (int i = 0; i < sources->count; i++)
        code = exit_worse(code, trace_source_close(&sources->list[i]));
    free(sources->list);
    align_free(sources->alignments, sources->count);
    return code;
}

/* ---- all together ---------------------------------------------------------------- */

/* Filters that leave nothing are a mistake of who gave them: that is told, not written. */
static enum exit_code look_for_nothing(struct trace_pass *pass, const struct trace_sources *sources)
{
    if (pass->maker->empty_is_good || !filter_is_set(&pass->filter) ||
        trace_totals(pass->trace)->spans || trace_is_full(pass->trace))
        return EXIT_GOOD;
    filter_tell_nothing(&pass->filter, sources->count == 1 ? sources->list[0].name : NULL);
    pass->nothing = true;
    if (!pass->maker->own_output)
        out_discard(&pass->out);
    return EXIT_BAD_DATA;
}

static bool reads_all(const struct trace_pass *pass)
{
    return !pass->is_part && !filter_is_set(&pass->filter) && !pass->options->inputs.shard.of;
}

static void tell_too_early(const struct trace *trace)
{
    const struct trace_totals *totals = trace_totals(trace);
    const struct trace_message *worst = &totals->earliest;
    struct trace_text handler = trace_name_of(trace, worst->handled.name);
    char bound[64] = "of which no bound is known";
    if (worst->bounded)
        snprintf(bound, sizeof bound, "which are wrong by %" PRIu64 " ns at most", worst->bound_ns);
    message(
        "%" PRIu64 " of %" PRIu64 " messages were handled before they were sent, by the clocks, "
        "%s; the worst: '%.*s' from node %" PRIu32 " to node %" PRIu32 ", %" PRIu64 " ns before",
        totals->too_early, totals->messages, bound, (int)handler.bytes, handler.text,
        trace_process_of(trace, worst->from_process)->node,
        trace_process_of(trace, worst->to_process)->node, trace_message_early_ns(worst));
}

/* Ends that lead nowhere, and messages that came too early. */
static enum exit_code judge_links(const struct trace_pass *pass)
{
    const struct trace_totals *totals = trace_totals(pass->trace);
    if (totals->lone_ends && reads_all(pass))
        message("%" PRIu64 " ends of links lead nowhere; left out", totals->lone_ends);
    if (totals->sent_alone && reads_all(pass))
        message("%" PRIu64 " messages were sent of whose handling no file tells",
                totals->sent_alone);
    if (totals->handled_alone && reads_all(pass))
        message("%" PRIu64 " messages were handled of whose sending no file tells",
                totals->handled_alone);
    if (totals->too_early == 0)
        return EXIT_GOOD;
    tell_too_early(pass->trace);
    return pass->options->raw_times ? EXIT_GOOD : EXIT_PARTLY;
}

static enum exit_code write_trace(struct trace_pass *pass, const struct trace_sources *sources)
{
    if (!pass->maker->begin(pass))
        return EXIT_BAD_DATA;
    if (pass->maker->read) {
        enum exit_code read = pass->maker->read(pass, sources);
        return exit_worse(read, pass->maker->end(pass));
    }
    pass->trace = trace_new(&pass->sink, pass->origin_ns);
    enum exit_code code = EXIT_BAD_DATA;
    pass->filter = pass->options->filter;
    pass->filter.found = &pass->found;
    if (pass->trace)
        trace_work_behind(pass->trace, pass->threads);
    if (pass->trace && trace_origin_ns(pass->trace))
        filter_count_from(&pass->filter, trace_origin_ns(pass->trace));
    if (pass->trace) {
        trace_add_fact(pass->trace, "rbwp.version", "%s", rbwp_version());
        trace_add_fact(pass->trace, "origin_ns", "%" PRId64, trace_origin_ns(pass->trace));
        align_add_facts(pass->trace, sources->list, sources->count, sources->alignments);
        code = read_sources(pass, sources);
        trace_finish(pass->trace);
        code = exit_worse(code, judge_links(pass));
        code = exit_worse(code, look_for_nothing(pass, sources));
    } else {
        message("out of memory");
    }
    code = exit_worse(code, pass->maker->end(pass));
    if (pass->trace && trace_failed(pass->trace))
        code = exit_worse(code, EXIT_PARTLY); /* the user was told */
    trace_free(pass->trace);
    return code;
}

enum exit_code trace_pass_write(struct trace_pass *pass, const struct trace_sources *sources)
{
    const struct out_options *output = &pass->options->output;
    if (pass->maker->own_output)
        return write_trace(pass, sources);
    if (!out_open(&pass->out, output, pass->inputs))
        return EXIT_BAD_DATA;
    bool packs = out_gzip_wanted(output->path);
    enum exit_code code = EXIT_BAD_DATA;
    if (!packs || out_gzip_start(&pass->out, pass->threads)) {
        code = write_trace(pass, sources);
        if (packs && !out_gzip_finish(&pass->out))
            code = exit_worse(code, EXIT_PARTLY);
    }
    return exit_worse(code, out_close(&pass->out));
}

static uint32_t count_nodes(const struct trace_sources *sources)
{
    uint32_t nodes = 1;
    for (int i = 0; i < sources->count; i++) {
        const struct trace_facts *facts = &sources->list[i].facts;
        uint32_t least = facts->node < UINT32_MAX ? facts->node + 1 : facts->node;
        nodes = least > nodes ? least : nodes;
        nodes = facts->nodes > nodes ? facts->nodes : nodes;
    }
    return nodes;
}

static enum exit_code align_and_write(struct trace_pass *pass, const struct trace_sources *sources)
{
    bool usage;
    struct align_options align = pass->options->align;
    align.no_clocks |= pass->options->raw_times;
    if (!align_sources(sources->list, sources->count, &align, sources->alignments, &usage))
        return usage ? EXIT_USAGE : EXIT_BAD_DATA;
    pass->nodes = count_nodes(sources);
    pass->origin_ns = origin_ns(sources);
    return trace_pass_write(pass, sources);
}

enum exit_code trace_pass(const struct trace_maker *maker, const void *asked,
                          const struct reading_options *options, struct operands files)
{
    struct trace_pass pass = {.maker = maker, .asked = asked, .options = options, .inputs = files};
    pass.threads = job_threads_new(options->threads);
    if (!pass.threads) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    struct trace_sources sources = {0};
    enum exit_code code = open_sources(&sources, files, options->live);
    if (!options->align.force)
        code = exit_worse(code, job_files_choose(sources.list, &sources.count));
    code = exit_worse(code, recordings_join(sources.list, &sources.count));
    parents_first(sources.list, sources.count);
    if (options->align.whole_job && sources.count > 1)
        code = exit_worse(code, job_files_missing(sources.list, sources.count));
    if (sources.count > 0)
        code = exit_worse(code, align_and_write(&pass, &sources));
    code = exit_worse(code, close_sources(&sources)); /* which use the threads */
    job_threads_free(pass.threads);
    return code;
}
