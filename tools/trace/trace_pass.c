/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_pass.h"

#include "input.h"
#include "message.h"
#include "recordings.h"
#include "sorted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- which of the files that were given are of one job (SPEC.md, 10.14) ---------------------- */
/*
 * Files that do not say their job are of any.
 *
 * Jobs are few, whatever the number of files: each is known by the first file of it.
 */

enum { JOBS_MAX = 64, MISSING_SHOWN = 10 };

static bool same_id(const struct trace_job *a, const struct trace_job *b)
{
    return trace_text_same(a->id, b->id) && trace_text_same(a->step, b->step);
}

/* "job 4711", "job 4711, step 2" */
static void name_job(char *name, size_t room, const struct trace_job *job)
{
    int used = snprintf(name, room, "job %.*s", (int)job->id.bytes, job->id.text);
    if (job->step.bytes && used > 0 && (size_t)used < room)
        snprintf(name + used, room - (size_t)used, ", step %.*s", (int)job->step.bytes,
                 job->step.text);
}

/* The job that most files are of, by its first file; NULL if none says it. */
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
                        trace_text_same(a->facts.host, b->facts.host);
    return job->ranks > 1 && job->rank == other->rank && job->ranks == other->ranks &&
           job->id.bytes && same_id(job, other) &&
           trace_text_same(job->launcher, other->launcher) &&
           trace_text_same(job->command, other->command) && left->os_id && right->os_id &&
           !same_process;
}

static int by_rank(const void *left, const void *right)
{
    const struct trace_source *a = *(const struct trace_source *const *)left;
    const struct trace_source *b = *(const struct trace_source *const *)right;
    SORTED_BY(a, b, facts.job.rank);
    return (a > b) - (a < b); /* in the order in which they were given */
}

/* Sorted by rank; NULL without memory. */
static const struct trace_source **pass_sort(const struct trace_source *sources, int count)
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

static void leave_out_twice(const struct trace_source *sources, int count, bool *dropped)
{
    const struct trace_source **order = pass_sort(sources, count);
    for (int i = 1, first = 0; order && i < count; i++) {
        if (!is_again(order[first], order[i])) {
            first = order[first]->facts.job.rank == order[i]->facts.job.rank ? first : i;
            continue;
        }
        message("%s: is of rank %" PRIu32 " of the job, as %s is, but of another process: dropped",
                order[i]->name, order[i]->facts.job.rank, order[first]->name);
        dropped[order[i] - sources] = true;
    }
    free(order);
}

/* ---- all together --------------------------------------------------------------------------- */

static void leave_out_others(const struct trace_source *sources, int count, bool *dropped)
{
    char own[128], chosen[128];
    const struct trace_source *job = find_job(sources, count);
    for (int i = 0; job && i < count; i++) {
        const struct trace_source *source = &sources[i];
        if (source->facts.job.id.bytes == 0 || same_id(&source->facts.job, &job->facts.job))
            continue;
        name_job(own, sizeof own, &source->facts.job);
        name_job(chosen, sizeof chosen, &job->facts.job);
        message("%s: is of %s, where %s is of %s: dropped", source->name, own, job->name, chosen);
        dropped[i] = true;
    }
}

/* Closes what is not of the job that most files are of, and of two processes of one rank the one
 * that was given later, reports what is dropped, and closes the gaps. EXIT_PARTIAL if anything was.
 */
static enum exit_code job_files_choose(struct trace_source *sources, int *count)
{
    enum exit_code code = EXIT_GOOD;
    int kept = 0;
    bool *dropped = calloc((size_t)*count + 1, sizeof *dropped);
    if (!dropped) {
        message("out of memory");
        return EXIT_PARTIAL;
    }
    leave_out_others(sources, *count, dropped);
    leave_out_twice(sources, *count, dropped);
    for (int i = 0; i < *count; i++) {
        if (dropped[i])
            code = exit_worse(EXIT_PARTIAL, trace_source_close(&sources[i]));
        else
            sources[kept++] = sources[i];
    }
    free(dropped);
    *count = kept;
    return code;
}

/* "node 2", "nodes 2, 5 and 7" ... */
static void report_missing(const uint32_t *missing, uint32_t count, uint32_t ranks)
{
    char list[MISSING_SHOWN * 12 + 1] = "";
    size_t used = 0;
    uint32_t shown = count < MISSING_SHOWN ? count : MISSING_SHOWN;
    for (uint32_t i = 0; i < shown; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu32, i ? ", " : "",
                                 missing[i]);
    message("of the job's %" PRIu32 " nodes %" PRIu32 " have no file here: %s%s; what they did is "
            "dropped",
            ranks, count, list, count > shown ? ", ..." : "");
}

