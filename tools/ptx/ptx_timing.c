/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_timing.h"
#include "trace_axis.h"

enum {
    RATE_NS = 10000,       /* so much of a timer's time gives the clock's rate */
    LANE_RATE_NS = 100000, /* ... and that of one lane, which may be another than the mean */
    WRONG_NS = 100000,     /* by which anchors may be further off than they say */
    DRIFT_PPM = 200        /* by which two clocks run apart, at most */
};

static int64_t between(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* A timer's value that can be one. */
static bool is_time(uint64_t globaltimer)
{
    return globaltimer > 0 && globaltimer <= (uint64_t)PTX_TIME_MAX;
}

static bool has_record(const struct ptx_cell *cell)
{
    return cell->start != 0 && ptx_cell_cycles(cell) >= 0;
}

/* ---- the device's clocks --------------------------------------------------------------- */

/* The kernel's time as far as lanes saw it. */
static void see_timing(struct ptx_timing *timing, uint64_t globaltimer)
{
    if (!is_time(globaltimer))
        return;
    int64_t time_ns = (int64_t)globaltimer;
    if (!timing->start_ns || time_ns < timing->start_ns)
        timing->start_ns = time_ns;
    if (time_ns > timing->stop_ns)
        timing->stop_ns = time_ns;
}

/* From a lane's head to its last record; false where they cannot be. */
static bool lane_length(const struct ptx_matrix *matrix, uint32_t lane, double *cycles_out,
                        double *ns_out)
{
    const struct ptx_lane_head head = ptx_matrix_head(matrix, lane);
    for (uint32_t row = matrix->rows; row-- > 0;) {
        const struct ptx_cell *cell = ptx_matrix_at(matrix, row, lane);
        if (!has_record(cell))
            continue;
        const struct ptx_cell_place place = ptx_matrix_place(matrix, row, lane);
        *cycles_out = (double)(cell->end - head.clock);
        *ns_out = (double)place.globaltimer - (double)head.globaltimer;
        return is_time(head.globaltimer) && is_time(place.globaltimer) && cell->end > head.clock &&
               *ns_out > 0;
    }
    return false;
}

static void see_wide(struct ptx_timing *timing, const struct ptx_launch *launch)
{
    const struct ptx_matrix *matrix = timing->matrix;
    double cycles = 0, ns = 0, most_ns = 0;
    for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
        double lane_cycles, lane_ns;
        see_timing(timing, ptx_matrix_head(matrix, lane).globaltimer);
        for (uint32_t row = 0; row < matrix->rows; row++)
            if (has_record(ptx_matrix_at(matrix, row, lane)))
                see_timing(timing, ptx_matrix_place(matrix, row, lane).globaltimer);
        if (!lane_length(matrix, lane, &lane_cycles, &lane_ns))
            continue;
        cycles += lane_cycles;
        ns += lane_ns;
        most_ns = lane_ns > most_ns ? lane_ns : most_ns;
    }
    if (ns > 0 && (most_ns >= RATE_NS || !launch->clock_hz))
        timing->cycles_per_ns = cycles / ns;
}

/* First and last clock of a lane; false: it has no record. */
static bool lane_clocks(const struct ptx_matrix *matrix, uint32_t lane, uint64_t *first_out,
                        uint64_t *last_out)
{
    bool any = false;
    for (uint32_t row = 0; row < matrix->rows; row++) {
        const struct ptx_cell *cell = ptx_matrix_at(matrix, row, lane);
        if (!has_record(cell))
            continue;
        if (!any || cell->start < *first_out)
            *first_out = cell->start;
        if (!any || cell->end > *last_out)
            *last_out = cell->end;
        any = true;
    }
    return any;
}

/* No lane takes longer than the kernel. */
static void see_compat(struct ptx_timing *timing)
{
    const struct ptx_matrix *matrix = timing->matrix;
    double most = 0, kernel_ns = (double)(timing->stop_ns - timing->start_ns);
    for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
        uint64_t first, last;
        if (lane_clocks(matrix, lane, &first, &last) && (double)(last - first) > most)
            most = (double)(last - first);
    }
    if (kernel_ns > 0 && timing->cycles_per_ns * kernel_ns < most)
        timing->cycles_per_ns = most / kernel_ns;
}

/* ---- the host's clock ------------------------------------------------------------------ */

