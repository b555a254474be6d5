/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass over a file, from the window's beginning on. Spans that reach into the window are whole:
 * how long they took is theirs, how busy they kept their thread is the part in the window.
 */
#include "top_sample.h"

#include "grow.h"
#include "message.h"
#include "trace_pass.h"

#include <stdlib.h>
#include <string.h>

/* What is around a span that comes next: by depth, in the first row. */
enum { AROUND_MAX = 64 };
struct top_track {
    bool has_calls;
    bool calls_work[AROUND_MAX], waits[AROUND_MAX]; /* a call that is work is around it; a wait */
    uint32_t items[AROUND_MAX];
};

struct gathering {
    struct top_sample *sample;
    struct trace_pass *pass;
    uint32_t *item_of; /* by number of the name, twice: of calls, of others; place + 1 */
    uint32_t item_of_room;
    uint32_t *program_of; /* by number of the process; place + 1 */
    uint32_t program_of_room;
    uint32_t *process_of; /* by number of the track: its process + 1 */
    uint32_t process_of_room;
    struct top_track *tracks; /* by number */
    uint32_t track_room;
    const char *file;
    bool failed;
};

static void copy_name(char *name, struct trace_text text)
{
    size_t bytes = text.bytes < TOP_NAME_BYTES - 1 ? text.bytes : TOP_NAME_BYTES - 1;
    memcpy(name, text.text, bytes);
    name[bytes] = '\0';
}

/* ---- programs and items ------------------------------------------------------------------- */

static struct top_program *program_of(struct gathering *gathering, uint32_t process)
{
    struct top_sample *sample = gathering->sample;
    if (!grow_zeroed32(&gathering->program_of, &gathering->program_of_room, process + 1,
                       sizeof *gathering->program_of))
        return NULL;
    uint32_t *place = &gathering->program_of[process];
    if (*place == 0) {
        if (!grow_zeroed32(&sample->programs, &sample->program_room, sample->program_count + 1,
                           sizeof *sample->programs))
            return NULL;
        struct top_program *fresh = &sample->programs[sample->program_count++];
        *fresh = (struct top_program){.file = gathering->file};
        copy_name(fresh->name, trace_process_of(gathering->pass->trace, process)->name);
        *place = sample->program_count;
    }
    return &sample->programs[*place - 1];
}

static struct top_item *item_of(struct gathering *gathering, const struct trace_span *span,
                                const struct top_program *program)
{
    struct top_sample *sample = gathering->sample;
    bool is_call = span->category == TRACE_CALL;
    uint32_t key = 2 * span->name + is_call;
    if (!grow_zeroed32(&gathering->item_of, &gathering->item_of_room, key + 1,
                       sizeof *gathering->item_of))
        return NULL;
    uint32_t *place = &gathering->item_of[key];
    if (*place == 0) {
        if (!grow_zeroed32(&sample->items, &sample->item_room, sample->item_count + 1,
                           sizeof *sample->items))
            return NULL;
        struct top_item *fresh = &sample->items[sample->item_count++];
        *fresh = (struct top_item){.program = (uint32_t)(program - sample->programs),
                                   .is_call = is_call,
                                   .category = span->category};
        copy_name(fresh->name, trace_name_of(gathering->pass->trace, span->name));
        *place = sample->item_count;
    }
    return &sample->items[*place - 1];
}

/* ---- spans ---------------------------------------------------------------------------------- */

/* One that records counts, also while it does nothing. */
static void take_process(void *context, const struct trace_process *process)
{
    struct gathering *gathering = context;
    gathering->failed |= !program_of(gathering, process->number);
}

static void take_track(void *context, const struct trace_track *track)
{
    struct gathering *gathering = context;
    if (grow_zeroed32(&gathering->process_of, &gathering->process_of_room, track->number + 1,
                      sizeof *gathering->process_of) &&
        grow_zeroed32(&gathering->tracks, &gathering->track_room, track->number + 1,
                      sizeof *gathering->tracks))
        gathering->process_of[track->number] = track->process + 1;
    else
        gathering->failed = true;
}

static uint64_t inside(const struct top_sample *sample, const struct trace_span *span)
{
    int64_t start = span->start_ns > sample->from_ns ? span->start_ns : sample->from_ns;
    int64_t stop = span->stop_ns < sample->to_ns ? span->stop_ns : sample->to_ns;
    return stop > start ? (uint64_t)(stop - start) : 0;
}

