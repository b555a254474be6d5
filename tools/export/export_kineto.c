/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome Trace JSON as PyTorch's profiler (Kineto) writes it (kineto_json.h).
 *
 * Times are microseconds with three decimals from a base that files of one
 * quarter of a year share, so that a double keeps them. An annotation of a GPU begins a
 * nanosecond earlier and ends one later than what it spans, as Kineto
 * writes them: viewers want it around. What begins before the base is at 0.
 */
#include "kineto_json.h"
#include "message.h"
#include "trace_span.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- launches and arrows --------------------------------------------------------------------- */
/*
 * Launches: the call that launched a GPU's work, as an event of its thread that has the work's
 * "correlation", and an arrow from one to the other whose number that is. One call may launch much
 * (a graph). Other arrows have numbers of their own.
 *
 * Both ends are written about the span to which the arrow leads, so that none has one end alone. An
 * arrow cannot lead back in time: one that would, because clocks err, ends further inside its span,
 * or is dropped.
 */

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
    const bool waits = !trace_text_ends(named, "Async");
    if (trace_text_begins(named, "cuda") || trace_text_begins(named, "cuLaunch"))
        return named;
    if (trace_text_is(named, "cuGraphLaunch"))
        return trace_text("cudaGraphLaunch");
    if (trace_text_begins(named, "cuMemcpy"))
        return trace_text(waits ? "cudaMemcpy" : "cudaMemcpyAsync");
    if (trace_text_begins(named, "cuMemset"))
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
               trace_text_begins(call, "cuLaunch") ? "cuda_driver" : "cuda_runtime");
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

