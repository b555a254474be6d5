/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each kind of finding; what it takes to be one stands before it. */
#include "findings.h"
#include "losses.h"
#include "sorted.h"

#include "quantity.h"
#include "trace_category.h"
#include "why_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN = 3,                /* of one kind */
    FINDINGS_NAME_BYTES = 60, /* of a name in a sentence */
    CAUSE_PART = 10,          /* of what is explained, that a cause is worth */
    FINDINGS_SHOWN = 7,       /* in all */
    TURN_HANDOVERS = 20,      /* fewer may be chance */
    QUEUED_LOOKED_AT = 256    /* rows of slots */
};
#define IDLE_PART 0.10     /* of the run */
#define TURN_PART 0.25     /* of the run, that a slot is served */
#define ALL_PART 0.25      /* of the run, that nobody is busy */
#define ALL_BUSY_PART 0.80 /* of the run, that everybody is */
#define GPU_IDLE_PART 0.50
#define LEAST_PART 0.01 /* of the run */
#define LEAST_NS UINT64_C(1000000)

const char *const finding_name[FINDING_KINDS] = {
    "lost",    "refused", "rule",   "hung",     "idle_at_end", "late_start", "idle", "slow",
    "in_turn", "queued",  "uneven", "all_idle", "all_busy",    "gpu_idle",   "polls"};

struct search {
    struct findings *findings;
    const struct stats *stats;
    double run_ns;
    uint32_t queued; /* rows of that category so far */
    bool explained;  /* slow calls are in it, as far as there are some */
    FILE *text;
    struct finding now;
};

/* ---- sentences ------------------------------------------------------------------------- */

/* A finding begins; what is written to search->text is its sentence. False without memory. */
static bool findings_begin(struct search *search, enum finding_what what, double weight)
{
    search->now =
        (struct finding){.what = what, .track = TRACE_NONE, .row = TRACE_NONE, .weight = weight};
    search->text = open_memstream(&search->now.text, &search->now.bytes);
    search->findings->failed |= !search->text;
    return search->text != NULL;
}

static void findings_end(struct search *search)
{
    struct findings *findings = search->findings;
    bool written = fclose(search->text) == 0 && search->now.text;
    if (written && GROW_ARRAY(findings->list, findings->room, findings->count + 1)) {
        findings->list[findings->count++] = search->now;
        return;
    }
    free(search->now.text);
    findings->failed = true;
}

static void findings_place(struct search *search, int64_t from_ns, int64_t to_ns)
{
    search->now.placed = true;
    search->now.from_ns = from_ns;
    search->now.to_ns = to_ns;
}

/* Whole characters of it. */
static void say_name(struct search *search, struct trace_text name)
{
    const uint32_t bytes = trace_text_front(name, FINDINGS_NAME_BYTES);
    fwrite(name.text, 1, bytes, search->text);
    if (bytes < name.bytes)
        fputs("..", search->text);
}

static void say_quoted(struct search *search, struct trace_text name)
{
    fputc('\'', search->text);
    say_name(search, name);
    fputc('\'', search->text);
}

static void say_track(struct search *search, uint32_t number)
{
    const struct stats *stats = search->stats;
    const struct stats_track *track = &stats->tracks[number];
    search->now.track = number;
    say_name(search, track->track.name);
    if (stats->process_count > 1 && track->track.process < stats->process_count) {
        fputs(" of ", search->text);
        say_name(search, stats->processes[track->track.process].name);
    }
}

static void say_row(struct search *search, uint32_t number)
{
    search->now.row = number;
    say_quoted(search, search->stats->rows[number].name);
}

static void say_time(struct search *search, uint64_t ns)
{
    fputs(ROUGH(ns, 3), search->text);
}

static void say_number(struct search *search, uint64_t value)
{
    fputs(GROUPED(value), search->text);
}

static double part(const struct search *search, uint64_t ns)
{
    double part = search->run_ns > 0 ? (double)ns / search->run_ns : 0;
    return part < 1 ? part : 1; /* what is still open may go on after the run */
}

