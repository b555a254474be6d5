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
    kineto_write_behind(chrome, span, detail, &facts, place);
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
