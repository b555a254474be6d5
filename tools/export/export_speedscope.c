/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's own format: a profile of opens and closes for each lane of a track.
 *
 * Times are whole nanoseconds from the origin of the trace, so its sums are
 * exact. A profile has to be in one piece, and tracks come mixed, so events
 * lie in a spool until the end, where all threads make text of them. Frames are names; they are
 * shared by all profiles. What is open on a lane is kept on a stack until a later span, or the end,
 * shows that it has ended.
 *
 * With --stacks it is one profile of samples instead: the stacks of slow calls (slow_stacks.h).
 */
#include "export.h"
#include "json_text.h"
#include "message.h"
#include "slow_stacks.h"
#include "spool.h"
#include "trace_span.h"
#include "track_order.h"
#include "viewer_parts.h"
#include "dropped_report.h"

#include <inttypes.h>
#include <stdlib.h>

enum { EVENT_TEXT_MAX = 80, EVENT_BYTES_MIN = 2, SPEEDSCOPE_PIECE_BYTES = 8 << 10 };

struct open_frame {
    int64_t stop_ns;
    uint32_t frame;
};

struct profile {
    bool begun;
    uint32_t stream;
    struct open_frame *open; /* outermost first */
    uint32_t depth, room;
};

struct speedscope_row {
    struct trace_track track; /* first, for track_order_all */
    struct profile *lanes;
    uint32_t lane_count;
};

struct speedscope {
    struct trace_pass *pass;
    struct spool spool;
    struct spool_print *print;   /* at the end */
    struct speedscope_row *rows; /* by track */
    uint32_t row_count, row_room;
    uint32_t *frames; /* by name: frame + 1, 0 for none yet */
    uint32_t *names;  /* of frames */
    uint32_t frame_room, name_room, frame_count;
    struct slow_stacks slow;
    struct slow_texts slow_frames;
    uint64_t profiles, misfits;
    struct dropped dropped;
    struct viewer_text text;
};

/* ---- frames ---------------------------------------------------------------------- */

static uint32_t frame_of(struct speedscope *speedscope, uint32_t name)
{
    if (!trace_pass_grow(speedscope->pass, &speedscope->frames, &speedscope->frame_room, name + 1,
                         sizeof *speedscope->frames))
        return 0;
    uint32_t *frame = &speedscope->frames[name];
    if (*frame)
        return *frame - 1;
    uint32_t number = speedscope->frame_count;
    if (!trace_pass_grow(speedscope->pass, &speedscope->names, &speedscope->name_room, number + 1,
                         sizeof *speedscope->names))
        return 0;
    speedscope->names[number] = name;
    speedscope->frame_count++;
    *frame = number + 1;
    return number;
}

/* ---- events ---------------------------------------------------------------------- */

/* An event in a stream: its time, then the frame and whether it opens. */
static void add_event(struct speedscope *speedscope, struct profile *profile, bool open,
                      uint32_t frame, int64_t time_ns)
{
    struct spool *spool = &speedscope->spool;
    char *at = spool_room(spool, profile->stream, 2 * VARINT_BYTES_MAX);
    if (!at)
        return;
    at = put_difference(spool, profile->stream, at, time_ns);
    spool_end(spool, profile->stream, put_short(at, (uint64_t)frame << 1 | open));
}

static char *put_event(char *at, uint64_t what, int64_t since_ns)
{
    at = what & 1 ? PUT(at, "{\"type\":\"O\",\"frame\":") : PUT(at, "{\"type\":\"C\",\"frame\":");
    at = put_u64(at, what >> 1);
    at = PUT(at, ",\"at\":");
    at = put_i64(at, since_ns);
    *at++ = '}';
    return at;
}