/* ---- what is wrong ---------------------------------------------------------------------- */

static void find_lost(struct search *search)
{
    const struct stats *stats = search->stats;
    if (stats->lost_records == 0 || !findings_begin(search, FINDING_LOST, 4))
        return;
    say_number(search, stats->lost_records);
    fputs(" records were lost: all figures are too small", search->text);
    findings_end(search);
}

static void find_refused(void *context, const char *sentence)
{
    struct search *search = context;
    if (!findings_begin(search, FINDING_REFUSED, 3.5))
        return;
    fputs(sentence, search->text);
    findings_end(search);
}

/* The call that met a rule: "call:NAME>LIMIT: 40.451 ms" (rules.c), as long as it says but for what
 * the clock was corrected by since. NULL if it is none of the longest. */
static const struct stats_call *find_met(const struct search *search, struct trace_text rule,
                                         uint32_t process)
{
    const struct stats *stats = search->stats;
    const char *limit = strrchr(rule.text, '>'), *length = limit ? strchr(limit, ':') : NULL;
    if (strncmp(rule.text, "call:", strlen("call:")) != 0 || !length)
        return NULL;
    const char *name = rule.text + strlen("call:");
    const double wanted_ns = strtod(length + 1, NULL) * 1e6;
    for (uint32_t i = 0; i < stats->longest_count; i++) {
        const struct stats_call *call = &stats->longest[i];
        const struct stats_row *row = &stats->rows[call->row];
        if (fabs((double)call->duration_ns - wanted_ns) < 1e3 + wanted_ns / 1e4 &&
            row->category == TRACE_CALL && row->name.bytes == (size_t)(limit - name) &&
            memcmp(row->name.text, name, row->name.bytes) == 0 &&
            stats->tracks[call->track].track.process == process)
            return call;
    }
    return NULL;
}

static void find_rules(struct search *search)
{
    const struct stats *stats = search->stats;
    for (uint32_t i = 0; i < stats->process_count; i++) {
        const struct stats_process *process = &stats->processes[i];
        if (!process->by_rule || !findings_begin(search, FINDING_RULE, 3.25))
            continue;
        fputs("a rule had this written", search->text);
        if (process->rule.bytes)
            fprintf(search->text, ": %s", process->rule.text);
        const struct stats_call *call =
            process->rule.bytes ? find_met(search, process->rule, i) : NULL;
        if (call) {
            fputs(", in ", search->text);
            say_row(search, call->row);
            fputs(" on ", search->text);
            say_track(search, call->track);
            findings_place(search, call->start_ns, call->start_ns + (int64_t)call->duration_ns);
        }
        findings_end(search);
    }
}

static void find_hung(struct search *search)
{
    const struct stats *stats = search->stats;
    for (uint32_t i = 0, shown = 0; i < stats->open_count && shown < SHOWN; i++) {
        const struct stats_call *call = &stats->open[i];
        if (!stats_is_hung(stats, call) ||
            !findings_begin(search, FINDING_HUNG, 2 + part(search, call->duration_ns)))
            continue;
        shown++;
        say_track(search, call->track);
        fputs(" hung for ", search->text);
        say_time(search, call->duration_ns);
        fputs(" in ", search->text);
        say_row(search, call->row);
        fputs(", until this ended", search->text);
        if (stats_after_run_ns(stats, call) >= STATS_NEWS_NS) {
            fputs(", ", search->text);
            say_time(search, stats_after_run_ns(stats, call));
            fputs(" after the last work", search->text);
        }
        findings_place(search, call->start_ns, call->start_ns + (int64_t)call->duration_ns);
        findings_end(search);
    }
}

/* ---- who was idle ------------------------------------------------------------------------ */

struct stretch {
    int64_t from_ns, to_ns;
};
/* When a worker did nothing, of the kind that is looked for. */
typedef struct stretch (*idle_of)(const struct search *search, const struct stats_track *track);

