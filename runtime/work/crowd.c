/* SPDX-License-Identifier: Apache-2.0 */
/* crowd.c - measuring and stepping aside. */
#include "crowd.h"

#include "rbwp_record.h"
#include "test_point.h"
#include "worker.h"

#include <time.h>

#define RUN_NS_MAX 2000 /* counted of one run: more is a long item, or somebody else's turn */
#define SHORT_NS 1000   /* on average: longer ones are worth each worker's while */
#define FRESH_NS 200000 /* so long a measurement is about what is running now */
#define AGAIN_NS 10000000
#define PAUSE_NS_MIN 50000
#define PAUSE_NS_MAX 1000000
#define TIGHT_PAUSE_NS_MAX 250000

void crowd_set_times(struct crowd_times *times, unsigned workers, unsigned cpus)
{
    times->run_max = rbwp_ticks_from_ns(RUN_NS_MAX);
    times->fresh = rbwp_ticks_from_ns(FRESH_NS);
    times->again = rbwp_ticks_from_ns(AGAIN_NS);
    times->is_tight = cpus <= workers;
}

static uint64_t runs_of(const struct work_runner *runner)
{
    return atomic_load_explicit(&runner->runs, memory_order_relaxed);
}

static bool has_candidate(const struct work_runner *runner)
{
    return work_mask_has_candidate(&runner->manager->mask, &runner->group->filter);
}

/* Until there is something to run, or the first worker has come to rest. */
static void step_aside(struct work_runner *runner, uint64_t most_ns)
{
    struct crowd *crowd = &runner->group->crowd;
    struct crowd_share *share = &runner->crowd;
    if (share->pause_ns < PAUSE_NS_MIN || share->pause_ns > most_ns)
        share->pause_ns = PAUSE_NS_MIN;
    /* Relaxed: all of this only decides who works, not what is seen. */
    atomic_fetch_add_explicit(&crowd->aside, 1, memory_order_relaxed);
    for (uint64_t before = runs_of(crowd->first) - 1, now;
         !work_is_closed(runner->manager) && (now = runs_of(crowd->first)) != before;
         before = now) {
        TEST_POINT("crowd: aside");
        const struct timespec pause = {0, (long)share->pause_ns};
        nanosleep(&pause, NULL);
        share->pause_ns = share->pause_ns < most_ns / 2 ? share->pause_ns * 2 : most_ns;
        if (has_candidate(runner))
            break;
    }
    atomic_fetch_sub_explicit(&crowd->aside, 1, memory_order_relaxed);
}

/* Two do hardly more than one. */
static bool is_in_the_way(uint64_t ticks, uint64_t alone_ticks)
{
    return ticks > alone_ticks / 4 * 7;
}

static void judge_company(struct work_runner *runner, uint64_t ticks, uint64_t now)
{
    const struct crowd *crowd = &runner->group->crowd;
    const struct crowd_times *times = &runner->manager->crowd_times;
    struct crowd_share *share = &runner->crowd;
    uint64_t alone_ticks = atomic_load_explicit(&crowd->alone_ticks, memory_order_relaxed);
    uint64_t age = now - atomic_load_explicit(&crowd->alone_at, memory_order_relaxed);
    if (alone_ticks > 0 && (age < times->fresh || (int64_t)age < 0)) {
        if (is_in_the_way(ticks, alone_ticks))
            step_aside(runner, PAUSE_NS_MAX);
        else
            share->pause_ns = PAUSE_NS_MIN;
    } else if (now - share->tried_at > times->again) {
        share->tried_at = now;
        share->pause_ns = PAUSE_NS_MIN;
        step_aside(runner, PAUSE_NS_MAX);
    }
}

void crowd_judge(struct work_runner *runner, uint64_t now)
{
    struct crowd *crowd = &runner->group->crowd;
    struct crowd_share *share = &runner->crowd;
    const uint64_t ticks = share->ticks;
    const bool is_alone = work_is_alone(runner->group), was_alone = share->was_alone;
    const bool is_short =
        ticks < runner->manager->crowd_times.run_max * CROWD_RUNS * SHORT_NS / RUN_NS_MAX;
    share->runs = 0;
    share->ticks = 0;
    share->was_alone = is_alone;
    if (runner == crowd->first) {
        if (!is_short || (is_alone && was_alone)) {
            atomic_store_explicit(&crowd->alone_ticks, is_short ? ticks : 0, memory_order_relaxed);
            atomic_store_explicit(&crowd->alone_at, now, memory_order_relaxed);
        }
    } else if (is_short) {
        judge_company(runner, ticks, now);
    }
}

void crowd_wait(struct work_runner *runner)
{
    if (!runner->manager->crowd_times.is_tight || runner == runner->group->crowd.first)
        return;
    const uint64_t runs = runs_of(runner->group->crowd.first);
    if (runs == runner->crowd.first_runs)
        return;
    step_aside(runner, TIGHT_PAUSE_NS_MAX);
    runner->crowd.first_runs = runs_of(runner->group->crowd.first);
}