static void count_span(const struct top_sample *sample, struct top_item *item,
                       const struct trace_span *span)
{
    uint64_t lasted = trace_duration_ns(span);
    *(trace_is_waiting(span) ? &item->waits_ns : &item->busy_ns) += inside(sample, span);
    if (span->flags & TRACE_OPEN) {
        item->open++;
        item->open_ns = lasted > item->open_ns ? lasted : item->open_ns;
    } else if (span->stop_ns >= sample->from_ns) {
        item->ended++;
        item->total_ns += lasted;
        item->max_ns = lasted > item->max_ns ? lasted : item->max_ns;
    }
}

/* Of the time in a wait nobody is busy with what is around it; a wait in a wait is the same time.
 */
static void wait_inside(struct gathering *gathering, const struct top_track *track,
                        struct top_program *program, const struct trace_span *span)
{
    uint64_t waited_ns = inside(gathering->sample, span);
    for (uint32_t depth = 0; depth < span->depth; depth++) {
        struct top_item *around = &gathering->sample->items[track->items[depth]];
        around->busy_ns -= waited_ns < around->busy_ns ? waited_ns : around->busy_ns;
        around->waits_ns += waited_ns;
    }
    if (track->calls_work[span->depth - 1])
        program->busy_ns -= waited_ns < program->busy_ns ? waited_ns : program->busy_ns;
}

static void nest(struct gathering *gathering, struct top_track *track, struct top_program *program,
                 const struct trace_span *span, uint32_t item)
{
    uint32_t depth = span->depth;
    if (span->row || span->flags & TRACE_LATE || depth >= AROUND_MAX)
        return;
    bool waits = trace_is_waiting(span), waited = depth && track->waits[depth - 1];
    bool work = span->category == TRACE_CALL && !waits;
    if (waits && !waited && depth)
        wait_inside(gathering, track, program, span);
    track->items[depth] = item;
    track->waits[depth] = waits || waited;
    track->calls_work[depth] = work || (depth && track->calls_work[depth - 1]);
}

static void take_span(struct gathering *gathering, const struct trace_span *span)
{
    if (span->track >= gathering->process_of_room || gathering->process_of[span->track] == 0 ||
        span->category > TRACE_GPU_WORK)
        return;
    struct top_program *program = program_of(gathering, gathering->process_of[span->track] - 1);
    struct top_item *item = program ? item_of(gathering, span, program) : NULL;
    if (!item) {
        gathering->failed = true;
        return;
    }
    count_span(gathering->sample, item, span);
    struct top_track *track = &gathering->tracks[span->track];
    if (item->is_call) {
        program->busy_ns += trace_is_waiting(span) ? 0 : inside(gathering->sample, span);
        program->threads += !track->has_calls;
        track->has_calls = true;
    }
    nest(gathering, track, program, span, (uint32_t)(item - gathering->sample->items));
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    (void)details;
    for (size_t i = 0; i < count; i++)
        take_span(context, &spans[i]);
}

/* ---- the pass ---------------------------------------------------------------------------------
 */

static bool begin(struct trace_pass *pass)
{
    struct gathering *gathering = (void *)(uintptr_t)pass->asked;
    gathering->pass = pass;
    pass->sink = (struct trace_sink){
        .context = gathering, .process = take_process, .track = take_track, .spans = take_spans};
    return true;
}

static enum exit_code end(struct trace_pass *pass)
{
    const struct gathering *gathering = pass->asked;
    if (gathering->failed)
        message("out of memory");
    return gathering->failed ? EXIT_BAD_DATA : EXIT_GOOD;
}

bool top_sample_add(struct top_sample *sample, const char *file)
{
    static const struct trace_maker maker = {
        .own_output = true, .empty_is_good = true, .begin = begin, .end = end};
    struct gathering gathering = {.sample = sample, .file = file};
    struct reading_options reading = {
        .live = true, .threads = 1, .filter.from = {.set = true, .ns = sample->from_ns}};
    char *words[] = {(char *)(uintptr_t)file};
    enum exit_code code = trace_pass(&maker, &gathering, &reading, (struct operands){words, 1});
    free(gathering.item_of);
    free(gathering.program_of);
    free(gathering.process_of);
    free(gathering.tracks);
    return code == EXIT_GOOD || code == EXIT_PARTLY;
}

void top_sample_free(struct top_sample *sample)
{
    free(sample->items);
    free(sample->programs);
    *sample = (struct top_sample){0};
}