static struct stretch idle_at_end(const struct search *search, const struct stats_track *track)
{
    return (struct stretch){track->busy.until_ns, search->stats->run_last_ns};
}
static const struct stats_process *process_of(const struct search *search,
                                              const struct stats_track *track)
{
    static const struct stats_process nobody;
    const struct stats *stats = search->stats;
    const uint32_t process = track->track.process;
    return process < stats->process_count ? &stats->processes[process] : &nobody;
}

/* Whose recording began in a file that is not here may have been at work in that one. */
static struct stretch idle_at_start(const struct search *search, const struct stats_track *track)
{
    const bool known = !process_of(search, track)->began_before;
    return (struct stretch){known ? search->stats->run_first_ns : track->busy.first_ns,
                            track->busy.first_ns};
}

static struct stretch idle_between(const struct search *search, const struct stats_track *track)
{
    int64_t from_ns = track->busy.longest_gap_at_ns;
    (void)search;
    return (struct stretch){from_ns, from_ns + (int64_t)track->busy.longest_gap_ns};
}

static void say_idle(struct search *search, enum finding_what what, struct stretch idle)
{
    uint64_t ns = stats_between_ns(idle.from_ns, idle.to_ns);
    fputs(what == FINDING_IDLE_AT_END  ? " was idle for the last "
          : what == FINDING_LATE_START ? " began after "
                                       : " was idle for ",
          search->text);
    say_time(search, ns);
    if (what == FINDING_IDLE)
        fputs(" on end", search->text);
    fprintf(search->text, " (%.1f %% of the run)", 100 * part(search, ns));
    findings_place(search, idle.from_ns, idle.to_ns);
}

static void say_more_idle(struct search *search, enum finding_what what, uint32_t more)
{
    if (!findings_begin(search, what, 0.001))
        return;
    fprintf(search->text, "%" PRIu32 " more worker%s %s for %.0f %% of the run or longer", more,
            more == 1 ? "" : "s",
            what == FINDING_IDLE_AT_END  ? "did nothing at its end"
            : what == FINDING_LATE_START ? "did nothing at its beginning"
                                         : "did nothing on end",
            100 * IDLE_PART);
    findings_end(search);
}

/* Threads of a pool that nobody needs have no share of the work to be too small. */
static bool is_at_work(const struct search *search, const struct stats_track *track)
{
    return stats_is_worker(track) && !stats_is_helper(search->stats, track);
}

/* A tenth of the run, and a millisecond. */
static bool is_idle(const struct search *search, const struct stats_track *track, idle_of idle,
                    uint64_t *ns_out)
{
    if (!is_at_work(search, track) || !track->busy.any || process_of(search, track)->has_gap)
        return false;
    struct stretch stretch = idle(search, track);
    *ns_out = stats_between_ns(stretch.from_ns, stretch.to_ns);
    return *ns_out >= LEAST_NS && part(search, *ns_out) >= IDLE_PART;
}

/* The SHOWN longest, and how many more there are. */
static void find_idle(struct search *search, enum finding_what what, idle_of idle)
{
    const struct stats *stats = search->stats;
    uint32_t longest[SHOWN], shown = 0, all = 0;
    uint64_t lengths_ns[SHOWN], ns;
    for (uint32_t i = 0; i < stats->track_count; i++) {
        if (!is_idle(search, &stats->tracks[i], idle, &ns))
            continue;
        uint32_t at = shown < SHOWN ? shown++ : SHOWN;
        for (all++; at > 0 && lengths_ns[at - 1] < ns; at--)
            if (at < SHOWN) {
                longest[at] = longest[at - 1];
                lengths_ns[at] = lengths_ns[at - 1];
            }
        if (at < SHOWN) {
            longest[at] = i;
            lengths_ns[at] = ns;
        }
    }
    for (uint32_t i = 0; i < shown; i++) {
        double weight = part(search, lengths_ns[i]) / (stats->workers ? stats->workers : 1);
        if (!findings_begin(search, what, weight))
            continue;
        say_track(search, longest[i]);
        say_idle(search, what, idle(search, &stats->tracks[longest[i]]));
        findings_end(search);
    }
    if (all > shown)
        say_more_idle(search, what, all - shown);
}

