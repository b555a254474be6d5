/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"
#include "quantity.h"
#include "record_summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GPU_SUMMARY_LINES_SHOWN = 5, GPU_SUMMARY_NAME_SHOWN = 80 };

static int shown_bytes(struct trace_text text)
{
    return text.bytes < GPU_SUMMARY_NAME_SHOWN ? (int)text.bytes : GPU_SUMMARY_NAME_SHOWN;
}

static bool begins(const struct stats_row *row, const char *with)
{
    return row->name.bytes >= strlen(with) && memcmp(row->name.text, with, strlen(with)) == 0;
}

static bool is_copy(const struct stats_row *row)
{
    return begins(row, "Memcpy ") || begins(row, "Memset ");
}

bool gpu_summary_any(const struct stats *stats)
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
    char total[QUANTITY_BYTES], mean[QUANTITY_BYTES], count[QUANTITY_BYTES];
    const struct stats_row *row = NULL;
    if (!next_longest(stats, is, NULL))
        return;
    message_plain("  share      total      count       mean  %s", title);
    for (int i = 0; i < GPU_SUMMARY_LINES_SHOWN && (row = next_longest(stats, is, row)); i++)
        message_plain("%6.1f%% %10s %10s %10s  %.*s",
                      whole_ns ? 100.0 * (double)row->total_ns / (double)whole_ns : 0.0,
                      quantity_rough(total, row->total_ns, 3), quantity_grouped(count, row->count),
                      quantity_rough(mean, stats_mean_ns(row), 3), shown_bytes(row->name),
                      row->name.text);
}

/* ---- GPUs ------------------------------------------------------------------------------- */

static void say_gpu(const struct stats *stats, const struct stats_track *track)
{
    char busy[QUANTITY_BYTES], gap[QUANTITY_BYTES], at[QUANTITY_BYTES], gaps[QUANTITY_BYTES];
    const uint64_t extent_ns = stats_extent_ns(stats);
    message_plain("%.*s: busy %.1f%% of the time (%s), %s gaps, the longest %s at %s",
                  shown_bytes(track->track.name), track->track.name.text,
                  extent_ns ? 100.0 * (double)track->busy.busy_ns / (double)extent_ns : 0.0,
                  quantity_rough(busy, track->busy.busy_ns, 3),
                  quantity_grouped(gaps, track->busy.gaps),
                  quantity_rough(gap, track->busy.longest_gap_ns, 3),
                  quantity_time(at, track->busy.longest_gap_at_ns, stats->first_ns));
}

void gpu_summary_say(const char *shown, const struct stats *stats)
{
    char kernels_text[QUANTITY_BYTES], copies_text[QUANTITY_BYTES], extent[QUANTITY_BYTES];
    uint64_t kernels = 0, copies = 0, work_ns = 0;
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < stats->row_count; i++) {
        const struct stats_row *row = &stats->rows[i];
        if (!is_work(row))
            continue;
        *(is_copy(row) ? &copies : &kernels) += row->count;
        work_ns += row->total_ns;
    }
    for (uint32_t i = 0; i < stats->track_count; i++)
        gpus += stats->tracks[i].track.kind == TRACE_GPU;
    message_plain("%s: %s kernel%s and %s copies and sets on %" PRIu32 " GPU%s in %s", shown,
                  quantity_grouped(kernels_text, kernels), kernels == 1 ? "" : "s",
                  quantity_grouped(copies_text, copies), gpus, gpus == 1 ? "" : "s",
                  quantity_rough(extent, stats_extent_ns(stats), 3));
    for (uint32_t i = 0; i < stats->track_count; i++)
        if (stats->tracks[i].track.kind == TRACE_GPU && stats->tracks[i].spans)
            say_gpu(stats, &stats->tracks[i]);
    say_rows(stats, is_work, work_ns, "top kernels");
    say_rows(stats, is_annotation, stats_extent_ns(stats), "ranges, on the GPU");
}

void ranges_summary_say(const char *shown, const struct stats *stats, uint64_t count)
{
    char extent[QUANTITY_BYTES], ranges[QUANTITY_BYTES];
    message_plain("%s: %s range%s in %s", shown, quantity_grouped(ranges, count),
                  count == 1 ? "" : "s", quantity_rough(extent, stats_extent_ns(stats), 3));
    say_rows(stats, is_range, stats_extent_ns(stats), "ranges");
}
