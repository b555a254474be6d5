/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches: the call that launched a GPU's work, as an event of its thread that has the work's
 * "correlation", and an arrow from one to the other whose number that is. One call may
 * launch much (a graph). Other arrows have numbers of their own.
 *
 * Both ends are written about the span to which the arrow leads, so that none has
 * one end alone. An arrow cannot lead back in time: one that would, because clocks err, ends
 * further inside its span, or is dropped.
 */
#include "kineto_json.h"
#include "trace_span.h"

#include <inttypes.h>
#include <string.h>

#define LINK_NUMBER (UINT64_C(1) << 51) /* and the link's id: no correlation has such */
#define CALLED_MAX (UINT64_C(1) << 36)

struct arrow {
    bool end; /* else the begin */
    uint64_t number;
    enum trace_link_kind kind;
    uint32_t label;
    struct kineto_place place;
    int64_t time_ns;
};

static void kineto_links_write_arrow(struct chrome *chrome, const struct arrow *arrow)
{
    struct out *out = &chrome->pass->out;
    bool launch = arrow->kind == TRACE_LAUNCH;
    const char *kind = launch ? "ac2g" : trace_link_kind_name[arrow->kind];
    chrome_separate(chrome);
    out_format(out, "{\"ph\":\"%c\",\"id\":%" PRIu64, arrow->end ? 'f' : 's', arrow->number);
    char *at =
        chrome_put_place(out_room(out, CHROME_EVENT_BYTES_MAX), arrow->place.pid, arrow->place.tid);
    out_end(out, chrome_put_time(chrome, at, arrow->time_ns));
    out_format(out, ",\"cat\":\"%s\",", kind);
    if (arrow->label)
        chrome_text(chrome, "name", trace_label_of(chrome->pass->trace, arrow->label));
    else
        json_plain(out, "name", kind);
    if (arrow->end)
        out_text(out, ",\"bp\":\"e\"");
    out_text(out, launch && arrow->label ? ",\"args\":{\"rbwp\":{\"own\":1}}}" : "}");
}

/* ---- the call that launched ------------------------------------------------------------ */

/* Its link was passed on, and can be drawn. */
static bool is_launched(const struct chrome *chrome, const struct trace_span *span,
                        const struct trace_detail *detail)
{
    return detail && pending_links_launch(&chrome->links, span->id) &&
           detail->flags & TRACE_HAS_LAUNCH && detail->launch_track != TRACE_NONE &&
           detail->launch_ns <= span->stop_ns;
}

static struct arrow launch_of(struct chrome *chrome, const struct trace_detail *detail,
                              const struct kineto_facts *facts)
{
    return (struct arrow){.number = facts->value[KINETO_CORRELATION],
                          .kind = TRACE_LAUNCH,
                          .time_ns = detail->launch_ns,
                          .place = kineto_place_of_track(chrome, detail->launch_track)};
}

static bool begins(struct trace_text text, const char *word)
{
    return text.bytes >= strlen(word) && memcmp(text.text, word, strlen(word)) == 0;
}

static bool ends(struct trace_text text, const char *word)
{
    return text.bytes >= strlen(word) &&
           memcmp(text.text + text.bytes - strlen(word), word, strlen(word)) == 0;
}

/* Such a one as launches this work: readers go by the name. */
static const char *usual_call(const struct kineto_facts *facts)
{
    if (facts->has >> KINETO_GRAPH_NODE & 1)
        return "cudaGraphLaunch";
    if (trace_text_is(facts->category, "gpu_memcpy"))
        return "cudaMemcpyAsync";
    if (trace_text_is(facts->category, "gpu_memset"))
        return "cudaMemsetAsync";
    return "cudaLaunchKernel";
}

/*
 * The function that the source names. Copies, sets and graphs it has by the driver's name, which
 * hardly any program calls but by the runtime: so readers know them.
 */
static struct trace_text call_of(const struct kineto_facts *facts)
{
    const struct trace_text named = facts->call;
    const bool waits = !ends(named, "Async");
    if (begins(named, "cuda") || begins(named, "cuLaunch"))
        return named;
    if (trace_text_is(named, "cuGraphLaunch"))
        return trace_text("cudaGraphLaunch");
    if (begins(named, "cuMemcpy"))
        return trace_text(waits ? "cudaMemcpy" : "cudaMemcpyAsync");
    if (begins(named, "cuMemset"))
        return trace_text(waits ? "cudaMemset" : "cudaMemsetAsync");
    return trace_text(usual_call(facts));
}