/* Threads that are idle because nobody needs them are no news, but in a sentence of their own. */
static void find_helpers(struct search *search)
{
    const struct stats *stats = search->stats;
    uint32_t helpers = 0;
    for (uint32_t i = 0; i < stats->track_count; i++)
        helpers += stats_is_helper(stats, &stats->tracks[i]) &&
                   !process_of(search, &stats->tracks[i])->has_gap;
    if (helpers == 0 || !findings_begin(search, FINDING_IDLE, 0.0001))
        return;
    fprintf(search->text, "%" PRIu32 " thread%s ran for less than %d %% of the run", helpers,
            helpers == 1 ? "" : "s", 100 / STATS_HELPER_PART);
    findings_end(search);
}

/* The busiest for half of the run, and twice as long as the others. */
static void find_uneven(struct search *search)
{
    const struct stats *stats = search->stats;
    uint32_t busiest = TRACE_NONE, workers = 0;
    uint64_t all_ns = 0;
    for (uint32_t i = 0; i < stats->track_count; i++) {
        if (!is_at_work(search, &stats->tracks[i]))
            continue;
        workers++;
        all_ns += stats->tracks[i].busy.busy_ns;
        if (busiest == TRACE_NONE ||
            stats->tracks[i].busy.busy_ns > stats->tracks[busiest].busy.busy_ns)
            busiest = i;
    }
    if (workers < 2)
        return;
    uint64_t most_ns = stats->tracks[busiest].busy.busy_ns;
    uint64_t others_ns = (all_ns - most_ns) / (workers - 1);
    if (part(search, most_ns) < 0.5 || most_ns < 2 * others_ns ||
        !findings_begin(search, FINDING_UNEVEN, part(search, most_ns - others_ns) / 2))
        return;
    say_track(search, busiest);
    fprintf(search->text, " was busy for %.1f %% of the run, the other%s for %.1f %%%s",
            100 * part(search, most_ns), workers == 2 ? "" : "s", 100 * part(search, others_ns),
            workers == 2 ? "" : " on average");
    findings_end(search);
}

/* For how long none was busy, and all were. Where busy time is time on a CPU nobody knows when in a
 * call that was: then what must have been so whenever it was. */
static void none_and_all(const struct search *search, uint64_t *none_out, uint64_t *all_out)
{
    const struct stats *stats = search->stats;
    const struct concurrency_result *result = &stats->concurrency;
    const uint64_t run_ns = stats_extent_ns(stats), others = stats->workers - 1;
    *none_out = result->levels ? result->level_ns[0] : 0;
    *all_out = result->levels > stats->workers ? result->level_ns[stats->workers] : 0;
    if (!stats_knows_cpu(stats))
        return;
    *none_out = stats->worker_busy_ns < run_ns ? run_ns - stats->worker_busy_ns : 0;
    *all_out = others && stats->worker_busy_ns / others > run_ns
                   ? stats->worker_busy_ns - others * run_ns
                   : 0;
}

/* Of several workers none was busy for a quarter of the run, or all for four fifths. */
static void find_all(struct search *search)
{
    const struct stats *stats = search->stats;
    uint64_t none_ns, all_ns;
    bool has_gap = false;
    none_and_all(search, &none_ns, &all_ns);
    for (uint32_t i = 0; i < stats->process_count; i++)
        has_gap |= stats->processes[i].has_gap;
    if (stats->merged || stats->workers < 2)
        return;
    if (!has_gap && none_ns >= LEAST_NS && part(search, none_ns) >= ALL_PART &&
        findings_begin(search, FINDING_ALL_IDLE, part(search, none_ns))) {
        fprintf(search->text, "nobody was busy for %.1f %% of the run (",
                100 * part(search, none_ns));
        say_time(search, none_ns);
        fputs(" in all)", search->text);
        findings_end(search);
    }
    if (part(search, all_ns) >= ALL_BUSY_PART && findings_begin(search, FINDING_ALL_BUSY, 0.1)) {
        fprintf(search->text, "all %" PRIu32 " workers were busy for %.1f %% of the run",
                stats->workers, 100 * part(search, all_ns));
        findings_end(search);
    }
}

