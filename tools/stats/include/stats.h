/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - a trace added up.
 *
 * A sink (trace.h) that keeps, of any number of spans: a row for each kind of
 * work (category, item and name), a row for each track, the longest calls,
 * the losses, and how many workers were busy at the same time. Knows nothing
 * of output. Memory grows with the number of rows and tracks, never with
 * spans; all texts are copies, so that the trace may go.
 *
 * What is counted:
 * - a span counts in its row if its end is known; one that is unfinished is
 *   counted as such, and its time as busy time of its track only;
 * - one that still ran at the end (TRACE_OPEN) is unfinished, too, but its time
 *   so far is in the row's total. It has no duration yet: count, mean, quantiles
 *   and the longest calls are without it;
 * - the self time of a span is its duration less that of the spans directly
 *   inside it, on the same lane, that are finished or still ran;
 * - a sub-item that waits (TRACE_WAITING) is no busy time of its track, whatever is around it;
 * - a track is busy while at least one outermost span of it is open, however
 *   many overlap; ranges are no work, and what they enclose counts as if
 *   they were not there;
 * - of a span of which it is known when its thread was not on a CPU, that is no busy time; how many
 *   workers were busy counts it as if it had come last in the span, since when it was is not known;
 * - workers are threads and processors, not GPUs and channels. The run is the
 *   time from their first start to their last stop, of a filtered trace that
 *   in which any of them recorded (stats_set_run); the share of worker time
 *   is of the run times the number of workers.
 * A span marked TRACE_LATE comes after its contents: these are held against
 * it by the id of their parent, of up to STATS_LATE such parents a track.
 */
#ifndef STATS_H
#define STATS_H

#include "arg_text.h"
#include "busy_cells.h"
#include "inside_kernels.h"
#include "slow_stacks.h"
#include "stalls.h"
#include "stats_row.h"

/* ---- arg sums -------------------------------------------------------------------------------- */
/*
 * Spans added up by the value that they have for one key.
 *
 * Numbers of few values have a row each; of more than ARG_SUMS_EXACT, one for each power of two
 * (with its sign, and 0). Texts have a row each, up to ARG_SUMS_TEXTS; what comes beyond shares
 * one. A span with several values for the key counts for each. With fold_literals, texts that
 * differ in numbers and quoted strings alone are one: "SELECT * FROM t WHERE id = ?".
 */

struct trace_detail;
struct trace_span;

#define ARG_SUMS_EXACT 32u
#define ARG_SUMS_TEXTS (64u << 10)

struct arg_sum {
    struct stats_row row; /* its name is the value */
    uint8_t class;
    bool quoted;
    double least; /* of numbers: the value, or the one nearest to 0 */
    uint64_t bits;
};

/* Zero but for key is an empty one. */
struct arg_sums {
    const char *key; /* NULL: nobody asked */
    bool fold_literals;
    uint32_t key_name; /* its number + 1; 0: it has not come */
    struct arg_sum *list;
    uint32_t count, room;
    uint32_t exact, texts;   /* of these */
    bool ranges;             /* there were more numbers than have a row each */
    struct index_map places; /* of list */
    uint64_t without;        /* calls that have no value */
    bool failed;
};

/* Of names as they come. */
void arg_sums_name(struct arg_sums *sums, uint32_t number, struct trace_text name);
void arg_sums_span(struct arg_sums *sums, const struct trace_span *span,
                   const struct trace_detail *detail, const struct trace_text *names,
                   uint32_t name_count);
/* After the last: rows that are shown, numbers ascending, then texts by their total. */
void arg_sums_finish(struct arg_sums *sums);
void arg_sums_free(struct arg_sums *sums);

/* ---- track sums ------------------------------------------------------------------------------ */
/*
 * Sums of tracks: whether workers serve a slot at the same time, or one after the other, and what
 * some have beside busy time.
 *
 * Of turns it keeps the first calls of each slot on each worker, so many that memory is bounded
 * (SLOT_TURNS_ROWS * SLOT_TURNS_CALLS of 24 bytes at most), and looks at the interval in which it
 * has all of them.
 */

struct trace_sample;

enum { SLOT_TURNS_ROWS = 64, SLOT_TURNS_CALLS = 16384, SLOT_TURNS_OF_TRACK = 2048 };

struct slot_turn {
    int64_t start_ns, stop_ns;
    uint32_t track;
};
struct slot_turns_row {
    struct slot_turn *calls;
    uint32_t count, room;
    uint32_t *of_track; /* calls kept, by track */
    uint32_t track_room;
    bool cut; /* calls from until_ns on are not all here */
    int64_t until_ns;
};
/* Zero is none. */
struct slot_turns {
    struct slot_turns_row *rows; /* by row of the sums */
    uint32_t row_room, used;     /* used: rows with calls */
};

