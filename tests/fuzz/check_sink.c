/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps of each track and lane what encloses the place reached. */
#include "check_sink.h"
#include "align.h"
#include "fuzz.h"
#include "thread_map.h"
#include "trace_span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check_lane {
    int64_t *open, last_start_ns;
    uint32_t depth, room;
    bool used;
};
struct check_track {
    struct check_lane *lanes;
    uint32_t room;
};
struct check {
    struct trace *trace;
    uint32_t processes, names, tracks, tables;
    struct check_track *track;
    uint32_t track_room;
};

static void take_process(void *context, const struct trace_process *process)
{
    struct check *check = context;
    REQUIRE(process->number == check->processes);
    REQUIRE(process->name.bytes > 0);
    check->processes++;
}

static void take_track(void *context, const struct trace_track *track)
{
    struct check *check = context;
    REQUIRE(track->number == check->tracks);
    REQUIRE(track->process < check->processes);
    REQUIRE(track->name.bytes > 0);
    REQUIRE(track->parent == TRACE_NONE || track->parent < track->number);
    check->tracks++;
}

static void take_name(void *context, uint32_t number, struct trace_text name)
{
    struct check *check = context;
    (void)name;
    REQUIRE(number == check->names);
    check->names++;
}

static void check_span(struct check *check, const struct trace_span *span)
{
    REQUIRE(span->start_ns <= span->stop_ns);
    REQUIRE(span->id != 0 && span->name < check->names && span->category < TRACE_CATEGORIES);
    REQUIRE((span->flags & ~(TRACE_UNFINISHED | TRACE_LATE | TRACE_INSTANT | TRACE_OPEN)) == 0);
    REQUIRE(
        grow_zeroed32(&check->track, &check->track_room, span->track + 1, sizeof *check->track));
    struct check_track *track = &check->track[span->track];
    REQUIRE(grow_zeroed32(&track->lanes, &track->room, span->row + 1u, sizeof *track->lanes));
    struct check_lane *lane = &track->lanes[span->row];
    REQUIRE(!lane->used || lane->last_start_ns <= span->start_ns);
    while (lane->depth && lane->open[lane->depth - 1] <= span->start_ns)
        lane->depth--;
    REQUIRE(lane->depth == 0 || lane->open[lane->depth - 1] >= span->stop_ns);
    REQUIRE(span->depth == lane->depth || lane->depth > UINT16_MAX);
    REQUIRE(grow_zeroed32(&lane->open, &lane->room, lane->depth + 1, sizeof *lane->open));
    lane->open[lane->depth++] = span->stop_ns;
    lane->last_start_ns = span->start_ns;
    lane->used = true;
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct check *check = context;
    REQUIRE(count > 0 && spans[0].track < check->tracks);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(spans[i].track == spans[0].track);
        check_span(check, &spans[i]);
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        REQUIRE(!detail || (spans[i].detail + detail->words <= details->count &&
                            detail->category <= check->names));
    }
}

static void take_samples(void *context, uint32_t track, const struct trace_sample *samples,
                         size_t count)
{
    struct check *check = context;
    REQUIRE(count > 0 && track < check->tracks);
    for (size_t i = 1; i < count; i++)
        REQUIRE(samples[i - 1].time_ns <= samples[i].time_ns);
}

static void take_rows(void *context, const struct trace_rows *rows)
{
    struct check *check = context;
    REQUIRE(rows->table < check->tables && rows->rows->rows > 0);
}

static void take_table(void *context, const struct trace_table *table)
{
    struct check *check = context;
    REQUIRE(table->number == check->tables++ && table->process < check->processes);
}

static void take_link(void *context, const struct trace_link *link)
{
    struct check *check = context;
    REQUIRE(link->from_track < check->tracks && link->to_track < check->tracks && link->to_span);
}

static void take_stack(void *context, const struct trace_stack *stack)
{
    struct check *check = context;
    char name[TRACE_FRAME_BYTES];
    REQUIRE(stack->track < check->tracks && stack->kind.bytes > 0);
    for (uint32_t i = 0; i < stack->frame_count; i++) {
        const struct trace_text text = trace_frame_name(&stack->frames[i], name);
        REQUIRE(text.bytes > 0 && text.bytes < sizeof name);
    }
}

static void free_check(struct check *check)
{
    for (uint32_t i = 0; i < check->track_room; i++) {
        for (uint32_t lane = 0; lane < check->track[i].room; lane++)
            free(check->track[i].lanes[lane].open);
        free(check->track[i].lanes);
    }
    free(check->track);
}

/* By its comparisons with another clock, where it has any that can be; else by a shift. */
static struct trace_axis axis_of(const struct trace_source *source, size_t size,
                                 struct alignment *alignment)
{
    static const struct align_options by_clocks = {.method = "clocks", .quiet = true};
    bool usage;
    if (source->facts.clock_count && align_sources(source, 1, &by_clocks, alignment, &usage))
        return alignment->axis;
    return (struct trace_axis){.shift_ns = (int64_t)(size % 3) - 1};
}

void check_trace_file(const uint8_t *data, size_t size, const struct trace_format *format)
{
    struct check check = {0};
    struct trace_source source;
    char path[32];
    int fd = memory_file(data, size);
    trace_formats_add(format);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (trace_source_open(&source, path, false)) {
        struct trace_sink sink = {.context = &check,
                                  .process = take_process,
                                  .track = take_track,
                                  .name = take_name,
                                  .spans = take_spans,
                                  .samples = take_samples,
                                  .link = take_link,
                                  .stack = take_stack,
                                  .table = take_table,
                                  .rows = take_rows};
        struct alignment *alignment = calloc(1, sizeof *alignment);
        REQUIRE(alignment);
        struct trace_read_options options = {.axis = axis_of(&source, size, alignment),
                                             .stacks =
                                                 size % 2 ? TRACE_LAST_STACKS : TRACE_ALL_STACKS};
        check.trace = trace_new(&sink, 0);
        REQUIRE(check.trace);
        enum exit_code code =
            source.format == format ? trace_source_read(&source, check.trace, &options) : EXIT_GOOD;
        trace_finish(check.trace);
        REQUIRE(code == EXIT_GOOD || code == EXIT_BAD_DATA || code == EXIT_PARTIAL);
        code = trace_source_close(&source);
        REQUIRE(code == EXIT_GOOD || code == EXIT_BAD_DATA || code == EXIT_PARTIAL);
        trace_free(check.trace);
        align_free(alignment, 1);
    }
    free_check(&check);
    close(fd);
}