/* GPUs, for half of the run. */
static void find_gpu_idle(struct search *search)
{
    const struct stats *stats = search->stats;
    for (uint32_t i = 0, shown = 0; i < stats->track_count && shown < SHOWN; i++) {
        const struct stats_track *track = &stats->tracks[i];
        double idle = 1 - part(search, track->busy.busy_ns);
        if (track->track.kind != TRACE_GPU || !track->busy.any || idle < GPU_IDLE_PART ||
            !findings_begin(search, FINDING_GPU_IDLE, idle / 2))
            continue;
        shown++;
        say_track(search, i);
        fprintf(search->text, " was idle for %.1f %% of the run", 100 * idle);
        if (track->busy.longest_gap_ns) {
            fputs(", for ", search->text);
            say_time(search, track->busy.longest_gap_ns);
            fputs(" on end", search->text);
            findings_place(search, track->busy.longest_gap_at_ns,
                           track->busy.longest_gap_at_ns + (int64_t)track->busy.longest_gap_ns);
        }
        findings_end(search);
    }
}

/* ---- what took long ------------------------------------------------------------------------ */

/* How long something waits for work says nothing. */
static bool is_work(const struct stats_row *row)
{
    return row->category < TRACE_RANGE && row->category != TRACE_WAITING &&
           row->category != TRACE_WAIT;
}

/* The longest call of a row, if it is one of those that are known. */
static void place_longest(struct search *search, uint32_t row)
{
    const struct stats *stats = search->stats;
    for (uint32_t i = 0; i < stats->longest_count; i++)
        if (stats->longest[i].row == row) {
            search->now.track = stats->longest[i].track;
            findings_place(search, stats->longest[i].start_ns,
                           stats->longest[i].start_ns + (int64_t)stats->longest[i].duration_ns);
            return;
        }
}

/* ---- which calls took longer than others ---------------------------------------------------- */

struct slow_calls {
    struct trace_text name;
    const char *what; /* behind the name: "", or " waits" */
    uint64_t count, all, excess_ns, usual_ns, total_ns;
};

static struct slow_calls slow_of(struct trace_text name, const struct why_bounds *bounds,
                                 const struct histogram *all, uint64_t total_ns)
{
    return (struct slow_calls){.name = name,
                               .what = "",
                               .count = bounds->slow,
                               .all = all->total,
                               .excess_ns = bounds->excess_ns,
                               .usual_ns = bounds->median_ns,
                               .total_ns = total_ns};
}

static bool begin_slow(struct search *search, const struct slow_calls *slow)
{
    if (!findings_begin(search, FINDING_SLOW, part(search, slow->excess_ns)))
        return false;
    const double share = ((double)slow->excess_ns + (double)slow->count * (double)slow->usual_ns) /
                         (double)slow->total_ns;
    say_number(search, slow->count);
    fputs(" of ", search->text);
    say_number(search, slow->all);
    fputc(' ', search->text);
    say_quoted(search, slow->name);
    const double percent = 100 * (double)slow->count / (double)slow->all;
    fprintf(search->text, percent < 99 ? "%s, %.2g %%, took " : "%s, %.0f %%, took ", slow->what,
            percent);
    say_time(search, slow->excess_ns);
    fputs(" longer than the others", search->text);
    if (share <= 1)
        fprintf(search->text, ", %.0f %% of the time of all", 100 * share);
    return true;
}

/* Far slower than others of the row, and worth a hundredth of the run. */
static bool stands_out(const struct search *search, const struct stats_row *row,
                       struct why_bounds *bounds_out)
{
    return (is_work(row) || row->category == TRACE_QUEUED) &&
           why_bounds_find(&row->durations, 0, 0, bounds_out) &&
           part(search, bounds_out->excess_ns) >= LEAST_PART;
}