struct slot_turns_result {
    uint32_t calls, workers;
    uint32_t handovers; /* calls that another worker ran than the one before */
    bool overlaps;      /* two workers were in the slot at the same time */
};

/* A finished call. False without memory. */
bool slot_turns_add(struct slot_turns *turns, uint32_t row, const struct trace_span *span);
/* What is known of a row; sorts it. */
struct slot_turns_result slot_turns_of(const struct slot_turns *turns, uint32_t row);
void slot_turns_free(struct slot_turns *turns);

/* What some tracks have beside busy time: launches of a GPU's work and how sure its
 * times are, and the values of a counter. */

/* From the beginning of the launching call to the start of the work, where the source has it. */
struct launch_sums {
    uint64_t count, early; /* early: starts before its launch, by the bounds of both; not counted */
    uint64_t total_ns, min_ns, max_ns;
    struct histogram latencies;
    uint64_t bounded;    /* spans with bounds */
    struct busy certain; /* while they certainly ran */
};
/* False when out of memory. */
bool launch_sums_add(struct launch_sums *sums, const struct trace_span *span,
                     const struct trace_detail *detail);
uint64_t launch_sums_quantile_ns(const struct launch_sums *sums, unsigned permille);
static inline uint64_t launch_sums_mean_ns(const struct launch_sums *sums)
{
    return sums->count ? sums->total_ns / sums->count : 0;
}

/* A value holds until the next one. */
struct counter_sums {
    uint64_t count;
    double min, max, last;
    double area; /* of values times ns until the last sample */
    int64_t first_ns, last_ns;
};
void counter_sums_add(struct counter_sums *sums, const struct trace_sample *samples, size_t count);
/* Over time; of values at one time their last. */
double counter_sums_mean(const struct counter_sums *sums);

/* ---- message sums ---------------------------------------------------------------------------- */
/*
 * Messages between processes, by the handler that they are for: how long they were on their way,
 * and how long they waited for it.
 */

struct trace_message;

struct message_time {
    uint64_t total_ns, max_ns;
    struct histogram times;
};

struct message_sum {
    uint32_t name; /* the trace's number */
    struct trace_text handler;
    uint64_t count, bytes;
    uint64_t early; /* arrived before they were sent, which the clocks are not good enough for:
                       their way took 0 */
    struct message_time network, queue, handling;
};

/* Zero is none. */
struct message_sums {
    struct message_sum *list; /* after finish: by count, then by name */
    uint32_t count, room;
    uint32_t *of_name, name_room; /* place in the list + 1, by number of the name */
};

/* False without memory: it is not counted then. */
bool message_sums_add(struct message_sums *sums, const struct trace_message *message);
/* names: of the trace, by number. They are copied. False without memory. */
bool message_sums_finish(struct message_sums *sums, const struct trace_text *names,
                         uint32_t name_count);
void message_sums_free(struct message_sums *sums);

uint64_t message_time_quantile_ns(const struct message_time *time, unsigned permille);

/* ---- concurrency ----------------------------------------------------------------------------- */
/*
 * How many were busy at the same time, and for how long.
 *
 * Takes intervals in any order, as threads hand them in block by block, and sweeps over their ends
 * in the order of time when all have come. The ends are kept as one number each; CONCURRENCY_ENDS
 * at a time are sorted and kept as the steps between them, some two bytes each, from
 * CONCURRENCY_KEPT_BYTES on in a temporary file, so memory is bounded and the result is exact.
 */

#define CONCURRENCY_ENDS (1u << 20)
#define CONCURRENCY_KEPT_BYTES (64u << 20)
#define CONCURRENCY_STEPS 100 /* of the course over time */

/* Sorted ends, as steps. */
struct concurrency_piece {
    uint8_t *kept;       /* NULL: in the file */
    uint64_t begin, end; /* there; of one that is kept 0 and how many bytes it has */
};

struct concurrency {
    int64_t *ends; /* the time, and what happened then */
    int64_t *spare;
    size_t count, room;
    int fd; /* of the temporary file, -1 none yet */
    struct concurrency_piece *pieces;
    uint32_t piece_count, piece_room;
    uint64_t kept_bytes, file_bytes;
    uint64_t kept_most; /* bytes: CONCURRENCY_KEPT_BYTES after start */
    bool failed;        /* a message was given */
};

struct concurrency_result {
    uint64_t *level_ns; /* by number of busy ones: time during which it was so */
    uint32_t levels;    /* 0 when it failed */
    int64_t first_ns, step_ns;
    /* Busy time of all in each step of step_ns from first_ns. */
    uint64_t step_busy_ns[CONCURRENCY_STEPS];
};

