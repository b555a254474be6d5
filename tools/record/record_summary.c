/* SPDX-License-Identifier: Apache-2.0 */
#include "record_files.h"

#include "message.h"
#include "quantity.h"
#include "record.h"
#include "stats_files.h"
#include "trace_category.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { THREADS_SUMMARY_LINES_SHOWN = 5, THREADS_SUMMARY_NAME_SHOWN = 60 };

static int shown(struct trace_text text)
{
    return text.bytes < THREADS_SUMMARY_NAME_SHOWN ? (int)text.bytes : THREADS_SUMMARY_NAME_SHOWN;
}

/* Of rows of ranges, which those of the program are as well. */
static bool is_wait(const struct stats_row *row)
{
    static const char *const kinds[] = {"start",         "condition variable",
                                        "mutex",         "rwlock",
                                        "barrier",       "semaphore",
                                        "futex",         "join",
                                        "sleep",         "epoll",
                                        "poll",          "select",
                                        "read",          "write",
                                        "child process", "fsync",
                                        "accept",        "connect",
                                        "signal",        "file lock",
                                        "semaphore set"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (row->category == TRACE_RANGE && trace_text_is(row->name, kinds[i]))
            return true;
    return false;
}

static void say_total(const char *name, const struct stats *stats)
{
    char extent[QUANTITY_BYTES];
    uint64_t stretches = 0, waits = 0;
    uint32_t threads = 0;
    for (uint32_t i = 0; i < stats->track_count; i++)
        threads += stats->tracks[i].track.kind == TRACE_THREAD;
    for (uint32_t i = 0; i < stats->row_count; i++) {
        stretches += stats->rows[i].category == TRACE_CALL ? stats->rows[i].count : 0;
        waits += is_wait(&stats->rows[i]) ? stats->rows[i].count : 0;
    }
    quantity_rough(extent, stats_extent_ns(stats), 3);
    if (waits)
        message_plain("%s: %" PRIu32 " thread%s in %s: %" PRIu64 " run intervals between %" PRIu64
                      " waits",
                      name, threads, threads == 1 ? "" : "s", extent, stretches, waits);
    else
        message_plain("%s: %" PRIu32 " thread%s in %s: %" PRIu64 " calls", name, threads,
                      threads == 1 ? "" : "s", extent, stretches);
}

/* What it ran, where it has a sum of that. */
static uint64_t worked_ns(const struct stats *stats, const struct stats_track *track, bool sums)
{
    return sums ? stats_ran_ns(stats, track) : track->busy.busy_ns;
}

/* The busiest one after this; NULL: there is none. */
static const struct stats_track *next_busiest(const struct stats *stats,
                                              const struct stats_track *before, bool sums)
{
    const struct stats_track *best = NULL;
    for (uint32_t i = 0; i < stats->track_count; i++) {
        const struct stats_track *track = &stats->tracks[i];
        const uint64_t ns = worked_ns(stats, track, sums);
        const uint64_t last_ns = before ? worked_ns(stats, before, sums) : UINT64_MAX;
        bool behind = !before || ns < last_ns || (ns == last_ns && track > before);
        if (track->track.kind == TRACE_THREAD && behind &&
            (!best || ns > worked_ns(stats, best, sums)))
            best = track;
    }
    return best;
}

static void say_busiest(const struct stats *stats)
{
    uint64_t extent_ns = stats_extent_ns(stats);
    const struct stats_track *track = NULL;
    const bool sums = stats_knows_sums(stats);
    message_plain("  share %s  busiest threads", sums ? "       ran    outside" : "      busy");
    for (int i = 0; i < THREADS_SUMMARY_LINES_SHOWN && (track = next_busiest(stats, track, sums));
         i++) {
        const uint64_t ns = worked_ns(stats, track, sums);
        message_plain("%6.1f%% %10s%*s  %.*s",
                      extent_ns ? 100.0 * (double)ns / (double)extent_ns : 0.0, ROUGH(ns, 3),
                      sums ? 11 : 0, sums ? ROUGH(stats_outside_ns(stats, track), 3) : "",
                      shown(track->track.name), track->track.name.text);
    }
}

/* A thread that waited by a call that is not wrapped did not run for so long. */
static void say_longest(const struct stats *stats)
{
    int said = 0;
    for (uint32_t i = 0; i < stats->longest_count && said < THREADS_SUMMARY_LINES_SHOWN; i++) {
        const struct stats_call *call = &stats->longest[i];
        if (call->cpu.waiting_ns > call->duration_ns / 2)
            continue;
        if (said++ == 0)
            message_plain("  start               lasted  longest run intervals");
        struct trace_text name = stats->rows[call->row].name;
        struct trace_text thread = stats->tracks[call->track].track.name;
        message_plain("%15s %10s  %.*s, %.*s", SINCE_ZERO(call->start_ns, stats->first_ns),
                      ROUGH(call->duration_ns, 3), shown(thread), thread.text, shown(name),
                      name.text);
    }
}

static void say_delays(const struct stats *stats)
{
    for (uint32_t i = 0; i < stats->row_count; i++) {
        const struct stats_row *row = &stats->rows[i];
        if (row->category == TRACE_RANGE && trace_text_is(row->name, "queue delay") && row->count)
            message_plain("from signal to run: %" PRIu64
                          " wake-ups, median %s, 99 of 100 within %s, the longest %s",
                          row->count, ROUGH(stats_quantile_ns(row, 500), 3),
                          ROUGH(stats_quantile_ns(row, 990), 3), ROUGH(row->max_ns, 3));
    }
}

/* What threads did and waited for. */
static void threads_summary_say(const char *shown, const struct stats *stats)
{
    say_total(shown, stats);
    say_busiest(stats);
    say_longest(stats);
    say_delays(stats);
}

enum { GPU_SUMMARY_LINES_SHOWN = 5, GPU_SUMMARY_NAME_SHOWN = 80 };

static int shown_bytes(struct trace_text text)
{
    return text.bytes < GPU_SUMMARY_NAME_SHOWN ? (int)text.bytes : GPU_SUMMARY_NAME_SHOWN;
}

static bool gpu_summary_any(const struct stats *stats)
{
    for (uint32_t i = 0; i < stats->track_count; i++)
        if (stats->tracks[i].track.kind == TRACE_GPU && stats->tracks[i].spans)
            return true;
    return false;
}

/* ---- lines of one kind, those that took longest first ------------------------------------- */

typedef bool row_is(const struct stats_row *row);

static bool is_work(const struct stats_row *row)
{
    return row->category == TRACE_GPU_WORK && row->count;
}
static bool is_range(const struct stats_row *row)
{
    return row->category == TRACE_RANGE && row->count;
}
static bool is_annotation(const struct stats_row *row)
{
    return row->category == TRACE_ANNOTATION && row->count;
}

/* The row that comes after this one; NULL: none. */
static const struct stats_row *next_longest(const struct stats *stats, row_is *is,
                                            const struct stats_row *before)
{
    const struct stats_row *best = NULL;
    for (uint32_t i = 0; i < stats->row_count; i++) {
        const struct stats_row *row = &stats->rows[i];
        bool behind = !before || row->total_ns < before->total_ns ||
                      (row->total_ns == before->total_ns && row > before);
        if (is(row) && behind && (!best || row->total_ns > best->total_ns))
            best = row;
    }
    return best;
}

static void say_rows(const struct stats *stats, row_is *is, uint64_t whole_ns, const char *title)
{
    const struct stats_row *row = NULL;
    if (!next_longest(stats, is, NULL))
        return;
    message_plain("  share      total      count       mean  %s", title);
    for (int i = 0; i < GPU_SUMMARY_LINES_SHOWN && (row = next_longest(stats, is, row)); i++)
        message_plain("%6.1f%% %10s %10s %10s  %.*s",
                      whole_ns ? 100.0 * (double)row->total_ns / (double)whole_ns : 0.0,
                      ROUGH(row->total_ns, 3), GROUPED(row->count), ROUGH(stats_mean_ns(row), 3),
                      shown_bytes(row->name), row->name.text);
}

/* ---- GPUs ------------------------------------------------------------------------------- */

static void say_gpu(const struct stats *stats, const struct stats_track *track)
{
    const uint64_t extent_ns = stats_extent_ns(stats);
    message_plain("%.*s: busy %.1f%% of the time (%s), %s gaps, the longest %s at %s",
                  shown_bytes(track->track.name), track->track.name.text,
                  extent_ns ? 100.0 * (double)track->busy.busy_ns / (double)extent_ns : 0.0,
                  ROUGH(track->busy.busy_ns, 3), GROUPED(track->busy.gaps),
                  ROUGH(track->busy.longest_gap_ns, 3),
                  SINCE_ZERO(track->busy.longest_gap_at_ns, stats->first_ns));
}

/* What GPUs did, in which ranges. shown: the files, for people. */
static void gpu_summary_say(const char *shown, const struct stats *stats)
{
    uint64_t kernels = 0, copies = 0, work_ns = 0;
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < stats->row_count; i++) {
        const struct stats_row *row = &stats->rows[i];
        if (!is_work(row))
            continue;
        *((trace_text_begins(row->name, "Memcpy ") || trace_text_begins(row->name, "Memset "))
              ? &copies
              : &kernels) += row->count;
        work_ns += row->total_ns;
    }
    for (uint32_t i = 0; i < stats->track_count; i++)
        gpus += stats->tracks[i].track.kind == TRACE_GPU;
    message_plain("%s: %s kernel%s and %s copies and sets on %" PRIu32 " GPU%s in %s", shown,
                  GROUPED(kernels), kernels == 1 ? "" : "s", GROUPED(copies), gpus,
                  gpus == 1 ? "" : "s", ROUGH(stats_extent_ns(stats), 3));
    for (uint32_t i = 0; i < stats->track_count; i++)
        if (stats->tracks[i].track.kind == TRACE_GPU && stats->tracks[i].spans)
            say_gpu(stats, &stats->tracks[i]);
    say_rows(stats, is_work, work_ns, "top kernels");
    say_rows(stats, is_annotation, stats_extent_ns(stats), "ranges, on the GPU");
}

