/* SPDX-License-Identifier: Apache-2.0 */
#include "block_sweep.h"

#include <string.h>

static void add(uint64_t *sum, uint64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = UINT64_MAX;
}

/* What the innermost span of a group says from here on. */
static void look(struct block_sweep *sweep, uint32_t group)
{
    uint32_t bit = 1u << group, depth = sweep->depth[group];
    bool waits = depth && sweep->open[group][depth - 1].waits;
    sweep->busy &= ~bit;
    sweep->waiting &= ~bit;
    if (depth)
        *(waits ? &sweep->waiting : &sweep->busy) |= bit;
}

static void count_until(struct block_sweep *sweep, int64_t until_ns)
{
    struct inside_kernel *kernel = sweep->kernel;
    uint64_t ns = (uint64_t)until_ns - (uint64_t)sweep->now_ns;
    sweep->now_ns = until_ns;
    for (uint32_t left = sweep->waiting; left; left &= left - 1)
        add(&kernel->groups[__builtin_ctz(left)].waiting_ns, ns);
    for (uint32_t left = sweep->busy; left; left &= left - 1) {
        uint32_t group = (uint32_t)__builtin_ctz(left);
        add(&kernel->groups[group].busy_ns, ns);
        for (uint32_t later = left & (left - 1); later; later &= later - 1)
            add(&kernel->both_ns[inside_pair(group, (uint32_t)__builtin_ctz(later))], ns);
    }
}

/* Takes off what has ended; a span that is around a longer one ends with it. */
static void close_ended(struct block_sweep *sweep)
{
    for (uint32_t left = sweep->busy | sweep->waiting; left; left &= left - 1) {
        uint32_t group = (uint32_t)__builtin_ctz(left), depth = sweep->depth[group];
        while (depth && sweep->open[group][depth - 1].stop_ns <= sweep->now_ns)
            depth--;
        if (depth == sweep->depth[group])
            continue;
        sweep->depth[group] = depth;
        look(sweep, group);
    }
}

static void advance(struct block_sweep *sweep, int64_t to_ns)
{
    while (sweep->now_ns < to_ns && (sweep->busy | sweep->waiting)) {
        int64_t next_ns = to_ns;
        for (uint32_t left = sweep->busy | sweep->waiting; left; left &= left - 1) {
            uint32_t group = (uint32_t)__builtin_ctz(left);
            int64_t stop_ns = sweep->open[group][sweep->depth[group] - 1].stop_ns;
            next_ns = stop_ns < next_ns ? stop_ns : next_ns;
        }
        count_until(sweep, next_ns);
        close_ended(sweep);
    }
    sweep->now_ns = to_ns > sweep->now_ns ? to_ns : sweep->now_ns;
}

void block_sweep_begin(struct block_sweep *sweep, struct inside_kernel *kernel, int64_t start_ns)
{
    sweep->kernel = kernel;
    sweep->first_ns = sweep->now_ns = sweep->last_ns = start_ns;
    sweep->busy = sweep->waiting = sweep->present = 0;
    memset(sweep->depth, 0, sizeof sweep->depth);
}

void block_sweep_add(struct block_sweep *sweep, uint32_t group, int64_t start_ns, int64_t stop_ns,
                     bool waits)
{
    advance(sweep, start_ns);
    sweep->present |= 1u << group;
    sweep->last_ns = stop_ns > sweep->last_ns ? stop_ns : sweep->last_ns;
    if (stop_ns <= sweep->now_ns || sweep->depth[group] == BLOCK_SWEEP_DEPTH)
        return;
    sweep->open[group][sweep->depth[group]++] = (struct block_open){stop_ns, waits};
    look(sweep, group);
}

void block_sweep_end(struct block_sweep *sweep)
{
    struct inside_kernel *kernel = sweep->kernel;
    if (!kernel)
        return;
    advance(sweep, sweep->last_ns);
    uint64_t time_ns = (uint64_t)sweep->last_ns - (uint64_t)sweep->first_ns;
    kernel->blocks++;
    add(&kernel->time_ns, time_ns);
    for (uint32_t left = sweep->present; left; left &= left - 1) {
        struct inside_group *group = &kernel->groups[__builtin_ctz(left)];
        group->lanes++;
        add(&group->time_ns, time_ns);
    }
    sweep->kernel = NULL;
}
