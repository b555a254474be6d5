/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_files.h"
#include "message.h"
#include "progress.h"
#include "summary_cache.h"
#include "text_hash.h"

#include <stdlib.h>

/* So many of the longest calls of each file are kept at least, for whoever wants them next. */
enum { TOP_LEAST = 200 };

struct file_job {
    struct trace_source *source;
    const char *cache; /* NULL: none */
    struct stats_options options;
    struct stats stats;
    struct trace_axis axis; /* that the file is read on */
    int64_t shift_ns;       /* of what was read, when it is put to the others */
    enum exit_code code;
    struct message_held messages;
};

/* ---- one file, on any thread --------------------------------------------------------- */

static void add_up(struct file_job *job)
{
    struct trace_sink sink = stats_sink(&job->stats);
    struct trace *trace = trace_new(&sink, 0);
    if (!trace) {
        message("out of memory");
        job->code = EXIT_BAD_DATA;
    } else if (!trace_source_wake(job->source)) {
        job->code = EXIT_BAD_DATA;
    } else {
        job->code = trace_source_read(
            job->source, trace, &(struct trace_read_options){.axis = job->axis, .clip = true});
        trace_finish(trace);
        if (trace_failed(trace))
            job->code = exit_worse(job->code, EXIT_PARTLY);
        job->code = exit_worse(job->code, trace_source_close(job->source));
    }
    stats_finish(&job->stats);
    trace_free(trace);
}

/* What sums depend on, beside the file. */
static uint64_t question(const struct file_job *job)
{
    uint64_t hash = text_hash(TEXT_HASH_FIRST, &job->options.top, sizeof job->options.top);
    for (uint32_t i = 0; i < job->axis.point_count; i++) {
        const struct trace_axis_point *point = &job->axis.points[i];
        hash = text_hash(hash, &point->time_ns, sizeof point->time_ns);
        hash = text_hash(hash, &point->shift_ns, sizeof point->shift_ns);
    }
    return hash;
}

static void files_run(void *context)
{
    struct file_job *job = context;
    struct summary_cache cache = {job->cache, job->source->name, question(job)};
    message_hold(&job->messages);
    job->code = EXIT_GOOD;
    stats_start(&job->stats, &job->options);
    if (!job->cache || !summary_cache_read(&cache, &job->stats)) {
        stats_free(&job->stats);
        stats_start(&job->stats, &job->options);
        add_up(job);
        /* What there was to be said of a file is said each time. */
        if (job->cache && job->code == EXIT_GOOD && !job->stats.failed && !job->messages.bytes)
            summary_cache_write(&cache, &job->stats);
    }
    message_hold(NULL);
}

/* ---- all of them ------------------------------------------------------------------------ */

/* A file is read as it is, and what was read is shifted, so that its sums hold whatever it lies
 * beside; but for one whose clock drifted, which another place gives other sums. */
static void files_place(struct file_job *job, const struct trace_axis *axis)
{
    if (axis->point_count)
        job->axis = *axis;
    else
        job->shift_ns = axis->shift_ns;
}

static enum exit_code files_take(struct file_job *job, struct stats *all)
{
    message_tell(&job->messages);
    if (!all->failed)
        (void)stats_merge(all, &job->stats, job->shift_ns);
    stats_free(&job->stats);
    return job->code;
}

bool stats_files_wanted(const struct reading_options *reading, struct operands files,
                        const char *cache)
{
    return (cache || files.count > STATS_FILES_MANY) && !filter_is_set(&reading->filter) &&
           !reading->live && !reading->raw_times;
}

enum exit_code stats_files_read(struct trace_pass *pass, const struct trace_sources *sources,
                                const char *cache, struct stats *all)
{
    struct ordered_jobs *jobs = ordered_jobs_new(pass->threads, sizeof(struct file_job), files_run);
    enum exit_code code = EXIT_GOOD;
    struct file_job *job;
    struct stats_options options = all->options;
    if (options.top < TOP_LEAST)
        options.top = TOP_LEAST;
    if (!jobs) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    for (int i = 0; i < sources->count && !all->failed; i++) {
        if (!shard_has(pass->options->inputs.shard, sources->list[i].number))
            continue;
        while (!(job = ordered_jobs_next(jobs)))
            code = exit_worse(code, files_take(ordered_jobs_take(jobs), all));
        *job = (struct file_job){
            .source = &sources->list[i],
            .cache = sources->list[i].path && !sources->list[i].earlier_count ? cache : NULL,
            .options = options,
        };
        files_place(job, &sources->alignments[i].axis);
        ordered_jobs_submit(jobs);
        progress_at("files", (uint64_t)i, (uint64_t)sources->count);
    }
    while ((job = ordered_jobs_take(jobs)))
        code = exit_worse(code, files_take(job, all));
    ordered_jobs_free(jobs, NULL);
    return code;
}
