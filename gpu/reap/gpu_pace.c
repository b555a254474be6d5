/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_stream.h"

#include "rbwp_record.h"

/*
 * How long the driver is left alone after it said "not yet": a part of the wait so far, between
 * these.
 */
#define PAUSE_NS_MIN 500u
#define PAUSE_NS_MAX 1000u
#define PAUSE_SHARE 16u
/*
 * Where brackets end faster than BUSY_NS after each other, asking for each would cost the launching
 * thread more than it tells. There one bracket is asked for whose launch is AHEAD_NS ago, every
 * AHEAD_PAUSE_NS. When it is complete, all before it are: their times are spread over the time in
 * which nobody looked, and the gap beside each record says how uncertain they are.
 */
#define BUSY_NS 8000
#define AHEAD_NS 20000
#define AHEAD_PAUSE_NS 100000
#define AHEAD_NODES_MIN 3u
#define SPACING_NS_MAX INT64_C(1000000)
#define SPACING_SHARE 8

void gpu_pace_begin(struct gpu_pace *pace)
{
    pace->spacing_ns = SPACING_NS_MAX;
}

bool gpu_pace_rests(const struct gpu_pace *pace, uint64_t now_ticks)
{
    return now_ticks < pace->next_look_ticks;
}

void gpu_pace_wait(struct gpu_pace *pace, int64_t asked_ns, int64_t refused_ns)
{
    uint64_t now = rbwp_now_ticks(), least = rbwp_ticks_from_ns(PAUSE_NS_MIN),
             most = rbwp_ticks_from_ns(PAUSE_NS_MAX);
    pace->looked_ns = asked_ns;
    pace->refused_ns = refused_ns;
    if (pace->wait_ticks == 0)
        pace->wait_ticks = now;
    uint64_t pause = (now - pace->wait_ticks) / PAUSE_SHARE;
    pace->next_look_ticks = now + (pause < least ? least : pause > most ? most : pause);
}

void gpu_pace_next(struct gpu_pace *pace)
{
    pace->wait_ticks = 0;
    pace->next_look_ticks = 0;
    pace->refused_ns = 0;
}

void gpu_pace_ended(struct gpu_pace *pace, int64_t seen_ns)
{
    int64_t spacing_ns = seen_ns - pace->ends_ns; /* a long pause counts like a short one */
    if (spacing_ns > SPACING_NS_MAX)
        spacing_ns = SPACING_NS_MAX;
    pace->spacing_ns += (spacing_ns - pace->spacing_ns) / SPACING_SHARE;
    pace->ends_ns = seen_ns;
}

