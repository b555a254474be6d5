/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"
#include "quantity.h"
#include "record_summary.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

enum { THREADS_SUMMARY_LINES_SHOWN = 5, THREADS_SUMMARY_NAME_SHOWN = 60 };

static int shown(struct trace_text text)
{
    return text.bytes < THREADS_SUMMARY_NAME_SHOWN ? (int)text.bytes : THREADS_SUMMARY_NAME_SHOWN;
}

static bool is_named(const struct stats_row *row, const char *name)
{
    return row->name.bytes == strlen(name) && memcmp(row->name.text, name, row->name.bytes) == 0;
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
        if (row->category == TRACE_RANGE && is_named(row, kinds[i]))
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
        message_plain("%s: %" PRIu32 " thread%s in %s: %" PRIu64 " stretches between %" PRIu64
                      " waits",
                      name, threads, threads == 1 ? "" : "s", extent, stretches, waits);
    else
        message_plain("%s: %" PRIu32 " thread%s in %s: %" PRIu64 " calls", name, threads,
                      threads == 1 ? "" : "s", extent, stretches);
}

/* The busiest one after this; NULL: there is none. */
static const struct stats_track *next_busiest(const struct stats *stats,
                                              const struct stats_track *before)
{
    const struct stats_track *best = NULL;
    for (uint32_t i = 0; i < stats->track_count; i++) {
        const struct stats_track *track = &stats->tracks[i];
        bool behind = !before || track->busy.busy_ns < before->busy.busy_ns ||
                      (track->busy.busy_ns == before->busy.busy_ns && track > before);
        if (track->track.kind == TRACE_THREAD && behind &&
            (!best || track->busy.busy_ns > best->busy.busy_ns))
            best = track;
    }
    return best;
}

static void say_busiest(const struct stats *stats)
{
    char busy[QUANTITY_BYTES];
    uint64_t extent_ns = stats_extent_ns(stats);
    const struct stats_track *track = NULL;
    message_plain("  share       busy  busiest threads");
    for (int i = 0; i < THREADS_SUMMARY_LINES_SHOWN && (track = next_busiest(stats, track)); i++)
        message_plain("%6.1f%% %10s  %.*s",
                      extent_ns ? 100.0 * (double)track->busy.busy_ns / (double)extent_ns : 0.0,
                      quantity_rough(busy, track->busy.busy_ns, 3), shown(track->track.name),
                      track->track.name.text);
}

static void say_longest(const struct stats *stats)
{
    char duration[QUANTITY_BYTES], start[QUANTITY_BYTES];
    if (stats->longest_count)
        message_plain("  start               lasted  longest stretches");
    for (uint32_t i = 0; i < stats->longest_count; i++) {
        const struct stats_call *call = &stats->longest[i];
        struct trace_text name = stats->rows[call->row].name;
        struct trace_text thread = stats->tracks[call->track].track.name;
        message_plain("%15s %10s  %.*s, %.*s",
                      quantity_time(start, call->start_ns, stats->first_ns),
                      quantity_rough(duration, call->duration_ns, 3), shown(thread), thread.text,
                      shown(name), name.text);
    }
}

static void say_delays(const struct stats *stats)
{
    char median[QUANTITY_BYTES], high[QUANTITY_BYTES], most[QUANTITY_BYTES];
    for (uint32_t i = 0; i < stats->row_count; i++) {
        const struct stats_row *row = &stats->rows[i];
        if (row->category == TRACE_RANGE && is_named(row, "queue delay") && row->count)
            message_plain("from signal to run: %" PRIu64
                          " wake-ups, median %s, 99 of 100 within %s, the longest %s",
                          row->count, quantity_rough(median, stats_quantile_ns(row, 500), 3),
                          quantity_rough(high, stats_quantile_ns(row, 990), 3),
                          quantity_rough(most, row->max_ns, 3));
    }
}

void threads_summary_say(const char *shown, const struct stats *stats)
{
    say_total(shown, stats);
    say_busiest(stats);
    say_longest(stats);
    say_delays(stats);
}