/* Reports which ranks of the job have no file. EXIT_PARTIAL if there are any. */
static enum exit_code job_files_missing(const struct trace_source *sources, int count)
{
    const struct trace_source *job = find_job(sources, count);
    uint32_t ranks = job ? job->facts.job.ranks : 0, next = 0, missing[MISSING_SHOWN], gone = 0;
    const struct trace_source **order = ranks > 1 ? pass_sort(sources, count) : NULL;
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
        report_missing(missing, gone, ranks);
    return gone ? EXIT_PARTIAL : EXIT_GOOD;
}

/* ---- processes are shown in the order of their files, parents above their children ----------- */
/*
 * By their names the children's "run.4711.bin" stand before the parent's "run.bin". Process ids are
 * given again: a parent is of the same machine, and the youngest that is not younger than its
 * child. Files may hold anything: nobody becomes his own ancestor.
 */

struct place {
    const struct trace_identity *identity;
    int at;                              /* in the order of the command line */
    int parent, first_child, next_child; /* such places; -1: none */
};

static int compare_ids(const void *left, const void *right)
{
    const struct place *a = *(const struct place *const *)left;
    const struct place *b = *(const struct place *const *)right;
    SORTED_BY(a, b, identity->os_id);
    return (a->at > b->at) - (a->at < b->at);
}

/* The first of those that are sorted by process id whose id is not smaller. */
static int find_id(struct place *const *sorted, int count, uint64_t os_id)
{
    int at;
    SORTED_FIND(at, count, sorted[at]->identity->os_id < os_id);
    return at;
}

static bool descends(const struct place *places, int from, int ancestor)
{
    while (from >= 0 && from != ancestor)
        from = places[from].parent;
    return from == ancestor;
}

static int pass_parent_of(const struct place *places, struct place *const *sorted, int count,
                          int at)
{
    const struct trace_identity *child = places[at].identity;
    int64_t born_ns = 0;
    int found = -1;
    if (!child->parent || !child->has_boot)
        return -1;
    for (int i = find_id(sorted, count, child->parent);
         i < count && sorted[i]->identity->os_id == child->parent; i++) {
        const struct trace_identity *other = sorted[i]->identity;
        if (!other->has_boot || memcmp(other->boot_id, child->boot_id, sizeof child->boot_id) ||
            other->start_ns > child->start_ns || (found >= 0 && other->start_ns <= born_ns))
            continue;
        found = sorted[i]->at;
        born_ns = other->start_ns;
    }
    return descends(places, found, at) ? -1 : found;
}

/* From the last on: each child is put before those that were given later. */
static void pass_join(struct place *places, struct place *const *sorted, int count,
                      struct trace_source *sources)
{
    for (int i = count; i-- > 0;) {
        int parent = pass_parent_of(places, sorted, count, i);
        if (parent < 0)
            continue;
        places[i].parent = parent;
        places[i].next_child = places[parent].first_child;
        places[parent].first_child = i;
        sources[i].facts.identity.has_family = true;
        sources[parent].facts.identity.has_family = true;
    }
}

/* The place behind this one in its family; -1: it is the last. */
static int next_of(const struct place *places, int at)
{
    if (places[at].first_child >= 0)
        return places[at].first_child;
    while (places[at].parent >= 0 && places[at].next_child < 0)
        at = places[at].parent;
    return places[at].next_child;
}

/* Moves what a process recorded behind its parent's; all else stays in the order of the command
 * line. Without memory all stays as it is. */
static void parents_first(struct trace_source *sources, int count)
{
    size_t most = (size_t)count + 1;
    struct place *places = calloc(most, sizeof *places);
    struct place **sorted = calloc(most, sizeof *sorted);
    struct trace_source *ordered = calloc(most, sizeof *ordered);
    for (int i = 0; places && sorted && i < count; i++) {
        places[i] = (struct place){&sources[i].facts.identity, i, -1, -1, -1};
        sorted[i] = &places[i];
    }
    if (places && sorted && ordered && count > 1) {
        qsort(sorted, (size_t)count, sizeof *sorted, compare_ids);
        pass_join(places, sorted, count, sources);
        int moved = 0;
        for (int i = 0; i < count; i++)
            for (int at = places[i].parent < 0 ? i : -1; at >= 0; at = next_of(places, at))
                ordered[moved++] = sources[at];
        memcpy(sources, ordered, (size_t)count * sizeof *sources);
    }
    free(places);
    free(sorted);
    free(ordered);
}