void concurrency_start(struct concurrency *concurrency);
void concurrency_add(struct concurrency *concurrency, int64_t start_ns, int64_t stop_ns);
/* It was not busy all of that time: a part of what was added, or will be, goes. */
void concurrency_take_off(struct concurrency *concurrency, int64_t start_ns, int64_t stop_ns);
/* All between first_ns and last_ns, in which all intervals lie; frees what was kept. */
void concurrency_finish(struct concurrency *concurrency, int64_t first_ns, int64_t last_ns,
                        struct concurrency_result *result_out);
/* Without a result. */
void concurrency_stop(struct concurrency *concurrency);
void concurrency_free(struct concurrency_result *result);

/* ---- a trace added up ------------------------------------------------------------------------ */

#define STATS_ROWS_MAX (1u << 18) /* what comes beyond goes into one row "(others)" */
#define STATS_LOSSES_MAX 1000u    /* listed; the sum has all */
#define STATS_LATE 8
#define STATS_OPEN_MAX 1000u /* of those that still ran, the ones that ran longest are kept */
#define STATS_TOP_MAX 10000u
/* Workers that are stopped while they work are no news: of what still ran at the end, that which
 * ran for so long is. */
#define STATS_NEWS_NS UINT64_C(1000000)
#define STATS_HUNG_NS UINT64_C(1000000000)
/* Who runs for less than one of so many parts does not work. */
#define STATS_HELPER_PART 100

/* A span that came late, or will: what is directly inside it. */
struct stats_late {
    uint64_t id;
    uint64_t nested_ns;
    uint32_t row; /* TRACE_NONE until it has come */
};

struct stats_lane {
    uint32_t *rows; /* of the spans that enclose the place reached; TRACE_NONE: unfinished */
    uint32_t room;
};

struct stats_track {
    struct trace_track track; /* its name is a copy */
    struct busy busy;
    int64_t first_ns, last_ns;         /* of all spans, valid if there are any */
    uint64_t spans, unfinished, calls; /* calls: outermost spans */
    uint64_t lost_records;
    uint64_t waiting_ns;  /* in sub-items that wait, and blocked in calls: no busy time */
    int64_t waited_to_ns; /* end of the last sub-item that waits */
    struct trace_cpu cpu; /* of the calls that are its busy time, as far as it is known */
    int64_t split_to_ns;  /* end of the last of them of which it is */
    uint64_t ran_ns;      /* by the thread's sum, and in calls outside of it; or in calls */
    struct stats_lane *lanes;
    uint32_t lane_count;
    struct stats_late late[STATS_LATE];
    unsigned next_late;
    struct work_depth depth;
    struct launch_sums *launches; /* of a GPU; NULL: nothing is known of launches and bounds */
    struct counter_sums *counter; /* NULL: it is none, or without samples */
};

struct stats_call {
    int64_t start_ns;
    uint64_t duration_ns, id;
    uint32_t track, row;
    struct trace_text args; /* as of arg sums, its own copy */
    struct trace_cpu cpu;   /* of its duration, as far as it is known */
};

struct stats_process {
    uint32_t node;
    struct trace_text name, source;
    bool began_before, has_gap, ended; /* as in struct trace_process */
    bool knows_cpu;                    /* of some of its calls it is known whether they ran */
    bool by_rule;                      /* a flight recorder's rule had the file written */
    struct trace_text rule;  /* which one, and what met it: "call:parse>30ms: 40.451 ms" */
    uint64_t empty_polls;    /* calls that did nothing and left no trace */
    struct busy_cells cells; /* of its workers, if options.cells */
};

struct stats_loss {
    uint32_t process, track;
    struct trace_text cause;
    uint32_t refused; /* as in struct trace_loss */
    uint64_t count, bytes;
    int64_t first_ns, last_ns;
};

/* Things that sums name by their numbers. */
enum { STATS_PROCESSES, STATS_TRACKS, STATS_ROWS, STATS_THINGS };

struct stats_options {
    uint32_t top;        /* longest calls to keep, at most STATS_TOP_MAX */
    bool orphans;        /* enclosing spans may have been filtered out: what has a parent that is
                            not there is then outermost */
    bool no_concurrency; /* leave it out: it needs a temporary file for large traces */
    const char *arg_key; /* calls by their value for this; NULL: not asked for */
    bool fold_literals;  /* of texts among them (arg sums) */
    bool cells;          /* how busy each process was over time */
    bool inside;         /* what kernels noted, by kernel and group, which may need one, too */
    bool stalls;         /* who waits for whom; stacks of slow calls, if the maker wants stacks */
    bool turns;          /* which workers serve which slot when */
};

