/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs are few, whatever the number of files: each is known by the first file of it. */
#include "job_files.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS_MAX = 64, MISSING_SHOWN = 10 };

static bool same_text(struct trace_text a, struct trace_text b)
{
    return a.bytes == b.bytes && (!a.bytes || memcmp(a.text, b.text, a.bytes) == 0);
}

static bool same_id(const struct trace_job *a, const struct trace_job *b)
{
    return same_text(a->id, b->id) && same_text(a->step, b->step);
}

/* "job 4711", "job 4711, step 2" */
static void name_job(char *name, size_t room, const struct trace_job *job)
{
    int used = snprintf(name, room, "job %.*s", (int)job->id.bytes, job->id.text);
    if (job->step.bytes && used > 0 && (size_t)used < room)
        snprintf(name + used, room - (size_t)used, ", step %.*s", (int)job->step.bytes,
                 job->step.text);
}

/* The job that most files are of, by its first file; NULL if none tells. */
static const struct trace_source *find_job(const struct trace_source *sources, int count)
{
    const struct trace_source *first[JOBS_MAX];
    int files[JOBS_MAX] = {0}, jobs = 0, most = 0;
    for (int i = 0; i < count; i++) {
        int job = 0;
        if (sources[i].facts.job.id.bytes == 0)
            continue;
        while (job < jobs && !same_id(&first[job]->facts.job, &sources[i].facts.job))
            job++;
        if (job == JOBS_MAX)
            continue;
        if (job == jobs)
            first[jobs++] = &sources[i];
        files[job]++;
    }
    for (int job = 1; job < jobs; job++)
        most = files[job] > files[most] ? job : most;
    return jobs ? first[most] : NULL;
}

/* ---- one file a rank ------------------------------------------------------------------------ */

/* A rank may have several programs behind each other, as in a script; one that was started again is
 * the same program. */
static bool is_again(const struct trace_source *a, const struct trace_source *b)
{
    const struct trace_identity *left = &a->facts.identity, *right = &b->facts.identity;
    const struct trace_job *job = &a->facts.job, *other = &b->facts.job;
    bool same_process = left->os_id == right->os_id && left->start_ns == right->start_ns &&
                        same_text(a->facts.host, b->facts.host);
    return job->ranks > 1 && job->rank == other->rank && job->ranks == other->ranks &&
           job->id.bytes && same_id(job, other) && same_text(job->launcher, other->launcher) &&
           same_text(job->command, other->command) && left->os_id && right->os_id && !same_process;
}

static int by_rank(const void *left, const void *right)
{
    const struct trace_source *a = *(const struct trace_source *const *)left;
    const struct trace_source *b = *(const struct trace_source *const *)right;
    if (a->facts.job.rank != b->facts.job.rank)
        return a->facts.job.rank < b->facts.job.rank ? -1 : 1;
    return (a > b) - (a < b); /* in the order in which they were given */
}

/* Sorted by rank; NULL without memory. */
static const struct trace_source **sort(const struct trace_source *sources, int count)
{
    const struct trace_source **order = calloc((size_t)count + 1, sizeof *order);
    for (int i = 0; order && i < count; i++)
        order[i] = &sources[i];
    if (order)
        qsort(order, (size_t)count, sizeof *order, by_rank);
    else
        message("out of memory: nodes that were given twice are not looked for");
    return order;
}

static void leave_out_twice(const struct trace_source *sources, int count, bool *left_out)
{
    const struct trace_source **order = sort(sources, count);
    for (int i = 1, first = 0; order && i < count; i++) {
        if (!is_again(order[first], order[i])) {
            first = order[first]->facts.job.rank == order[i]->facts.job.rank ? first : i;
            continue;
        }
        message("%s: is of rank %" PRIu32 " of the job, as %s is, but of another process: left out",
                order[i]->name, order[i]->facts.job.rank, order[first]->name);
        left_out[order[i] - sources] = true;
    }
    free(order);
}

/* ---- all together --------------------------------------------------------------------------- */

static void leave_out_others(const struct trace_source *sources, int count, bool *left_out)
{
    char own[128], chosen[128];
    const struct trace_source *job = find_job(sources, count);
    for (int i = 0; job && i < count; i++) {
        const struct trace_source *source = &sources[i];
        if (source->facts.job.id.bytes == 0 || same_id(&source->facts.job, &job->facts.job))
            continue;
        name_job(own, sizeof own, &source->facts.job);
        name_job(chosen, sizeof chosen, &job->facts.job);
        message("%s: is of %s, where %s is of %s: left out", source->name, own, job->name, chosen);
        left_out[i] = true;
    }
}

enum exit_code job_files_choose(struct trace_source *sources, int *count)
{
    enum exit_code code = EXIT_GOOD;
    int kept = 0;
    bool *left_out = calloc((size_t)*count + 1, sizeof *left_out);
    if (!left_out) {
        message("out of memory");
        return EXIT_PARTLY;
    }
    leave_out_others(sources, *count, left_out);
    leave_out_twice(sources, *count, left_out);
    for (int i = 0; i < *count; i++) {
        if (left_out[i])
            code = exit_worse(EXIT_PARTLY, trace_source_close(&sources[i]));
        else
            sources[kept++] = sources[i];
    }
    free(left_out);
    *count = kept;
    return code;
}

/* "node 2", "nodes 2, 5 and 7" ... */
static void tell_missing(const uint32_t *missing, uint32_t count, uint32_t ranks)
{
    char list[MISSING_SHOWN * 12 + 1] = "";
    size_t used = 0;
    uint32_t shown = count < MISSING_SHOWN ? count : MISSING_SHOWN;
    for (uint32_t i = 0; i < shown; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu32, i ? ", " : "",
                                 missing[i]);
    message("of the job's %" PRIu32 " nodes %" PRIu32 " have no file here: %s%s; what they did is "
            "left out",
            ranks, count, list, count > shown ? ", ..." : "");
}

enum exit_code job_files_missing(const struct trace_source *sources, int count)
{
    const struct trace_source *job = find_job(sources, count);
    uint32_t ranks = job ? job->facts.job.ranks : 0, next = 0, missing[MISSING_SHOWN], gone = 0;
    const struct trace_source **order = ranks > 1 ? sort(sources, count) : NULL;
    for (int i = 0; order && i <= count; i++) {
        if (i < count && !same_id(&order[i]->facts.job, &job->facts.job))
            continue;
        uint32_t rank = i < count ? order[i]->facts.job.rank : ranks;
        for (; next < rank && next < ranks; next++)
            if (gone++ < MISSING_SHOWN)
                missing[gone - 1] = next;
        next = rank >= next ? rank + 1 : next;
    }
    free(order);
    if (gone)
        tell_missing(missing, gone, ranks);
    return gone ? EXIT_PARTLY : EXIT_GOOD;
}