static void print_events(int64_t origin_ns, struct buffer *to, const char *events, size_t bytes,
                         bool first)
{
    struct spool_values values = {.at = events};
    char *at = (char *)buffer_reserve(to, bytes / EVENT_BYTES_MIN * EVENT_TEXT_MAX);
    while (at && values.at < events + bytes) {
        int64_t time_ns = get_near(&values);
        at = first ? PUT(at, "\n") : PUT(at, ",\n");
        at = put_event(at, get_short(&values), viewer_since(origin_ns, time_ns));
        first = false;
    }
    if (at)
        buffer_end(to, (uint8_t *)at);
}

static void speedscope_close_frames(struct speedscope *speedscope, struct profile *profile,
                                    int64_t until_ns)
{
    while (profile->depth && profile->open[profile->depth - 1].stop_ns <= until_ns) {
        const struct open_frame *frame = &profile->open[--profile->depth];
        add_event(speedscope, profile, false, frame->frame, frame->stop_ns);
    }
}

static struct profile *profile_of(struct speedscope *speedscope, struct speedscope_row *row,
                                  uint32_t lane)
{
    if (lane < row->lane_count && row->lanes[lane].begun)
        return &row->lanes[lane];
    uint32_t stream = spool_add_stream(&speedscope->spool);
    if (stream == SPOOL_NONE)
        return NULL;
    if (!trace_pass_grow(speedscope->pass, &row->lanes, &row->lane_count, lane + 1,
                         sizeof *row->lanes))
        return NULL;
    row->lanes[lane] = (struct profile){.begun = true, .stream = stream};
    return &row->lanes[lane];
}

/* What does not nest in its lane, where lanes ran out, would make the file unreadable. */
static void speedscope_on_span(struct speedscope *speedscope, struct profile *profile,
                               const struct trace_span *span)
{
    speedscope_close_frames(speedscope, profile, span->start_ns);
    if (profile->depth && profile->open[profile->depth - 1].stop_ns < span->stop_ns) {
        speedscope->misfits++;
        return;
    }
    if (!trace_pass_grow(speedscope->pass, &profile->open, &profile->room, profile->depth + 1,
                         sizeof *profile->open))
        return;
    uint32_t frame = frame_of(speedscope, span->name);
    profile->open[profile->depth++] = (struct open_frame){span->stop_ns, frame};
    add_event(speedscope, profile, true, frame, span->start_ns);
}

static void speedscope_on_spans(void *context, const struct trace_span *spans, size_t count,
                                const struct trace_details *details)
{
    struct speedscope *speedscope = context;
    struct speedscope_row *row = &speedscope->rows[spans[0].track];
    if (speedscope->pass->stacks) {
        slow_stacks_on_spans(&speedscope->slow, spans, count);
        return;
    }
    speedscope->dropped.details += trace_count_arguments(spans, count, details);
    for (size_t i = 0; i < count && !speedscope->pass->failed; i++) {
        struct profile *profile = NULL;
        if (spans[i].flags & TRACE_INSTANT)
            speedscope->dropped.points++;
        else if ((profile = profile_of(speedscope, row, spans[i].row)))
            speedscope_on_span(speedscope, profile, &spans[i]);
    }
}

static void speedscope_on_track(void *context, const struct trace_track *track)
{
    struct speedscope *speedscope = context;
    if (!trace_pass_grow(speedscope->pass, &speedscope->rows, &speedscope->row_room,
                         track->number + 1, sizeof *speedscope->rows))
        return;
    speedscope->rows[track->number].track = *track;
    speedscope->row_count = track->number + 1;
}

/* ---- the file -------------------------------------------------------------------- */

/* First and last time of all profiles, so that a place in one is at the same time in the next. */
static void write_range(struct speedscope *speedscope)
{
    struct out *out = spool_print_between(speedscope->print);
    const struct trace_totals *totals = trace_totals(speedscope->pass->trace);
    int64_t first = viewer_time(speedscope->pass->trace, totals->first_ns);
    out_text(out, ",");
    json_i64(out, "startValue", first < 0 ? first : 0);
    out_text(out, ",");
    json_i64(out, "endValue", viewer_time(speedscope->pass->trace, totals->last_ns));
}