uint32_t gpu_pace_u32(int64_t ns)
{
    return ns < 0 ? 0 : ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

uint32_t gpu_pace_gap_ns(const struct gpu_pace *pace, int64_t launch_ns)
{
    const int64_t since = pace->looked_ns > launch_ns ? pace->looked_ns : launch_ns;
    const int64_t until = pace->batch_ns ? pace->batch_ns : pace->told_ns;
    const int64_t early = pace->seen_ns - since, late = until - pace->seen_ns;
    return gpu_pace_u32(early > late ? early : late);
}

static int64_t launch_ns(const struct gpu_node *node)
{
    return node->kind == GPU_NODE_NOTIFY  ? INT64_MAX /* not known, and worth a look of its own */
           : node->kind == GPU_NODE_START ? node->end->launch_ns
                                          : node->launch_ns;
}

/* It was on the stream by then, and not complete before. */
static int64_t first_ns(const struct gpu_node *node)
{
    return node->kind == GPU_NODE_NOTIFY  ? 0
           : node->kind == GPU_NODE_START ? launch_ns(node)
                                          : node->launched_ns;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- one after the other ----------------------------------------------------------------- */

/*
 * A start that was never seen to wait, on a stream that had nothing to do when it came: it
 * was complete at once. Who reaps may have slept then.
 */
static bool was_free(const struct gpu_pace *pace, const struct gpu_node *node)
{
    return node->kind == GPU_NODE_START && !node->joined && pace->refused_ns == 0 &&
           pace->seen_ns <= launch_ns(node);
}

/*
 * The answer "complete" takes the driver a while, but it is of the time when it was asked. Between
 * the last "not yet" and then any time is as good as another: the middle is wrong by least. Several
 * in one go are spread over that time, and half a part is left for the next one, which has begun.
 */
void gpu_pace_run(const struct gpu_pace *pace, const struct gpu_node *oldest, struct gpu_run *run)
{
    const bool waited = pace->refused_ns != 0;
    const struct gpu_node *node = oldest;
    unsigned events = 0;
    run->from_ns = run->to_ns = waited ? pace->refused_ns : pace->seen_ns;
    run->nodes_done = run->parts_done = 0;
    for (unsigned i = 0; i < run->nodes; i++, node = node->next) {
        if (run->answer[i].asked_ns == 0 || (i == 0 && was_free(pace, node)))
            continue;
        if (events++ == 0)
            run->from_ns = later(run->from_ns, first_ns(node));
        run->to_ns = run->answer[i].asked_ns;
    }
    run->parts = events == 1 && waited ? 4 : 2 * events + 1;
}

int64_t gpu_pace_run_ns(struct gpu_pace *pace, struct gpu_run *run, const struct gpu_node *node)
{
    const struct gpu_answer *answer = &run->answer[run->nodes_done++];
    int64_t time_ns = pace->seen_ns;
    if (answer->asked_ns)
        pace->told_ns = answer->told_ns;
    if (node->kind == GPU_NODE_NOTIFY)
        return answer->told_ns;
    if (answer->asked_ns && !was_free(pace, node)) {
        run->parts_done += 2;
        time_ns = run->from_ns + (run->to_ns - run->from_ns) * run->parts_done / run->parts;
        time_ns = time_ns < answer->asked_ns ? time_ns : answer->asked_ns;
    }
    return later(later(time_ns, pace->seen_ns), first_ns(node));
}

/* ---- many at once ------------------------------------------------------------------------ */

bool gpu_pace_is_busy(const struct gpu_pace *pace, const struct gpu_node *oldest)
{
    return pace->spacing_ns < BUSY_NS && launch_ns(oldest) != INT64_MAX;
}

const struct gpu_node *gpu_pace_choose(const struct gpu_pace *pace, const struct gpu_node *oldest,
                                       int64_t now_ns, struct gpu_ahead *ahead_out)
{
    struct gpu_ahead ahead = {.from_ns = pace->looked_ns, .to_ns = now_ns};
    const struct gpu_node *candidate = NULL;
    uint64_t nodes = 0;
    int64_t events = 0;
    if (ahead.from_ns < pace->seen_ns)
        ahead.from_ns = pace->seen_ns;
    if (ahead.from_ns < launch_ns(oldest)) /* after a pause: nothing ran before it */
        ahead.from_ns = launch_ns(oldest);
    for (const struct gpu_node *node = oldest; node; node = node->next) {
        if (launch_ns(node) > now_ns - AHEAD_NS)
            break;
        nodes++;
        events += !gpu_node_is_joined(node);
        if (node->kind == GPU_NODE_END) {
            candidate = node;
            ahead.nodes = nodes;
            ahead.events = events;
        }
    }
    *ahead_out = ahead;
    return ahead.nodes < AHEAD_NODES_MIN ? NULL : candidate;
}

void gpu_pace_let_age(struct gpu_pace *pace, const struct gpu_node *oldest, uint64_t now_ticks,
                      int64_t now_ns)
{
    int64_t old_ns = now_ns - launch_ns(oldest);
    int64_t wait_ns = old_ns < AHEAD_NS ? AHEAD_NS - old_ns : 0;
    pace->next_look_ticks = now_ticks + rbwp_ticks_from_ns((uint64_t)wait_ns);
}

int64_t gpu_pace_infer_ns(const struct gpu_pace *pace, struct gpu_ahead *ahead,
                          const struct gpu_node *node)
{
    int64_t time_ns = pace->seen_ns;
    if (ahead->nodes_done < ahead->nodes) {
        ahead->nodes_done++;
        ahead->events_done += !gpu_node_is_joined(node);
        int64_t spread_ns =
            ahead->from_ns + (ahead->to_ns - ahead->from_ns) * ahead->events_done / ahead->events;
        time_ns = spread_ns > time_ns ? spread_ns : time_ns;
    }
    return later(time_ns, first_ns(node));
}

void gpu_pace_batch_done(struct gpu_pace *pace, const struct gpu_ahead *ahead, uint64_t begin_ticks)
{
    pace->looked_ns = pace->told_ns = ahead->to_ns;
    pace->next_look_ticks = begin_ticks + rbwp_ticks_from_ns(AHEAD_PAUSE_NS);
}
