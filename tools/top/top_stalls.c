/* SPDX-License-Identifier: Apache-2.0 */
/* A look that is older than the window says nothing alone: what its thread did between both was not
 * seen. */
#include "top_stalls.h"

#include "message.h"
#include "quantity.h"
#include "text_name.h"
#include "trace_pass.h"
#include "why_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct search {
    struct stalls stalls;
    char *found;
};

static void search_on_track(void *context, const struct trace_track *track)
{
    stalls_on_track(&((struct search *)context)->stalls, track);
}

static void search_on_spans(void *context, const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    (void)details;
    stalls_on_spans(&((struct search *)context)->stalls, spans, count);
}

static void search_on_stack(void *context, const struct trace_stack *stack)
{
    stalls_on_stack(&((struct search *)context)->stalls, stack);
}

static bool search_begin(struct trace_pass *pass)
{
    pass->sink = (struct trace_sink){.context = (void *)(uintptr_t)pass->asked,
                                     .track = search_on_track,
                                     .spans = search_on_spans,
                                     .stack = search_on_stack};
    return true;
}

/* Into memory; a line that is longer than the buffer is none. */
static enum exit_code search_end(struct trace_pass *pass)
{
    struct search *search = (void *)(uintptr_t)pass->asked;
    struct out line = {.fd = -1, .buffer = malloc(OUT_BUFFER_BYTES)};
    stalls_finish(&search->stalls);
    if (line.buffer && pass->trace && !search->stalls.failed &&
        stalls_write_worst(&line, &search->stalls, pass->trace) && !out_failed(&line))
        search->found = strndup(line.buffer, line.used);
    if (!line.buffer || search->stalls.failed)
        message("out of memory; who waits is not shown");
    free(line.buffer);
    return EXIT_GOOD;
}

char *top_stalls_worst(const struct stalls *seen, const char *file)
{
    static const struct trace_maker maker = {
        .own_output = true, .empty_is_good = true, .begin = search_begin, .end = search_end};
    struct search search = {.stalls.any_look = true};
    struct reading_options reading = {.live = true, .threads = 1};
    char *words[] = {(char *)(uintptr_t)file};
    int64_t from_ns = INT64_MAX;
    for (uint32_t i = 0; i < seen->count; i++)
        if (seen->list[i].open && seen->list[i].stack.time_ns < from_ns)
            from_ns = seen->list[i].stack.time_ns;
    if (from_ns == INT64_MAX)
        return NULL;
    reading.filter.from = (struct filter_time){.set = true, .ns = from_ns};
    (void)trace_pass(&maker, &search, &reading, (struct operands){words, 1});
    stalls_free(&search.stalls);
    return search.found;
}

static enum exit_code take_cause(const struct why_view *view, void *context)
{
    const struct why_split *split = view->split;
    const double share = view->name && split->count
                             ? 100 * (double)split->list[0].excess_ns / (double)split->excess_ns
                             : 0;
    struct out line = {.fd = -1, .buffer = share ? malloc(OUT_BUFFER_BYTES) : NULL};
    char time[QUANTITY_BYTES];
    if (!line.buffer)
        return EXIT_GOOD;
    text_name(&line, view->name->name.text, view->name->name.bytes);
    const struct trace_text text = view->texts[0].text;
    out_format(&line, ": %" PRIu32 " of %" PRIu64 " took %s longer each: %.0f %% ", split->slow,
               view->name->own.values.total,
               quantity_rough(time, split->excess_ns / split->slow, 3), share);
    out_bytes(&line, text.text, text.bytes);
    *(char **)context = out_failed(&line) ? NULL : strndup(line.buffer, line.used);
    free(line.buffer);
    return EXIT_GOOD;
}

char *top_why(const char *file, int64_t from_ns, int64_t to_ns)
{
    const struct why_options options = {.reading = {.live = true,
                                                    .threads = 1,
                                                    .filter = {.from = {.set = true, .ns = from_ns},
                                                               .to = {.set = true, .ns = to_ns}}}};
    char *words[] = {(char *)(uintptr_t)file}, *found = NULL;
    (void)why_find(&options, (struct operands){words, 1}, take_cause, &found);
    return found;
}