/* By the sums alone. */
static void find_slow(struct search *search, uint32_t number)
{
    const struct stats_row *row = &search->stats->rows[number];
    const bool call = row->category == TRACE_CALL;
    struct why_bounds bounds;
    if (!is_work(row) || (call && why_is_run(row->name)) || !stands_out(search, row, &bounds) ||
        (search->explained && row->category <= TRACE_SUB_ITEM) ||
        why_is_scheduling(bounds.excess_ns, bounds.slow, (uint64_t)search->run_ns))
        return;
    const struct slow_calls slow = slow_of(row->name, &bounds, &row->durations, row->total_ns);
    if (!begin_slow(search, &slow))
        return;
    fputs(call ? " (rbwp why)" : "", search->text);
    search->now.row = number;
    place_longest(search, number);
    findings_end(search);
}

/* ---- why, by rbwp why ----------------------------------------------------------------------- */

static uint32_t row_of_name(const struct stats *stats, const struct why_name *name)
{
    const uint8_t category = name->wait ? TRACE_RANGE : TRACE_CALL;
    for (uint32_t i = 0; i < stats->row_count; i++)
        if (stats->rows[i].category == category && trace_text_same(stats->rows[i].name, name->name))
            return i;
    return TRACE_NONE;
}

/* The place of the slowest call of a cause. */
static void place_cause(struct search *search, const struct why_view *view,
                        const struct why_cause *cause)
{
    const struct why_evidence *evidence = &cause->evidence[0];
    if (!cause->evidence_count)
        return;
    const struct trace_track *thread = trace_track_of(view->trace, evidence->thread);
    for (uint32_t i = 0; i < search->stats->track_count; i++) {
        const struct trace_track *track = &search->stats->tracks[i].track;
        if (track->kind == thread->kind && track->process == thread->process &&
            track->id == thread->id)
            search->now.track = i;
    }
    findings_place(search, evidence->start_ns, evidence->start_ns + (int64_t)evidence->duration_ns);
}

static void say_cause(struct search *search, const struct why_view *view, uint32_t number)
{
    const struct why_cause *cause = &view->split->list[number];
    const struct why_said *said = &view->texts[number];
    fprintf(search->text, ": %.0f %%%s ",
            100 * (double)cause->excess_ns / (double)view->split->excess_ns,
            number ? " of it" : "");
    fwrite(said->text.text, 1, said->what_bytes, search->text);
    if (why_on(cause) && said->what_bytes == said->text.bytes) {
        fprintf(search->text, ",%s", why_on(cause));
        say_name(search, trace_track_of(view->trace, cause->thread)->name);
    }
    if (!number && said->stack_front) {
        fputs(", at ", search->text);
        fwrite(said->stack.text, 1, said->stack_front, search->text);
    }
    fwrite(said->text.text + said->what_bytes, 1, said->text.bytes - said->what_bytes,
           search->text);
    search->now.cause = why_cause_words[cause->cause];
    search->now.work = view->work;
    place_cause(search, view, cause);
}

/* What is worth a tenth of it, and a hundredth of the run. */
static void add_causes(struct search *search, const struct why_view *view)
{
    const struct why_split *split = view->split;
    for (uint32_t i = 1; i < split->count; i++) {
        const double weight = part(search, split->list[i].excess_ns);
        if (split->list[i].excess_ns < split->excess_ns / CAUSE_PART || weight < LEAST_PART ||
            !findings_begin(search, FINDING_SLOW, weight))
            continue;
        say_quoted(search, view->name->name);
        search->now.row = row_of_name(search->stats, view->name);
        say_cause(search, view, i);
        findings_end(search);
    }
}

static void add_name(struct search *search, const struct why_view *view,
                     const struct why_name *name)
{
    const struct why_times *times = name->own.slow ? &name->own : &name->queued;
    struct slow_calls slow = slow_of(name->name, &times->bounds, &name->own.values, name->total_ns);
    const bool chosen = name == view->name;
    slow.what = name->wait ? " waits" : "";
    if (chosen) {
        slow.count = why_slow_calls(view);
        slow.excess_ns = view->split->excess_ns;
    } else if (name->judged || name->wait || why_is_run(name->name) ||
               why_is_scheduling(slow.excess_ns, slow.count, (uint64_t)search->run_ns)) {
        return; /* of waits and what is between them a look alone says whether they are news */
    }
    if (!begin_slow(search, &slow))
        return;
    search->now.row = row_of_name(search->stats, name);
    if (search->now.row != TRACE_NONE)
        place_longest(search, search->now.row);
    if (chosen && view->split->period_ns) {
        fputs(", every ", search->text);
        say_time(search, view->split->period_ns);
    }
    if (!chosen)
        fputs(" (rbwp why --name)", search->text);
    else if (view->split->count)
        say_cause(search, view, 0);
    else
        fputs(": no record says why", search->text);
    findings_end(search);
}