/* So many ranges of the program, where no GPU worked in them. */
static void ranges_summary_say(const char *shown, const struct stats *stats, uint64_t count)
{
    message_plain("%s: %s range%s in %s", shown, GROUPED(count), count == 1 ? "" : "s",
                  ROUGH(stats_extent_ns(stats), 3));
    say_rows(stats, is_range, stats_extent_ns(stats), "ranges");
}

enum { LONGEST_KEPT = 200 }; /* among them are those that waited */

/* Rows of one kind. */
static uint64_t count_rows(const struct stats *stats, unsigned category)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < stats->row_count; i++)
        count += stats->rows[i].category == category ? stats->rows[i].count : 0;
    return count;
}

static void say_all(const char *shown, const struct stats *stats, unsigned asked)
{
    const bool gpu = gpu_summary_any(stats), calls = count_rows(stats, TRACE_CALL) > 0;
    const uint64_t ranges = count_rows(stats, TRACE_RANGE);
    if (gpu)
        gpu_summary_say(shown, stats);
    else if (asked & RECORD_GPU)
        message("no GPU was used");
    if (calls)
        threads_summary_say(shown, stats);
    else if (ranges && !gpu)
        ranges_summary_say(shown, stats, ranges);
    if (stats->lost_records)
        message_plain("%" PRIu64 " records found no room", stats->lost_records);
    if (!gpu && !calls && !ranges)
        message_plain("%s: nothing happened in it", shown);
}

bool record_summary_say(struct operands files, unsigned asked)
{
    struct stats_load load = {.options = {.top = LONGEST_KEPT, .no_concurrency = true}};
    char shown[512];
    load.reading.terminal.no_progress = true;
    load.reading.align.quiet = true;
    enum exit_code code = stats_load(&load, files);
    if (!load.loaded)
        return false;
    if (files.count > 1)
        snprintf(shown, sizeof shown, "%.400s and %d more", files.words[0], files.count - 1);
    else
        snprintf(shown, sizeof shown, "%.500s", files.words[0]);
    say_all(shown, &load.stats, asked);
    stats_free(&load.stats);
    return code != EXIT_BAD_DATA;
}