/* Before the span: the call that launched it, and the begins of arrows to it. */
static void kineto_write_before(struct chrome *chrome, const struct trace_span *span,
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

static void kineto_take_link(void *context, const struct trace_link *link)
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

/* ---- spans --------------------------------------------------------------------------- */

/* "kernel", or "kernel,a word of the source's". */
static void write_category(struct chrome *chrome, const struct kineto_facts *facts)
{
    char both[1024];
    struct trace_text text = facts->category;
    if (facts->rest.bytes) {
        int bytes =
            facts->rest.bytes < sizeof both / 2 ? (int)facts->rest.bytes : (int)sizeof both / 2;
        snprintf(both, sizeof both, "%.*s,%.*s", (int)text.bytes, text.text, bytes,
                 facts->rest.text);
        text = trace_text(both);
    }
    chrome_text(chrome, "cat", text);
}

static void write_words(struct chrome *chrome, const struct trace_span *span,
                        const struct kineto_facts *facts)
{
    struct out *out = &chrome->pass->out;
    out_text(out, span->flags & TRACE_INSTANT ? "{\"ph\":\"i\",\"s\":\"t\"," : "{\"ph\":\"X\",");
    write_category(chrome, facts);
    struct trace_text name = chrome->names[span->name].text;
    out_text(out, ",");
    json_key(out, "name");
    json_string(out, name.text, name.bytes);
}

static void kineto_write_span(struct chrome *chrome, const struct trace_span *span,
                              const struct trace_detail *detail)
{
    struct out *out = &chrome->pass->out;
    struct kineto_facts facts = kineto_facts_of(chrome, span, detail);
    struct kineto_place place = kineto_place_of(chrome, span, &facts);
    int64_t wider_ns = span->category == TRACE_ANNOTATION && !(span->flags & TRACE_INSTANT);
    kineto_write_before(chrome, span, detail, &facts);
    chrome_separate(chrome);
    write_words(chrome, span, &facts);
    char *at = chrome_put_place(out_room(out, CHROME_EVENT_BYTES_MAX), place.pid, place.tid);
    at = chrome_put_time(chrome, at, trace_shifted(span->start_ns, -wider_ns));
    if (!(span->flags & TRACE_INSTANT))
        at = chrome_put_us(PUT(at, ",\"dur\":"), trace_duration_ns(span) + 2 * (uint64_t)wider_ns);
    out_end(out, at);
    kineto_write_args(chrome, span, detail, &facts);
    out_text(out, "}");
    /* Behind it: their ends. */
    if (is_launched(chrome, span, detail))
        write_end(chrome, launch_of(chrome, detail, &facts), span, place);
    for (const struct pending_link *link = pending_links_of(&chrome->links, span->id); link;
         link = pending_links_next(&chrome->links, link))
        write_end(chrome, begin_of(chrome, link), span, place);
}

static void kineto_on_spans(void *context, const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    struct chrome *chrome = context;
    chrome->rows[spans[0].track].has_spans = true;
    for (size_t i = 0; i < count && !chrome->pass->failed; i++)
        kineto_write_span(chrome, &spans[i], trace_detail_of(details, &spans[i]));
}

/* ---- GPUs ---------------------------------------------------------------------------- */

/* "process.0.gpu.1.name": of which GPU, and what; false if it is another fact. */
static bool is_of_gpu(const struct kept_fact *fact, uint32_t *process, uint32_t *gpu,
                      const char **what)
{
    char key[64];
    int at = 0;
    if (fact->key.bytes >= sizeof key)
        return false;
    memcpy(key, fact->key.text, fact->key.bytes);
    key[fact->key.bytes] = '\0';
    if (sscanf(key, "process.%" SCNu32 ".gpu.%" SCNu32 ".%n", process, gpu, &at) != 2 || !at)
        return false;
    *what = fact->key.text + at;
    return true;
}

static bool is_what(const struct kept_fact *fact, const char *what, const char *word)
{
    size_t bytes = (size_t)(fact->key.text + fact->key.bytes - what);
    return bytes == strlen(word) && memcmp(what, word, bytes) == 0;
}

static void write_property(struct chrome *chrome, const struct kept_fact *fact, const char *what)
{
    struct out *out = &chrome->pass->out;
    const bool memory = is_what(fact, what, "memory_bytes");
    if (is_what(fact, what, "name")) {
        out_text(out, ",");
        chrome_text(chrome, "name", fact->value);
    } else if (memory || is_what(fact, what, "multiprocessors")) {
        out_format(out, ",\"%s\":%.*s", memory ? "totalGlobalMem" : "numSms",
                   (int)fact->value.bytes, fact->value.text);
    }
}

/* They are known when all was read. Facts of one GPU stand together; of a GPU that several
 * processes have the first one counts. */
static void write_devices(struct chrome *chrome)
{
    struct out *out = &chrome->pass->out;
    uint64_t met = 0;
    uint32_t process, gpu, last_process = 0, last_gpu = UINT32_MAX;
    const char *what;
    bool open = false;
    out_text(out, "\"deviceProperties\": [");
    for (const struct kept_fact *fact = chrome->facts.first; fact; fact = fact->next) {
        if (!is_of_gpu(fact, &process, &gpu, &what) || gpu >= 64)
            continue;
        if (!open || process != last_process || gpu != last_gpu) {
            if (met >> gpu & 1)
                continue;
            out_format(out, open ? "},\n{\"id\":%" PRIu32 : "\n{\"id\":%" PRIu32, gpu);
            open = true;
            met |= UINT64_C(1) << gpu;
            last_process = process;
            last_gpu = gpu;
        }
        write_property(chrome, fact, what);
    }
    out_text(out, open ? "}\n],\n" : "],\n");
}

static void write_window_end(struct chrome *chrome)
{
    struct out *out = &chrome->pass->out;
    const struct trace *trace = chrome->pass->trace;
    chrome_separate(chrome);
    out_text(out, "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"" KINETO_WINDOW_END
                  "\",\"pid\":\"\",\"tid\":\"\"");
    if (trace)
        chrome_time(chrome, trace_totals(trace)->last_ns);
    out_text(out, trace ? "}" : ",\"ts\":0.000}");
}

static bool kineto_begin(struct trace_pass *pass)
{
    struct chrome *chrome = calloc(1, sizeof *chrome);
    struct kineto *kineto = calloc(1, sizeof *kineto);
    if (!chrome || !kineto) {
        free(chrome);
        free(kineto);
        return message_fail("out of memory");
    }
    chrome->pass = pass;
    chrome->kineto = kineto;
    chrome->keys.beside_ours = true;
    pass->state = chrome;
    pass->innermost = !export_options_of(pass)->outer_ranges;
    pass->sink = (struct trace_sink){
        .context = chrome,
        .process = chrome_take_process,
        .track = chrome_take_track,
        .name = kineto_take_name,
        .spans = kineto_on_spans,
        .samples = chrome_take_samples,
        .link = kineto_take_link,
        .loss = chrome_take_loss,
        .fact = chrome_take_fact,
        .full = trace_pass_is_full,
    };
    return true;
}

static enum exit_code kineto_end(struct trace_pass *pass)
{
    struct chrome *chrome = pass->state;
    struct kineto *kineto = chrome->kineto;
    struct out *out = &pass->out;
    struct trace_text path =
        trace_text(pass->options->output.path ? pass->options->output.path : "-");
    write_window_end(chrome);
    out_text(out, "\n],\n");
    write_devices(chrome);
    chrome_write_facts(chrome);
    out_text(out, ",\n");
    chrome_text(chrome, "traceName", path);
    out_text(out, "\n}\n");
    thread_map_free(&kineto->gpu_map);
    thread_map_free(&kineto->place_map);
    linked_spans_free(&kineto->called);
    free(kineto->gpus);
    free(kineto->places);
    free(kineto);
    return chrome_end(chrome, "kineto");
}

const struct exporter exporter_kineto = {
    .name = "kineto",
    .suffixes = ".pt.trace.json .kineto.json",
    .summary = "PyTorch's Chrome JSON, for Holistic Trace Analysis, TensorBoard",
    .maker = {.begin = kineto_begin, .end = kineto_end},
};
