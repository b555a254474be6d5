/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The span dump: begins paired with ends, names resolved, one JSON object
 * each, in the order in which they end (unfinished ones at the end of the
 * file or where damage cut them).
 */
#include "dump.h"
#include "json_line.h"
#include "message.h"
#include "span_walk.h"

struct span_dump {
    struct dump *dump;
    const struct input *input;
    struct names names;
    struct filter filter;
};

/* The span without what noticing its end adds, if it is GPU work and --gpu-bias is given. */
static struct span corrected(const struct dump *dump, const struct span *span)
{
    struct span result = *span;
    const struct rbwp_record work = {.proc_id = span->proc_id,
                                     .slot = (uint8_t)span->slot,
                                     .start_ns = span->begin_ns,
                                     .stop_ns = span->end_ns};
    if (span->kind == SPAN_GPU)
        result.end_ns = gpu_bias_stop(&dump->bias, &work);
    return result;
}

static void dump_spans_write_span(void *context, const struct span *stored)
{
    struct span_dump *spans = context;
    struct out *out = &spans->dump->out;
    const struct span whole = corrected(spans->dump, stored), *span = &whole;
    struct filter_span judged = filter_span_of(span);
    if (out_failed(out) || !filter_takes_span(&spans->filter, &judged))
        return;
    bool lines = spans->dump->options->ndjson;
    out_text(out, lines ? "" : spans->dump->written ? ",\n" : "\n");
    spans->dump->written++;
    const struct gpu_facts *facts = &spans->dump->facts;
    const struct gpu_fact *fact =
        span->kind == SPAN_GPU
            ? gpu_facts_of(facts, stored->proc_id, stored->slot, stored->begin_ns, stored->end_ns)
            : NULL;
    struct rbwp_text work = {"", 0};
    if (fact && fact->name)
        work = rbwp_catalog_name(facts->catalog, fact->name);
    json_span(out, spans->input->path, &spans->names, span, fact, work);
    out_text(out, lines ? "\n" : "");
}

static void dump_spans_begin_block(void *context, const struct rbwp_block *block)
{
    struct span_dump *spans = context;
    filter_resolve(&spans->filter, block->first_ns);
    filter_see_block(&spans->filter, block);
}

static bool output_failed(void *context)
{
    const struct span_dump *spans = context;
    return out_failed(&spans->dump->out);
}

enum exit_code dump_spans(struct dump *dump, struct input *input)
{
    struct span_dump spans = {.dump = dump, .input = input};
    struct span_walk walk = {.context = &spans,
                             .span = dump_spans_write_span,
                             .block_begins = dump_spans_begin_block,
                             .enough = output_failed};
    if (!names_load(&spans.names, input->reader)) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    filter_start(&spans.filter, &dump->options->filter, input->reader, &spans.names);
    enum exit_code code = span_walk(&walk, input);
    filter_stop(&spans.filter);
    names_free(&spans.names);
    return code;
}