static int64_t offset(const struct ptx_anchor *anchor)
{
    return anchor->host_ns - anchor->device_ns;
}

/* What anchors say, wherever that is. */
static int64_t by_anchors(const struct ptx_timing *timing, int64_t device_ns)
{
    const struct ptx_anchor *from = &timing->from, *to = &timing->to;
    int64_t apart_ns = to->device_ns - from->device_ns;
    double part = apart_ns > 0 ? (double)(device_ns - from->device_ns) / (double)apart_ns : 0;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return trace_shifted(device_ns + offset(from),
                         (int64_t)(part * (double)(offset(to) - offset(from))));
}

/* The best one on either side of the launch. */
static void choose_anchors(struct ptx_timing *timing, const struct ptx_launch *launch)
{
    const struct ptx_anchor *before = NULL, *after = NULL;
    for (uint32_t i = 0; i < launch->anchor_count; i++) {
        const struct ptx_anchor *anchor = &launch->anchors[i];
        const struct ptx_anchor **best = anchor->host_ns <= launch->launch_ns ? &before : &after;
        if (!*best || anchor->bound_ns < (*best)->bound_ns)
            *best = anchor;
    }
    if (!before && !after)
        return;
    timing->from = before ? *before : *after;
    timing->to = after ? *after : *before;
    int64_t apart_ns = timing->to.device_ns - timing->from.device_ns;
    int64_t drift_ns = offset(&timing->to) - offset(&timing->from);
    int64_t bound_ns =
        timing->from.bound_ns > timing->to.bound_ns ? timing->from.bound_ns : timing->to.bound_ns;
    drift_ns = drift_ns < 0 ? -drift_ns : drift_ns;
    timing->anchored = apart_ns >= 0 && drift_ns < PTX_TIME_MAX / 2;
    if (drift_ns / 2 > bound_ns + apart_ns / 1000000 * DRIFT_PPM)
        bound_ns = drift_ns; /* one of them is wrong */
    timing->bound_ns = (uint64_t)bound_ns;
}

/* Whether they put the kernel between its launch and its end, or not far off: then they are wrong
 * by as much at least. */
static bool ptx_timing_fits(struct ptx_timing *timing)
{
    int64_t early_ns = trace_shifted(timing->low_ns, -by_anchors(timing, timing->start_ns));
    int64_t late_ns = trace_shifted(by_anchors(timing, timing->stop_ns), -timing->high_ns);
    int64_t wrong_ns = early_ns > late_ns ? early_ns : late_ns;
    if (wrong_ns > (int64_t)timing->bound_ns + WRONG_NS)
        return false;
    if (wrong_ns > (int64_t)timing->bound_ns)
        timing->bound_ns = (uint64_t)wrong_ns;
    return true;
}

int64_t ptx_timing_host(const struct ptx_timing *timing, int64_t device_ns)
{
    int64_t host_ns = timing->anchored ? by_anchors(timing, device_ns)
                                       : timing->low_ns + (device_ns - timing->start_ns);
    return between(host_ns, timing->low_ns, timing->high_ns);
}

/* ---- lanes ----------------------------------------------------------------------------- */

/* Saturates far outside of all times, where the sum of two is still a number. */
static int64_t device_at(const struct ptx_lane_timing *lane, uint64_t clock)
{
    double ns = clock >= lane->clock ? (double)(clock - lane->clock) / lane->cycles_per_ns
                                     : -((double)(lane->clock - clock) / lane->cycles_per_ns);
    double most = (double)PTX_TIME_MAX;
    int64_t more = ns >= most ? PTX_TIME_MAX : ns <= -most ? -PTX_TIME_MAX : (int64_t)ns;
    return between(lane->device_ns + more, 0, PTX_TIME_MAX);
}

/* The line through the head is moved into the middle of what the timer says of the records. */
static void fit_wide(const struct ptx_matrix *matrix, uint32_t number, struct ptx_lane_timing *lane)
{
    int64_t least = 0, most = 0; /* of the head: it is on the line */
    for (uint32_t row = 0; row < matrix->rows; row++) {
        const struct ptx_cell *cell = ptx_matrix_at(matrix, row, number);
        uint64_t timer = ptx_matrix_place(matrix, row, number).globaltimer;
        if (!has_record(cell) || !is_time(timer))
            continue;
        int64_t error = (int64_t)timer - device_at(lane, cell->end);
        least = error < least ? error : least;
        most = error > most ? error : most;
    }
    lane->device_ns = between(lane->device_ns + least + (most - least) / 2, 0, PTX_TIME_MAX);
    lane->bound_ns = (uint64_t)(most - least + 1) / 2;
}