/* ---- trace pass ------------------------------------------------------------------------------ */

const struct option reading_option_table[] = {
    {"live", 0, NULL, NULL, INPUT_LIVE_HELP, offsetof(struct reading_options, live), NULL},
    {"jobs", 'j', "N", NULL, JOBS_OPTION_HELP, offsetof(struct reading_options, threads),
     jobs_option_store},
    {"raw-times", 0, NULL, NULL, "GPU work as it was seen, clocks of nodes as they were",
     offsetof(struct reading_options, raw_times), NULL},
    {"quiet", 0, NULL, NULL, "how several files were aligned is not reported",
     offsetof(struct reading_options, align.quiet), NULL},
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
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* what is not allowed fails to open, with a message */
}

static enum exit_code open_sources(struct trace_sources *sources, struct operands files, bool live)
{
    enum exit_code code = EXIT_GOOD;
    sources->list = calloc((size_t)files.count, sizeof *sources->list);
    sources->alignments = calloc((size_t)files.count, sizeof *sources->alignments);
    if (!sources->list || !sources->alignments)
        return message_bad_data("out of memory");
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
                                             .stacks =
                                                 pass->stacks ? pass->stacks : pass->maker->stacks,
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

/* Filters that leave nothing are a mistake of who gave them: that is reported, not written. */
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

static void report_too_early(const struct trace *trace)
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
        message("%" PRIu64 " ends of links lead nowhere; dropped", totals->lone_ends);
    if (totals->sent_alone && reads_all(pass))
        message("%" PRIu64 " messages were sent of whose handling no file tells",
                totals->sent_alone);
    if (totals->handled_alone && reads_all(pass))
        message("%" PRIu64 " messages were handled of whose sending no file tells",
                totals->handled_alone);
    if (totals->too_early == 0)
        return EXIT_GOOD;
    report_too_early(pass->trace);
    return pass->options->raw_times ? EXIT_GOOD : EXIT_PARTIAL;
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
        code = exit_worse(code, EXIT_PARTIAL); /* a message was given */
    trace_free(pass->trace);
    return code;
}

enum exit_code trace_pass_write(struct trace_pass *pass, const struct trace_sources *sources)
{
    const struct out_options *output = &pass->options->output;
    if (pass->maker->own_output)
        return write_trace(pass, sources);
    if (!out_open_packed(&pass->out, output, pass->inputs, pass->threads))
        return EXIT_BAD_DATA;
    enum exit_code code = write_trace(pass, sources);
    return exit_worse(code, out_close_packed(&pass->out));
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

static bool any_knows_cpu(const struct trace_sources *sources)
{
    for (int i = 0; i < sources->count; i++) {
        const struct trace_source *source = &sources->list[i];
        bool known = source->facts.knows_cpu;
        for (uint32_t j = 0; j < source->earlier_count; j++)
            known |= source->earlier[j].facts.knows_cpu;
        if (known)
            return true;
    }
    return false;
}

static enum exit_code align_and_write(struct trace_pass *pass, const struct trace_sources *sources)
{
    bool usage;
    struct align_options align = pass->options->align;
    align.no_clocks |= pass->options->raw_times;
    if (!align_sources(sources->list, sources->count, &align, sources->alignments, &usage))
        return usage ? EXIT_USAGE : EXIT_BAD_DATA;
    pass->nodes = count_nodes(sources);
    pass->knows_cpu = any_knows_cpu(sources);
    pass->origin_ns = origin_ns(sources);
    return trace_pass_write(pass, sources);
}

void trace_pass_fail(struct trace_pass *pass)
{
    message_once(&pass->failed, "out of memory; the rest is dropped");
}

bool trace_pass_grow(struct trace_pass *pass, void *array, uint32_t *room, uint32_t count,
                     size_t element_bytes)
{
    const bool grown = grow_zeroed32(array, room, count, element_bytes);
    if (!grown)
        trace_pass_fail(pass);
    return grown;
}

bool trace_pass_is_full(void *state)
{
    const struct trace_pass *pass = *(struct trace_pass *const *)state;
    return pass->failed || out_failed(&pass->out);
}

enum exit_code trace_pass(const struct trace_maker *maker, const void *asked,
                          const struct reading_options *options, struct operands files)
{
    struct trace_pass pass = {.maker = maker, .asked = asked, .options = options, .inputs = files};
    pass.threads = job_threads_new(options->threads);
    if (!pass.threads)
        return message_bad_data("out of memory");
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
