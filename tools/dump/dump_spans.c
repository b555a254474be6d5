/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The span dump: begins paired with ends, names resolved, one JSON object
 * each, in the order in which they end (unfinished ones at the end of the
 * file or where damage cut them).
 */
#include "dump.h"
#include "json_line.h"
#include "message.h"
#include "pair_walk.h"

struct span_dump {
    struct dump *dump;
    const struct input *input;
    struct names names;
    struct filter filter;
};

/* The pair without what noticing its end adds, if it is GPU work and --gpu-bias is given. */
static struct record_pair corrected(const struct dump *dump, const struct record_pair *pair)
{
    struct record_pair result = *pair;
    if (pair->kind == PAIR_GPU)
        result.end_ns =
            gpu_bias_stop(&dump->bias, pair->proc_id, pair->slot, pair->begin_ns, pair->end_ns);
    return result;
}

static void dump_spans_write_pair(void *context, const struct record_pair *stored)
{
    struct span_dump *spans = context;
    struct out *out = &spans->dump->out;
    const struct record_pair whole = corrected(spans->dump, stored), *pair = &whole;
    if (out_failed(out) || !filter_takes_pair(&spans->filter, pair))
        return;
    bool lines = spans->dump->options->ndjson;
    out_text(out, lines ? "" : spans->dump->written ? ",\n" : "\n");
    spans->dump->written++;
    const struct gpu_facts *facts = &spans->dump->facts;
    const struct gpu_fact *fact =
        pair->kind == PAIR_GPU
            ? gpu_facts_of(facts, stored->proc_id, stored->slot, stored->begin_ns, stored->end_ns)
            : NULL;
    struct rbwp_text work = {"", 0};
    if (fact && fact->name)
        work = rbwp_catalog_name(facts->catalog, fact->name);
    json_span(out, spans->input->path, &spans->names, pair, fact, work);
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
    struct pair_walk walk = {.context = &spans,
                             .pair = dump_spans_write_pair,
                             .block_begins = dump_spans_begin_block,
                             .enough = output_failed};
    if (!names_load(&spans.names, input->reader))
        return message_bad_data("out of memory");
    filter_start(&spans.filter, &dump->options->filter, input->reader, &spans.names);
    enum exit_code code = pair_walk(&walk, input);
    filter_stop(&spans.filter);
    names_free(&spans.names);
    return code;
}