void ptx_timing_lane(const struct ptx_timing *timing, uint32_t number, struct ptx_lane_timing *lane)
{
    const struct ptx_matrix *matrix = timing->matrix;
    int64_t kernel_ns = timing->stop_ns - timing->start_ns;
    uint64_t first = 0, last = 0;
    double cycles, ns;
    *lane = (struct ptx_lane_timing){.cycles_per_ns = timing->cycles_per_ns};
    if (matrix->wide && is_time(ptx_matrix_head(matrix, number).globaltimer)) {
        const struct ptx_lane_head head = ptx_matrix_head(matrix, number);
        lane->clock = head.clock;
        lane->device_ns = (int64_t)head.globaltimer;
        if (lane_length(matrix, number, &cycles, &ns) && ns >= LANE_RATE_NS)
            lane->cycles_per_ns = cycles / ns;
        fit_wide(matrix, number, lane);
        return;
    }
    lane_clocks(matrix, number, &first, &last);
    double lane_ns = (double)(last - first) / lane->cycles_per_ns;
    lane->clock = first;
    lane->device_ns = timing->start_ns;
    lane->bound_ns = lane_ns < (double)kernel_ns ? (uint64_t)((double)kernel_ns - lane_ns) : 0;
}

/* The line of a lane goes beyond the timer's last value by as much as it is off. */
static void see_lanes(struct ptx_timing *timing)
{
    const struct ptx_matrix *matrix = timing->matrix;
    for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
        struct ptx_lane_timing found;
        uint64_t first, last;
        if (!lane_clocks(matrix, lane, &first, &last) ||
            !is_time(ptx_matrix_head(matrix, lane).globaltimer))
            continue;
        ptx_timing_lane(timing, lane, &found);
        see_timing(timing, (uint64_t)device_at(&found, first));
        see_timing(timing, (uint64_t)device_at(&found, last));
    }
}

int64_t ptx_timing_at(const struct ptx_timing *timing, const struct ptx_lane_timing *lane,
                      uint64_t clock)
{
    return ptx_timing_host(timing, device_at(lane, clock));
}

/* ---- the launch ------------------------------------------------------------------------ */

void ptx_timing_find(struct ptx_timing *timing, const struct ptx_launch *launch,
                     const struct ptx_matrix *matrix)
{
    int64_t window_ns = launch->done_ns - launch->launch_ns;
    *timing = (struct ptx_timing){.low_ns = launch->launch_ns,
                                  .high_ns = launch->done_ns,
                                  .cycles_per_ns = (double)launch->clock_hz / 1e9,
                                  .matrix = matrix};
    if (launch->start_ns && launch->stop_ns >= launch->start_ns) {
        timing->start_ns = launch->start_ns;
        timing->stop_ns = launch->stop_ns;
    }
    if (matrix && matrix->wide) {
        see_wide(timing, launch);
        if (!(timing->cycles_per_ns > 0))
            timing->cycles_per_ns = 1;
        see_lanes(timing);
    }
    choose_anchors(timing, launch);
    if (!timing->start_ns) { /* nothing on the device saw the time */
        int64_t begin_ns =
            launch->launched_ns >= launch->launch_ns && launch->launched_ns <= launch->done_ns
                ? launch->launched_ns
                : launch->launch_ns;
        timing->anchored = false;
        timing->low_ns = begin_ns;
        timing->stop_ns = launch->done_ns - begin_ns;
        timing->bound_ns = (uint64_t)timing->stop_ns;
    } else if (!timing->anchored || !ptx_timing_fits(timing)) {
        int64_t rest_ns = window_ns - (timing->stop_ns - timing->start_ns);
        timing->anchored = false;
        timing->bound_ns = (uint64_t)(rest_ns > 0 ? rest_ns : window_ns);
    }
    if (matrix && !matrix->wide)
        see_compat(timing);
    if (!(timing->cycles_per_ns > 0))
        timing->cycles_per_ns = 1;
}
