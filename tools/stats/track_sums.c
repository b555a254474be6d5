/* SPDX-License-Identifier: Apache-2.0 */
/* Once a call is not kept, those that begin later say nothing: others of their time are missing. */
#include "track_sums.h"

#include "grow.h"
#include "stats_row.h"
#include "trace_rows.h"
#include "trace_span.h"

#include <stdlib.h>

static void leave_out(struct slot_turns_row *row, int64_t start_ns)
{
    row->until_ns = !row->cut || start_ns < row->until_ns ? start_ns : row->until_ns;
    row->cut = true;
}

bool slot_turns_add(struct slot_turns *turns, uint32_t number, const struct trace_span *span)
{
    if (!grow_zeroed32(&turns->rows, &turns->row_room, number + 1, sizeof *turns->rows))
        return false;
    struct slot_turns_row *row = &turns->rows[number];
    if (row->count == 0 && turns->used == SLOT_TURNS_ROWS)
        return true;
    if (!grow_zeroed32(&row->of_track, &row->track_room, span->track + 1, sizeof *row->of_track) ||
        !grow_array32(&row->calls, &row->room, row->count + 1, sizeof *row->calls))
        return false;
    if (row->count == SLOT_TURNS_CALLS || row->of_track[span->track] == SLOT_TURNS_OF_TRACK) {
        leave_out(row, span->start_ns);
        return true;
    }
    turns->used += row->count == 0;
    row->of_track[span->track]++;
    row->calls[row->count++] = (struct slot_turn){span->start_ns, span->stop_ns, span->track};
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct slot_turn *left = a, *right = b;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return left->track < right->track ? -1 : left->track > right->track;
}

static uint32_t workers_of(const struct slot_turns_row *row)
{
    uint32_t workers = 0;
    for (uint32_t i = 0; i < row->track_room; i++)
        workers += row->of_track[i] > 0;
    return workers;
}

struct slot_turns_result slot_turns_of(const struct slot_turns *turns, uint32_t number)
{
    struct slot_turns_result result = {0};
    if (number >= turns->row_room || turns->rows[number].count == 0)
        return result;
    struct slot_turns_row *row = &turns->rows[number];
    qsort(row->calls, row->count, sizeof *row->calls, by_start);
    struct slot_turn last = row->calls[0]; /* the one that ends last so far */
    result.workers = workers_of(row);
    for (uint32_t i = 0; i < row->count; i++) {
        const struct slot_turn *call = &row->calls[i];
        if (row->cut && call->start_ns >= row->until_ns)
            break;
        result.calls++;
        result.handovers += i > 0 && call->track != call[-1].track;
        result.overlaps |= call->track != last.track && call->start_ns < last.stop_ns;
        if (call->stop_ns >= last.stop_ns)
            last = *call;
    }
    return result;
}

void slot_turns_free(struct slot_turns *turns)
{
    for (uint32_t i = 0; i < turns->row_room; i++) {
        free(turns->rows[i].calls);
        free(turns->rows[i].of_track);
    }
    free(turns->rows);
    *turns = (struct slot_turns){0};
}

/* Starts may be early by their bound: busy_add takes intervals that ascend by little less. */
static void add_certain(struct launch_sums *sums, const struct trace_span *span,
                        const struct trace_detail *detail)
{
    int64_t from_ns, until_ns;
    uint64_t tail_ns = detail->stop_uncertain_ns, duration_ns = trace_duration_ns(span);
    sums->bounded++;
    if (detail->certain_ns == 0 || detail->certain_ns > duration_ns ||
        tail_ns > duration_ns - detail->certain_ns)
        return;
    int64_t stop_ns = span->stop_ns - (int64_t)tail_ns;
    (void)busy_add(&sums->certain, stop_ns - (int64_t)detail->certain_ns, stop_ns, &from_ns,
                   &until_ns);
}

bool launch_sums_add(struct launch_sums *sums, const struct trace_span *span,
                     const struct trace_detail *detail)
{
    if (detail->flags & TRACE_HAS_BOUNDS)
        add_certain(sums, span, detail);
    if (!(detail->flags & TRACE_HAS_LAUNCH) || detail->flags & TRACE_INFERRED ||
        span->flags & TRACE_CUT)
        return true;
    if (span->start_ns < detail->launch_ns) {
        sums->early++;
        return true;
    }
    uint64_t latency_ns = (uint64_t)span->start_ns - (uint64_t)detail->launch_ns;
    sums->min_ns = sums->count++ && sums->min_ns < latency_ns ? sums->min_ns : latency_ns;
    sums->max_ns = latency_ns > sums->max_ns ? latency_ns : sums->max_ns;
    sums->total_ns = stats_sum(sums->total_ns, latency_ns);
    return histogram_add(&sums->latencies, latency_ns);
}

uint64_t launch_sums_quantile_ns(const struct launch_sums *sums, unsigned permille)
{
    uint64_t value = histogram_quantile(&sums->latencies, permille);
    value = value < sums->min_ns ? sums->min_ns : value;
    return value > sums->max_ns ? sums->max_ns : value;
}

void counter_sums_add(struct counter_sums *sums, const struct trace_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct trace_sample *sample = &samples[i];
        double value = trace_sample_value(sample);
        if (sums->count == 0) {
            sums->min = sums->max = value;
            sums->first_ns = sums->last_ns = sample->time_ns;
        }
        sums->area += sums->last * (double)((uint64_t)sample->time_ns - (uint64_t)sums->last_ns);
        sums->min = value < sums->min ? value : sums->min;
        sums->max = value > sums->max ? value : sums->max;
        sums->last = value;
        sums->last_ns = sample->time_ns;
        sums->count++;
    }
}

double counter_sums_mean(const struct counter_sums *sums)
{
    uint64_t length_ns = (uint64_t)sums->last_ns - (uint64_t)sums->first_ns;
    return length_ns ? sums->area / (double)length_ns : sums->last;
}