static void write_call(struct chrome *chrome, const struct kineto_facts *facts,
                       const struct arrow *launch)
{
    struct out *out = &chrome->pass->out;
    int64_t launched_ns = (int64_t)facts->value[KINETO_LAUNCHED];
    int64_t duration_ns = launched_ns > launch->time_ns ? launched_ns - launch->time_ns : 0;
    struct trace_text call = call_of(facts);
    chrome_separate(chrome);
    out_format(out, "{\"ph\":\"X\",\"cat\":\"%s\",",
               begins(call, "cuLaunch") ? "cuda_driver" : "cuda_runtime");
    json_key(out, "name");
    json_string(out, call.text, call.bytes);
    char *at = chrome_put_place(out_room(out, CHROME_EVENT_BYTES_MAX), launch->place.pid,
                                launch->place.tid);
    at = PUT(chrome_put_time(chrome, at, launch->time_ns), ",\"dur\":");
    out_end(out, chrome_put_us(at, (uint64_t)duration_ns));
    out_format(out, ",\"args\":{\"correlation\":%" PRIu64 ",\"rbwp\":{\"shadow\":1}}}",
               launch->number);
}

/* False: it was written for other work, or there is no memory. */
static bool is_first(struct chrome *chrome, uint64_t correlation)
{
    struct linked_spans *called = &chrome->kineto->called;
    if (correlation >= CALLED_MAX)
        return true;
    if (linked_spans_has(called, correlation))
        return false;
    if (!linked_spans_add(called, correlation))
        trace_pass_fail(chrome->pass);
    return true;
}

static void write_launch(struct chrome *chrome, const struct trace_detail *detail,
                         const struct kineto_facts *facts)
{
    struct arrow launch = launch_of(chrome, detail, facts);
    if (!is_first(chrome, launch.number))
        return;
    if (!(detail->flags & TRACE_INFERRED))
        write_call(chrome, facts, &launch);
    kineto_links_write_arrow(chrome, &launch);
}

/* ---- around a span --------------------------------------------------------------------- */

static struct arrow begin_of(struct chrome *chrome, const struct pending_link *link)
{
    return (struct arrow){.number = link->number,
                          .kind = link->kind,
                          .label = link->label,
                          .time_ns = link->from_ns,
                          .place = kineto_place_of_track(chrome, link->from_track)};
}

void kineto_write_before(struct chrome *chrome, const struct trace_span *span,
                         const struct trace_detail *detail, const struct kineto_facts *facts)
{
    if (is_launched(chrome, span, detail))
        write_launch(chrome, detail, facts);
    else
        chrome->dropped.links += pending_links_launch(&chrome->links, span->id);
    for (const struct pending_link *link = pending_links_of(&chrome->links, span->id); link;
         link = pending_links_next(&chrome->links, link)) {
        struct arrow begin = begin_of(chrome, link);
        if (link->from_ns <= span->stop_ns)
            kineto_links_write_arrow(chrome, &begin);
        else
            chrome->dropped.links++;
    }
}

static void write_end(struct chrome *chrome, struct arrow begin, const struct trace_span *span,
                      struct kineto_place place)
{
    begin.end = true;
    begin.place = place;
    if (begin.time_ns > span->stop_ns)
        return;
    begin.time_ns = begin.time_ns > span->start_ns ? begin.time_ns : span->start_ns;
    kineto_links_write_arrow(chrome, &begin);
}

void kineto_write_behind(struct chrome *chrome, const struct trace_span *span,
                         const struct trace_detail *detail, const struct kineto_facts *facts,
                         struct kineto_place place)
{
    if (is_launched(chrome, span, detail))
        write_end(chrome, launch_of(chrome, detail, facts), span, place);
    for (const struct pending_link *link = pending_links_of(&chrome->links, span->id); link;
         link = pending_links_next(&chrome->links, link))
        write_end(chrome, begin_of(chrome, link), span, place);
}

/* ---- written behind their spans -------------------------------------------------------- */

static void write_both(struct chrome *chrome, const struct trace_link *link)
{
    struct arrow arrow = {.number = LINK_NUMBER + link->id,
                          .kind = link->kind,
                          .label = link->label,
                          .time_ns = link->from_ns,
                          .place = kineto_place_of_track(chrome, link->from_track)};
    kineto_links_write_arrow(chrome, &arrow);
    arrow.end = true;
    arrow.time_ns = link->to_ns > link->from_ns ? link->to_ns : link->from_ns;
    arrow.place = kineto_place_of_track(chrome, link->to_track);
    kineto_links_write_arrow(chrome, &arrow);
}

void kineto_take_link(void *context, const struct trace_link *link)
{
    struct chrome *chrome = context;
    const struct trace *trace = chrome->pass->trace;
    bool later = link->to_span && !chrome->rows[link->to_track].has_spans;
    if (!later) {
        write_both(chrome, link);
        return;
    }
    bool on_gpu = kineto_is_gpu(trace, trace_track_of(trace, link->to_track));
    bool added = link->kind == TRACE_LAUNCH && on_gpu && !link->label
                     ? linked_spans_add(&chrome->links.launches, link->to_span)
                     : pending_links_keep(&chrome->links, link, LINK_NUMBER + link->id);
    if (!added)
        trace_pass_fail(chrome->pass);
}
