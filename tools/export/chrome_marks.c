/* SPDX-License-Identifier: Apache-2.0 */
/* Counters, losses and facts, and the end: what all that is written as Chrome JSON shares. */
#include "chrome_json.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- counters, losses, facts ----------------------------------------------------------- */

static void write_sample(struct chrome *chrome, const struct trace_track *track, uint32_t tid,
                         const struct trace_sample *sample)
{
    struct out *out = &chrome->pass->out;
    const struct chrome_row *row = &chrome->rows[track->number];
    chrome_separate(chrome);
    out_text(out, "{");
    chrome_text(chrome, "name", track->name);
    char *at = out_room(out, CHROME_EVENT_BYTES_MAX);
    at = PUT(at, ",\"cat\":\"counter\",\"ph\":\"C\"");
    if (row->repeats) {
        at = PUT(at, ",\"id\":");
        at = chrome_put_hex(at, track->number);
    }
    at = chrome_put_time(chrome, at, sample->time_ns);
    at = chrome_put_place(at, row->pid, tid);
    out_end(out, PUT(at, ",\"args\":{\"value\":"));
    if (sample->whole)
        out_i64(out, sample->value.i64);
    else
        json_f64(out, sample->value.f64);
    out_text(out, "}}");
}

void chrome_take_samples(void *context, uint32_t number, const struct trace_sample *samples,
                         size_t count)
{
    struct chrome *chrome = context;
    const struct trace_track *track = trace_track_of(chrome->pass->trace, number);
    uint32_t tid = chrome_tid(chrome, number, 0);
    for (size_t i = 0; i < count && !chrome->pass->failed; i++)
        write_sample(chrome, track, tid, &samples[i]);
}

void chrome_take_loss(void *context, const struct trace_loss *loss)
{
    struct chrome *chrome = context;
    struct out *out = &chrome->pass->out;
    bool timed = loss->first_ns || loss->last_ns, one = loss->track != TRACE_NONE;
    int64_t time_ns = timed ? loss->last_ns : trace_totals(chrome->pass->trace)->last_ns;
    char name[256];
    trace_loss_name(loss, name, sizeof name);
    uint32_t tid = one ? chrome_tid(chrome, loss->track, 0) : 0;
    chrome_separate(chrome);
    out_text(out, "{");
    chrome_text(chrome, "name", trace_text(name));
    out_text(out, ",\"cat\":\"loss\",\"ph\":\"i\",\"cname\":\"terrible\",\"s\":");
    out_text(out, one ? "\"t\"" : "\"p\"");
    char *at = chrome_put_time(chrome, out_room(out, CHROME_EVENT_BYTES_MAX), time_ns);
    out_end(out, chrome_put_place(at, chrome->pids[loss->process], tid));
    out_text(out, ",\"args\":{");
    json_u64(out, "records", loss->refused ? 0 : loss->count);
    if (loss->refused)
        out_format(out, ",\"calls\":%" PRIu64, loss->count);
    if (loss->bytes)
        out_format(out, ",\"bytes\":%" PRIu64, loss->bytes);
    if (timed)
        out_format(out, ",\"first_ns\":\"%" PRId64 "\",\"last_ns\":\"%" PRId64 "\"", loss->first_ns,
                   loss->last_ns);
    out_text(out, "}}");
}

void chrome_take_fact(void *context, const char *key, struct trace_text value)
{
    struct chrome *chrome = context;
    if (!kept_facts_add(&chrome->facts, key, value))
        trace_pass_fail(chrome->pass);
}

void chrome_write_facts(struct chrome *chrome)
{
    struct out *out = &chrome->pass->out;
    const struct trace *trace = chrome->pass->trace;
    out_text(out, "\"otherData\":{\n");
    out_format(out, "\"lost_records\":\"%" PRIu64 "\"",
               trace ? trace_totals(trace)->lost_records : 0);
    for (const struct kept_fact *fact = chrome->facts.first; fact; fact = fact->next) {
        struct trace_text value = viewer_text(&chrome->text, fact->value);
        out_text(out, ",\n");
        json_string(out, fact->key.text, fact->key.bytes);
        out_text(out, ":");
        json_string(out, value.text, value.bytes);
    }
    out_text(out, "}");
}

/* ---- the end ---------------------------------------------------------------------------- */

enum exit_code chrome_end(struct chrome *chrome, const char *format)
{
    dropped_report(chrome->pass, format, chrome->dropped);
    if (chrome->text.failed)
        trace_pass_fail(chrome->pass);
    bool whole = !chrome->pass->failed;
    chrome_rows_free(chrome);
    kept_facts_free(&chrome->facts);
    pending_links_free(&chrome->links);
    free(chrome->steps);
    free(chrome);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

/* Durations that add up: a stack a lane of the spans around the next one. */

enum { EARLIER_BATCH = UINT32_MAX };

struct chrome_open_end {
    int64_t stop_ns;
    uint32_t at;    /* in the batch, or EARLIER_BATCH */
    uint16_t inner; /* steps more than the outermost of those that stop with it */
};

static uint16_t one_more(uint16_t steps)
{
    return (uint16_t)(steps < UINT16_MAX ? steps + 1 : steps);
}

static void chrome_ends_pop(struct chrome_lane_ends *lane, int64_t start_ns, uint16_t *steps)
{
    while (lane->depth && lane->open[lane->depth - 1].stop_ns <= start_ns) {
        const struct chrome_open_end *end = &lane->open[--lane->depth];
        if (end->stop_ns == start_ns && end->at != EARLIER_BATCH)
            steps[end->at] = one_more(end->inner);
    }
}

bool chrome_ends_take(struct chrome_lane_ends *lane, int64_t start_ns, int64_t stop_ns, uint32_t at,
                      uint16_t *steps)
{
    struct chrome_open_end made = {.stop_ns = stop_ns, .at = at};
    chrome_ends_pop(lane, start_ns, steps);
    steps[at] = 0;
    if (start_ns == stop_ns)
        return true;
    const struct chrome_open_end *outer = lane->depth ? &lane->open[lane->depth - 1] : NULL;
    if (outer && outer->stop_ns == stop_ns)
        made.inner = one_more(outer->inner);
    steps[at] = made.inner;
    if (lane->depth == lane->room &&
        !grow_zeroed32(&lane->open, &lane->room, lane->depth + 1, sizeof *lane->open))
        return false;
    lane->open[lane->depth++] = made;
    return true;
}

void chrome_ends_finish_batch(struct chrome_lane_ends *lane, uint16_t *steps)
{
    for (uint32_t i = 0; i < lane->depth; i++) {
        struct chrome_open_end *end = &lane->open[i];
        if (end->at == EARLIER_BATCH)
            continue;
        steps[end->at] = end->inner = one_more(end->inner);
        end->at = EARLIER_BATCH;
    }
}

/* A step is at least four times the distance of two doubles at stop_ns. From the thirteenth day on
 * doubles of microseconds do not keep nanoseconds, whatever is written. */
uint32_t chrome_ends_shorter(int64_t stop_ns, uint16_t steps)
{
    enum { MOST = 400 };
    uint64_t us = (stop_ns < 0 ? 0 - (uint64_t)stop_ns : (uint64_t)stop_ns) / 1000;
    uint32_t step = us < UINT64_C(1) << 31   ? 1
                    : us < UINT64_C(1) << 34 ? 10
                    : us < UINT64_C(1) << 37 ? 100
                                             : MOST;
    return steps < MOST / step ? steps * step : steps ? MOST : 0;
}