static void write_profile(struct speedscope *speedscope, const struct trace_track *track,
                          struct profile *profile, uint32_t lane)
{
    struct out *out = spool_print_between(speedscope->print);
    const struct trace_process *process = trace_process_of(speedscope->pass->trace, track->process);
    out_text(out, speedscope->profiles++ ? ",\n" : "\n");
    char title[VIEWER_TITLE_BYTES];
    viewer_title(title, process->name, track->name, lane);
    struct trace_text name = viewer_text(&speedscope->text, trace_text(title));
    out_text(out, "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":");
    json_string(out, name.text, name.bytes);
    write_range(speedscope);
    out_text(out, ",\"events\":[");
    speedscope_close_frames(speedscope, profile, INT64_MAX);
    spool_print_stream(speedscope->print, profile->stream, print_events);
    out_text(out, "]}");
}

static void write_profiles(struct speedscope *speedscope)
{
    struct speedscope_row *rows = speedscope->rows;
    uint32_t *order = track_order_all(rows, sizeof *rows, speedscope->row_count);
    if (!order) {
        trace_pass_fail(speedscope->pass);
        return;
    }
    for (uint32_t i = 0; i < speedscope->row_count; i++) {
        struct speedscope_row *row = &rows[order[i]];
        for (uint32_t lane = 0; lane < row->lane_count; lane++)
            if (row->lanes[lane].begun)
                write_profile(speedscope, &row->track, &row->lanes[lane], lane);
    }
    free(order);
}

static void write_frames(struct speedscope *speedscope)
{
    struct out *out = spool_print_between(speedscope->print);
    const bool slow = speedscope->pass->stacks;
    const uint32_t count = slow ? speedscope->slow_frames.count : speedscope->frame_count;
    for (uint32_t i = 0; i < count; i++) {
        struct trace_text name = slow
                                     ? speedscope->slow_frames.list[i]
                                     : trace_name_of(speedscope->pass->trace, speedscope->names[i]);
        name = viewer_text(&speedscope->text, name);
        out_text(out, i ? ",\n" : "\n");
        out_text(out, "{\"name\":");
        json_string(out, name.text, name.bytes);
        out_text(out, "}");
    }
}

/* ---- stacks of slow calls ----------------------------------------------------------- */

static void speedscope_on_stack(void *context, const struct trace_stack *stack)
{
    struct speedscope *speedscope = context;
    slow_stacks_on_stack(&speedscope->slow, stack);
}

static void write_frame(struct speedscope *speedscope, struct trace_text frame)
{
    const uint32_t number = slow_texts_number(&speedscope->slow_frames, frame);
    if (number == UINT32_MAX)
        trace_pass_fail(speedscope->pass);
    else
        out_u64(spool_print_between(speedscope->print), number);
}

/* What was called is the outermost frame. */
static void write_samples(struct speedscope *speedscope)
{
    struct out *out = spool_print_between(speedscope->print);
    const struct slow_stacks *slow = &speedscope->slow;
    uint64_t total_ns = 0;
    out_text(out, "\n{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"name\":\"slow calls\","
                  "\"samples\":[");
    for (uint32_t i = 0; i < slow->count; i++) {
        struct trace_text left = slow->list[i].frames, frame;
        out_text(out, i ? ",\n[" : "\n[");
        write_frame(speedscope, slow->list[i].name);
        while (slow_stacks_next(&left, &frame)) {
            out_text(out, ",");
            write_frame(speedscope, frame);
        }
        out_text(out, "]");
    }
    out_text(out, "],\"weights\":[");
    for (uint32_t i = 0; i < slow->count; i++) {
        out_text(out, i ? "," : "");
        out_u64(out, slow->list[i].total_ns);
        total_ns += slow->list[i].total_ns;
    }
    out_text(out, "],\"startValue\":0,");
    json_u64(out, "endValue", total_ns);
    out_text(out, "}");
}

/* ---- begin and end --------------------------------------------------------------- */

static bool speedscope_is_full(void *context)
{
    const struct speedscope *speedscope = context;
    return speedscope->pass->failed || speedscope->spool.failed ||
           out_failed(&speedscope->pass->out);
}

static bool speedscope_begin(struct trace_pass *pass)
{
    struct speedscope *speedscope = calloc(1, sizeof *speedscope);
    if (!speedscope)
        return message_fail("out of memory");
    speedscope->pass = pass;
    speedscope->spool = SPOOL_EMPTY;
    speedscope->spool.piece_bytes = SPEEDSCOPE_PIECE_BYTES;
    pass->state = speedscope;
    pass->sink = (struct trace_sink){.context = speedscope,
                                     .track = speedscope_on_track,
                                     .spans = speedscope_on_spans,
                                     .full = speedscope_is_full};
    pass->stacks = export_options_of(pass)->stacks ? TRACE_ALL_STACKS : TRACE_NO_STACKS;
    pass->sink.stack = pass->stacks ? speedscope_on_stack : NULL;
    return true;
}

static void free_speedscope(struct speedscope *speedscope)
{
    for (uint32_t i = 0; i < speedscope->row_count; i++) {
        for (uint32_t lane = 0; lane < speedscope->rows[i].lane_count; lane++)
            free(speedscope->rows[i].lanes[lane].open);
        free(speedscope->rows[i].lanes);
    }
    spool_free(&speedscope->spool);
    viewer_text_free(&speedscope->text);
    slow_stacks_free(&speedscope->slow);
    slow_texts_free(&speedscope->slow_frames);
    free(speedscope->rows);
    free(speedscope->frames);
    free(speedscope->names);
    free(speedscope);
}

static void write_file(struct speedscope *speedscope)
{
    struct trace_pass *pass = speedscope->pass;
    int64_t origin_ns = pass->trace ? trace_origin_ns(pass->trace) : 0;
    speedscope->print = spool_print_new(&speedscope->spool, &pass->out, origin_ns, pass->threads);
    if (!speedscope->print) {
        trace_pass_fail(speedscope->pass);
        return;
    }
    struct out *out = spool_print_between(speedscope->print);
    out_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
    out_format(out, "\"exporter\":\"rbwp %s\",\n\"activeProfileIndex\":0,\n\"profiles\":[",
               rbwp_version());
    if (pass->trace && pass->stacks)
        write_samples(speedscope);
    else if (pass->trace)
        write_profiles(speedscope);
    out_text(out, "],\n\"shared\":{\"frames\":[");
    if (pass->trace)
        write_frames(speedscope);
    out_text(out, "]}}\n");
    spool_print_finish(speedscope->print);
}

static enum exit_code speedscope_end(struct trace_pass *pass)
{
    struct speedscope *speedscope = pass->state;
    slow_stacks_finish(&speedscope->slow, pass->trace);
    if (speedscope->slow.failed)
        trace_pass_fail(speedscope->pass);
    write_file(speedscope);
    dropped_report(pass, "speedscope", speedscope->dropped);
    if (speedscope->misfits)
        message("speedscope: %" PRIu64 " spans dropped that overlap others of their row",
                speedscope->misfits);
    if (speedscope->text.failed)
        trace_pass_fail(speedscope->pass);
    bool whole = !speedscope->pass->failed && !speedscope->spool.failed && !speedscope->misfits;
    free_speedscope(speedscope);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

const struct exporter exporter_speedscope = {
    .name = "speedscope",
    .suffixes = ".speedscope.json .speedscope",
    .summary = "speedscope's own format, a profile for each track",
    .maker = {.begin = speedscope_begin, .end = speedscope_end},
};