struct stats {
    struct stats_options options;
    int64_t zero_ns; /* times that people read count from it */
    struct stats_row *rows;
    struct stats_track *tracks;
    struct stats_process *processes;
    struct stats_call *longest; /* after finish: the longest first */
    struct stats_call *open;    /* spans that still ran at the end: the same */
    struct stats_loss *losses;
    uint32_t row_count, track_count, process_count, longest_count, open_count, loss_count;
    uint64_t spans, cut, links, lost_records, open_spans;
    uint64_t refused[RBWP_LOSS_CAUSE_MAX + 1]; /* calls, by cause */
    uint64_t skipped_bytes;       /* of files, in which nobody knows how many records were */
    struct message_sums messages; /* known after finish */
    uint64_t samples, table_rows; /* table_rows: of tables that are nothing but that */

    /* After finish. */
    int64_t first_ns, last_ns;         /* of spans; 0,0 without */
    int64_t run_first_ns, run_last_ns; /* of the workers' spans; without workers of all */
    uint32_t workers;                  /* tracks */
    uint64_t worker_busy_ns, worker_waiting_ns, worker_runnable_ns;
    bool has_sums; /* some thread ran outside of calls that are known to have run */
    bool run_set;  /* the run was given */
    bool merged;   /* of sums of files (stats_files.h): concurrency is that of each process */
    struct concurrency_result concurrency;
    struct inside_kernels inside; /* if options.inside */
    struct kernel_lines lines;    /* likewise */
    struct arg_sums args;         /* if options.arg_key */
    struct slot_turns turns;      /* if options.turns */
    struct stalls stalls;         /* if options.stalls; finished by whom has the trace */
    struct slow_stacks slow;      /* likewise */

    /* While it is filled. */
    struct concurrency ends;
    struct trace_text *names; /* by number, the trace's */
    uint32_t *row_of_name;    /* rows + 1 */
    struct index_map places;  /* of rows */
    uint32_t name_room, row_of_name_room, row_room, track_room, process_room;
    bool failed; /* out of memory; a message was given */
};

void stats_start(struct stats *stats, const struct stats_options *options);
/* The sink to give to trace_new; stats must stay where it is. */
struct trace_sink stats_sink(struct stats *stats);
/* Before finish, when spans were filtered: the run, wherever those that are left begin and end. */
void stats_set_run(struct stats *stats, const struct trace_totals *totals);
/* After the last span. */
void stats_finish(struct stats *stats);
void stats_free(struct stats *stats);

/* ---- derived ------------------------------------------------------------------------- */

/* Of the run. */
uint64_t stats_extent_ns(const struct stats *stats);
static inline bool stats_is_worker(const struct stats_track *track)
{
    return track->track.kind == TRACE_THREAD || track->track.kind == TRACE_PROCESSOR;
}
/* A place where GPU work, copies and the like are done. */
bool stats_is_gpu(const struct stats_track *track);
/* Calls and the like, not sub-items and GPU work. */
bool stats_is_call(unsigned category);
uint64_t stats_self_ns(const struct stats_row *row);
uint64_t stats_mean_ns(const struct stats_row *row);
/* Inside [min, max] of the row. */
uint64_t stats_quantile_ns(const struct stats_row *row, unsigned permille);
/* Whether anything is known of calls' time on a CPU. */
bool stats_knows_cpu(const void *stats);
/* Of a thread of which that is known: it ran for next to nothing of the run. */
bool stats_is_helper(const struct stats *stats, const struct stats_track *track);
/* Whether any thread did, see has_sums. */
bool stats_knows_sums(const void *stats);
/* At most the run. */
uint64_t stats_ran_ns(const struct stats *stats, const struct stats_track *track);
/* Of that what is in no call that is known to have run. */
uint64_t stats_outside_ns(const struct stats *stats, const struct stats_track *track);
/* Of its busy time that of which nothing is known. */
static inline uint64_t stats_unknown_ns(const struct stats_track *track)
{
    return track->busy.busy_ns > track->cpu.running_ns ? track->busy.busy_ns - track->cpu.running_ns
                                                       : 0;
}
/* Of the run, neither busy nor waiting, nor ready to run. */
uint64_t stats_idle_ns(const struct stats *stats, const struct stats_track *track);
/* Of one that still ran: longer than all of its kind that ended, or so long that nobody waits. What
 * a rule has written has the program in the middle of its work: there only the latter counts. Where
 * it is known whether calls run, what runs does not hang, nor does what belongs to a process that
 * has ended. */
bool stats_is_hung(const struct stats *stats, const struct stats_call *call);
/* Of one that still ran: how much of it came after the run, which ends with the last work. */
uint64_t stats_after_run_ns(const struct stats *stats, const struct stats_call *call);
/* Where it was made: of a range its thread, not the row of ranges below that. */
const struct stats_track *stats_thread_of(const struct stats *stats, const struct stats_call *call);
/* Part of all workers' time, 0 to 1 (more where spans of a row overlap). */
double stats_share(const struct stats *stats, uint64_t time_ns);

#endif /* STATS_H */
