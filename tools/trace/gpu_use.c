/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_use.h"

#include "trace_span.h"

#define GAP_MOST_NS 1000000 /* longer ones are no launching, but what a program does else */
#define PAUSE_LEAST_NS 10000000

bool gpu_use_is_launching(uint64_t gap_ns, uint64_t inside_ns)
{
    return gap_ns <= GAP_MOST_NS || inside_ns >= gap_ns / 2;
}

/* The GPU was idle from from_ns until the work had been launched. */
static bool add_gap(struct gpu_use *use, int64_t from_ns, int64_t launch_ns, int64_t to_ns,
                    uint32_t thread)
{
    const int64_t inside_from_ns = launch_ns > from_ns ? launch_ns : from_ns;
    const uint64_t gap_ns = (uint64_t)to_ns - (uint64_t)from_ns;
    const uint64_t inside_ns =
        inside_from_ns < to_ns ? (uint64_t)to_ns - (uint64_t)inside_from_ns : 0;
    if (!gpu_use_is_launching(gap_ns, inside_ns))
        return true;
    use->gap_ns += gap_ns;
    use->inside_ns += inside_ns;
    if (use->thread != thread && use->votes_ns < gap_ns) {
        use->thread = thread;
        use->votes_ns = gap_ns - use->votes_ns;
    } else {
        use->votes_ns += use->thread == thread ? gap_ns : -gap_ns;
    }
    return busy_cells_add(&use->gaps, from_ns, to_ns, gap_ns);
}

static void add_pace(struct gpu_use *use, uint32_t thread, int64_t launched_ns)
{
    const uint64_t since_ns = (uint64_t)launched_ns - (uint64_t)use->last_launched_ns;
    if (use->launches++ && use->last_thread == thread && since_ns && since_ns <= GAP_MOST_NS) {
        use->paces++;
        use->pace_ns += since_ns;
    }
    use->last_thread = thread;
    use->last_launched_ns = launched_ns;
}

bool gpu_use_add(struct gpu_use *use, const struct trace_span *span,
                 const struct trace_detail *detail, uint32_t thread, int64_t launched_ns)
{
    const struct busy before = use->busy;
    const bool known = detail && detail->flags & TRACE_HAS_LAUNCH;
    int64_t from_ns, until_ns;
    bool good = true;
    if (busy_add(&use->busy, span->start_ns, span->stop_ns, &from_ns, &until_ns)) {
        const uint64_t gap_ns = (uint64_t)span->start_ns - (uint64_t)until_ns;
        const int64_t to_ns = launched_ns < span->start_ns ? launched_ns : span->start_ns;
        use->used_ns += gap_ns < PAUSE_LEAST_NS ? gap_ns : 0;
        if (known && gap_ns < PAUSE_LEAST_NS && to_ns > until_ns)
            good = add_gap(use, until_ns, detail->launch_ns, to_ns, thread);
    }
    use->used_ns += use->busy.busy_ns - before.busy_ns;
    if (known)
        add_pace(use, thread, launched_ns);
    return good;
}

/* What it waited in a cell may all have been outside of the gaps; or as much as that inside. */
uint64_t gpu_use_running_ns(const struct gpu_use *use, const struct busy_cells *waits)
{
    const struct busy_cells *gaps = &use->gaps;
    uint64_t sum_ns = 0;
    for (int64_t cell = gaps->first; waits && gaps->busy_ns && cell <= gaps->last; cell++) {
        const int64_t from_ns = (int64_t)((uint64_t)cell << gaps->power);
        const int64_t to_ns = from_ns + (INT64_C(1) << gaps->power);
        const uint64_t gap_ns = busy_cells_between(gaps, from_ns, to_ns);
        const uint64_t waited_ns = busy_cells_between(waits, from_ns, to_ns);
        sum_ns += gap_ns > waited_ns ? gap_ns - waited_ns : 0;
    }
    return sum_ns > use->inside_ns ? sum_ns : use->inside_ns;
}