/* A run in which a GPU waits for launches is nobody's slow call. */
static void add_launch_bound(struct search *search, const struct why_cause *cause)
{
    if (!findings_begin(search, FINDING_SLOW, part(search, cause->excess_ns)))
        return;
    search->now.cause = why_cause_words[cause->cause];
    fputs("launch-bound: a GPU in use was idle for ", search->text);
    say_time(search, cause->excess_ns);
    fputs(" because what came next of ", search->text);
    say_number(search, cause->calls);
    fputs(" launches was not launched yet", search->text);
    findings_end(search);
}

static enum exit_code take_answer(const struct why_view *view, void *context)
{
    struct search *search = context;
    for (uint32_t i = 0; i < view->names->count && !view->further; i++)
        if (view->names->list[i].excess_ns && &view->names->list[i] != view->name)
            add_name(search, view, &view->names->list[i]);
    if (view->name)
        add_name(search, view, view->name);
    if (view->name && !view->further)
        add_causes(search, view);
    else if (!view->name && view->split->count)
        add_launch_bound(search, &view->split->list[0]);
    return EXIT_GOOD;
}

/* Where a call stands out, or there are waits alone, the files are read again. */
static void explain_slow(struct search *search, const struct findings_files *from)
{
    const struct stats *stats = search->stats;
    const struct why_options options = {.reading = *from->reading};
    bool any_call = false, wanted = false;
    struct why_bounds bounds;
    for (uint32_t i = 0; i < stats->row_count; i++) {
        const struct stats_row *row = &stats->rows[i];
        const bool call = row->category == TRACE_CALL;
        any_call |= call && !why_is_run(row->name);
        wanted |= (call || row->category == TRACE_QUEUED) && stands_out(search, row, &bounds);
    }
    if (!stats->spans || stats->spans > from->spans_most || (!wanted && any_call))
        return;
    const enum exit_code code = why_find(&options, from->files, take_answer, search);
    search->explained = code == EXIT_GOOD;
    search->findings->failed |= code == EXIT_PARTIAL;
}

/* A slot that workers pass to each other and never serve together, for a quarter of the run. */
static void find_in_turn(struct search *search, uint32_t number)
{
    const struct stats_row *row = &search->stats->rows[number];
    if (row->category != TRACE_CALL || part(search, row->total_ns) < TURN_PART)
        return;
    struct slot_turns_result turns = slot_turns_of(&search->stats->turns, number);
    if (turns.workers < 2 || turns.overlaps || turns.handovers < TURN_HANDOVERS ||
        turns.handovers < turns.calls / 10 ||
        !findings_begin(search, FINDING_IN_TURN, part(search, row->total_ns)))
        return;
    fprintf(search->text, "%" PRIu32 " workers serve ", turns.workers);
    say_row(search, number);
    fprintf(search->text, " in turn, never two at once: %.1f %% of the run goes by in it",
            100 * part(search, row->total_ns));
    findings_end(search);
}

/* Work that waited longer than it ran, and a millisecond. */
static void find_queued(struct search *search, uint32_t number)
{
    const struct stats *stats = search->stats;
    const struct stats_row *queued = &stats->rows[number];
    if (queued->category != TRACE_QUEUED || search->queued++ >= QUEUED_LOOKED_AT)
        return;
    for (uint32_t i = 0; i < stats->row_count; i++) {
        const struct stats_row *row = &stats->rows[i];
        uint64_t waited_ns = stats_mean_ns(queued), ran_ns = stats_mean_ns(row);
        if (row->category != TRACE_CALL || row->item != queued->item || waited_ns <= ran_ns ||
            stats_quantile_ns(queued, 990) < LEAST_NS || queued->count < TURN_HANDOVERS ||
            !findings_begin(search, FINDING_QUEUED, stats_share(stats, row->total_ns)))
            continue;
        say_row(search, i);
        fputs(" waited for ", search->text);
        say_time(search, waited_ns);
        fputs(" on average (p99 ", search->text);
        say_time(search, stats_quantile_ns(queued, 990));
        fputs(") before it ran for ", search->text);
        say_time(search, ran_ns);
        findings_end(search);
        return;
    }
}

/* A hundred for each call that did something. */
static void find_polls(struct search *search)
{
    const struct stats *stats = search->stats;
    uint64_t polls = 0, calls = 0;
    for (uint32_t i = 0; i < stats->process_count; i++)
        polls += stats->processes[i].empty_polls;
    for (uint32_t i = 0; i < stats->track_count; i++)
        calls += stats_is_worker(&stats->tracks[i]) ? stats->tracks[i].calls : 0;
    if (polls < 1000 || polls / 100 < calls || !findings_begin(search, FINDING_POLLS, 0.01))
        return;
    say_number(search, polls);
    fputs(" polls found nothing, against ", search->text);
    say_number(search, calls);
    fputs(calls == 1 ? " call that did something" : " calls that did something", search->text);
    findings_end(search);
}

/* ---- all ------------------------------------------------------------------------------------ */

/* What is wrong, what is slow, what else is so, and who had nothing to do. */
static int rank_of(const struct finding *finding)
{
    return finding->weight >= 2              ? 0
           : finding->what == FINDING_SLOW   ? 1
           : !finding_is_idle(finding->what) ? 2
                                             : 3;
}

static int heavier_first(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    if (rank_of(left) != rank_of(right))
        return rank_of(left) - rank_of(right);
    const double l = left->weight / (left->work ? WHY_WORK_PART : 1);
    const double r = right->weight / (right->work ? WHY_WORK_PART : 1);
    if (l < r || l > r)
        return l > r ? -1 : 1;
    SORTED_BY(left, right, what);
    return strcmp(left->text, right->text);
}

/* The ones that weigh most, of each kind and in all. */
static void keep_few(struct findings *findings)
{
    uint32_t of_kind[FINDING_KINDS] = {0}, kept = 0;
    for (uint32_t i = 0; i < findings->count; i++) {
        if (of_kind[findings->list[i].what]++ <= SHOWN && kept < FINDINGS_SHOWN)
            findings->list[kept++] = findings->list[i];
        else
            free(findings->list[i].text);
    }
    findings->count = kept;
}

void findings_make(struct findings *findings, const struct stats *stats, bool filtered,
                   const struct findings_files *from)
{
    struct search search = {
        .findings = findings, .stats = stats, .run_ns = (double)stats_extent_ns(stats)};
    *findings = (struct findings){0};
    find_lost(&search);
    losses_each_refused(stats->refused, find_refused, &search);
    find_rules(&search);
    find_hung(&search);
    if (!filtered) {
        find_idle(&search, FINDING_IDLE_AT_END, idle_at_end);
        find_idle(&search, FINDING_LATE_START, idle_at_start);
        find_idle(&search, FINDING_IDLE, idle_between);
        find_helpers(&search);
        find_uneven(&search);
        find_all(&search);
        find_gpu_idle(&search);
        find_polls(&search);
    }
    explain_slow(&search, from);
    for (uint32_t i = 0; i < stats->row_count; i++) {
        find_slow(&search, i);
        find_in_turn(&search, i);
        find_queued(&search, i);
    }
    if (findings->count)
        qsort(findings->list, findings->count, sizeof *findings->list, heavier_first);
    keep_few(findings);
}

void findings_free(struct findings *findings)
{
    for (uint32_t i = 0; i < findings->count; i++)
        free(findings->list[i].text);
    free(findings->list);
    *findings = (struct findings){0};
}
