/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of spans, in Chrome's JSON and as Kineto has them. */
#include "kineto_json.h"
#include "trace_span.h"

#include <inttypes.h>

/* ---- chrome args ----------------------------------------------------------------------------- */
/*
 * Arguments of a span: its flags, its slot or item, the source's own, and
 * under "rbwp" what the model has beyond that, with times since 1970 as texts.
 */

static void chrome_args_separate(struct chrome *chrome, bool *any)
{
    out_text(&chrome->pass->out, *any ? "," : ",\"args\":{");
    *any = true;
}

/* "KEY":value,... of whether it ran and how long, each with a comma behind it. */
static void chrome_write_cpu(struct chrome *chrome, const struct trace_span *span,
                             const struct trace_detail *detail)
{
    int64_t parts[TRACE_CPU_PARTS];
    struct out *out = &chrome->pass->out;
    if (span->flags & TRACE_RAN)
        out_text(out, "\"ran\":true,");
    if (!detail || !(detail->flags & TRACE_HAS_CPU))
        return;
    trace_cpu_parts(span, detail, parts);
    for (int i = 0; i < TRACE_CPU_PARTS; i++)
        if (parts[i] >= 0)
            out_format(out, "\"%s\":%" PRId64 ",", trace_cpu_part_name[i], parts[i]);
}

/* The same of the model's launch and bounds. */
static void chrome_write_launch(struct chrome *chrome, const struct trace_detail *detail)
{
    struct out *out = &chrome->pass->out;
    if (detail->flags & TRACE_HAS_BOUNDS)
        out_format(out,
                   "\"start_uncertain_ns\":%" PRIu64 ",\"stop_uncertain_ns\":%" PRIu64
                   ",\"certain_ns\":%" PRIu64 ",",
                   detail->start_uncertain_ns, detail->stop_uncertain_ns, detail->certain_ns);
    if (detail->flags & TRACE_HAS_LAUNCH)
        out_format(out, "\"launch_ns\":\"%" PRId64 "\",", detail->launch_ns);
    if (detail->launch_track != TRACE_NONE)
        out_format(out, "\"launch_track\":%" PRIu32 ",", detail->launch_track);
    if (detail->thread_id)
        out_format(out, "\"launch_thread\":\"0x%" PRIx64 "\",", detail->thread_id);
    if (detail->flags & TRACE_INFERRED)
        out_text(out, "\"inferred\":true,");
}

/* Every member with a comma behind it, which the last one loses. */
static void chrome_args_write_model(struct chrome *chrome, const struct trace_span *span,
                                    const struct trace_detail *detail)
{
    struct out *out = &chrome->pass->out;
    out_text(out, "\"rbwp\":{");
    if (detail && detail->correlation)
        out_format(out, "\"correlation\":\"%" PRIu64 "\",", detail->correlation);
    chrome_write_cpu(chrome, span, detail);
    if (detail)
        chrome_write_launch(chrome, detail);
    out->used--;
    out_text(out, "}");
}

void chrome_write_args(struct chrome *chrome, const struct trace_span *span,
                       const struct trace_detail *detail)
{
    struct out *out = &chrome->pass->out;
    const char *key = own_key_of_item(span->category, span->item);
    bool any = false;
    if (span->flags & TRACE_UNFINISHED) {
        chrome_args_separate(chrome, &any);
        out_text(out, "\"unfinished\":true");
    }
    if (span->flags & TRACE_OPEN) {
        chrome_args_separate(chrome, &any);
        out_text(out, "\"open\":true");
    }
    if (key) {
        chrome_args_separate(chrome, &any);
        json_u64(out, key, span->item);
    }
    if (detail && detail->arg_count) {
        chrome_args_separate(chrome, &any);
        args_json_members(out, &chrome->text, &chrome->keys, chrome->pass->trace, detail);
    }
    if (span->flags & TRACE_RAN ||
        (detail && (detail->flags || detail->correlation || detail->thread_id ||
                    detail->launch_track != TRACE_NONE))) {
        chrome_args_separate(chrome, &any);
        chrome_args_write_model(chrome, span, detail);
    }
    if (any)
        out_text(out, "}");
}

/* ---- kineto args ----------------------------------------------------------------------------- */
/*
 * Arguments as Kineto has them, the source's own, and under "rbwp" what a reader of ours needs to
 * have the span back as it was.
 */

/* Numbers that nobody else has, and that a double holds. */
#define MADE_CORRELATION (UINT64_C(1) << 52)
enum { PROCESS_SHIFT = 40 };

/* ---- what the source says ------------------------------------------------------------ */

void kineto_take_name(void *context, uint32_t number, struct trace_text name)
{
    static const char *const words[] = {"launched", "id", "range", "graph node id", "call"};
    struct chrome *chrome = context;
    for (unsigned key = 0; key < KINETO_KEYS; key++) {
        const char *word =
            key < KINETO_MADE_KEYS ? kineto_made_key[key] : words[key - KINETO_MADE_KEYS];
        if (trace_text_is(name, word))
            chrome->kineto->keys[key] = number + 1;
    }
    chrome_take_name(context, number, name);
}

static bool is_integer(const struct trace_arg *arg)
{
    return arg->type == TRACE_ARG_U64 || arg->type == TRACE_ARG_I64 ||
           arg->type == TRACE_ARG_TIME || arg->type == TRACE_ARG_DURATION;
}

static void take_args(const struct kineto *kineto, const struct trace_detail *detail,
                      struct kineto_facts *facts)
{
    for (uint32_t i = 0; i < detail->arg_count; i++) {
        const struct trace_arg *arg = &trace_args_of(detail)[i];
        for (unsigned key = 0; key < KINETO_KEYS; key++) {
            if (kineto->keys[key] != arg->key + 1)
                continue;
            facts->has |= 1u << key;
            if (key == KINETO_CALL && arg->type == TRACE_ARG_TEXT)
                facts->call = trace_arg_text(detail, arg);
            facts->value[key] = is_integer(arg) ? arg->value.u64 : 0;
        }
    }
}

/* ---- categories ----------------------------------------------------------------------- */

static const char *word_of(const struct trace_span *span, bool on_gpu)
{
    if (span->flags & TRACE_INSTANT)
        return "cpu_instant_event";
    if (span->category == TRACE_RANGE || span->category == TRACE_QUEUED)
        return "user_annotation";
    if (!on_gpu)
        return "cpu_op";
    return span->category == TRACE_ANNOTATION ? "gpu_user_annotation"
           : span->category == TRACE_COPY     ? "gpu_memcpy"
                                              : "kernel";
}

static void choose_category(const struct chrome *chrome, const struct trace_span *span,
                            const struct trace_detail *detail, struct kineto_facts *facts)
{
    facts->category = trace_text(word_of(span, facts->on_gpu));
    if (!detail || !detail->category)
        return;
    struct trace_text label = trace_label_of(chrome->pass->trace, detail->category);
    facts->own = kineto_is_category(label);
    if (facts->own)
        facts->category = label;
    else
        facts->rest = label;
}

/* ---- what is written ------------------------------------------------------------------ */

/* Calls of several processes have the same numbers. */
static uint64_t correlation_of(const struct chrome *chrome, const struct trace_span *span,
                               const struct trace_detail *detail)
{
    if (!detail || !detail->correlation)
        return MADE_CORRELATION + span->id;
    uint64_t process = trace_track_of(chrome->pass->trace, span->track)->process;
    bool fits = detail->correlation >> PROCESS_SHIFT == 0 && process < 1u << 11;
    return fits ? process << PROCESS_SHIFT | detail->correlation : detail->correlation;
}

static void kineto_args_make(struct kineto_facts *facts, enum kineto_made key, uint64_t value)
{
    if (facts->has >> key & 1)
        return;
    facts->made |= 1u << key;
    facts->value[key] = value;
}

struct kineto_facts kineto_facts_of(const struct chrome *chrome, const struct trace_span *span,
                                    const struct trace_detail *detail)
{
    const struct trace *trace = chrome->pass->trace;
    struct kineto_facts facts = {.on_gpu = kineto_is_gpu(trace, trace_track_of(trace, span->track)),
                                 .rest = {"", 0},
                                 .call = {"", 0}};
    bool is_work = facts.on_gpu && !(span->flags & TRACE_INSTANT) &&
                   (span->category == TRACE_GPU_WORK || span->category == TRACE_COPY);
    if (detail)
        take_args(chrome->kineto, detail, &facts);
    choose_category(chrome, span, detail, &facts);
    if (is_work) {
        kineto_args_make(&facts, KINETO_DEVICE, 0); /* of its place */
        kineto_args_make(&facts, KINETO_STREAM, 0);
        kineto_args_make(&facts, KINETO_CORRELATION, correlation_of(chrome, span, detail));
    }
    uint64_t id = facts.value[KINETO_ID] ? facts.value[KINETO_ID] : facts.value[KINETO_RANGE];
    if ((span->category == TRACE_RANGE || span->category == TRACE_ANNOTATION) && id)
        kineto_args_make(&facts, KINETO_EXTERNAL_ID, id);
    if (span->flags & TRACE_UNFINISHED)
        kineto_args_make(&facts, KINETO_FINISHED, 0);
    return facts;
}

/* ---- "rbwp":{...} --------------------------------------------------------------------- */

/* Its ts is not the time itself. */
static bool is_clamped(const struct chrome *chrome, const struct trace_span *span)
{
    int64_t first_ns = chrome->base_ns + (span->category == TRACE_ANNOTATION);
    return span->start_ns < first_ns;
}

/* Every member with a comma behind it. */
static void kineto_args_write_model(struct chrome *chrome, const struct trace_span *span,
                                    const struct trace_detail *detail,
                                    const struct kineto_facts *facts)
{
    struct out *out = &chrome->pass->out;
    uint64_t correlation = detail ? detail->correlation : 0;
    if (facts->made)
        out_format(out, "\"made\":%" PRIu32 ",", facts->made);
    if (facts->works != span->track)
        out_format(out, "\"track\":%" PRIu32 ",", span->track);
    if (kineto_category(facts->category) != span->category)
        out_format(out, "\"as\":\"%s\",", trace_category_name[span->category]);
    if (facts->own)
        out_text(out, "\"own\":1,");
    if (span->item)
        out_format(out, "\"item\":%" PRIu32 ",", span->item);
    if (span->flags & TRACE_OPEN)
        out_text(out, "\"open\":1,");
    if (is_clamped(chrome, span))
        out_format(out, "\"start_ns\":\"%" PRId64 "\",", span->start_ns);
    if (facts->value[KINETO_CORRELATION] != correlation)
        out_format(out, "\"correlation\":\"%" PRIu64 "\",", correlation);
    chrome_write_cpu(chrome, span, detail);
    if (detail)
        chrome_write_launch(chrome, detail);
}

/* ---- all ------------------------------------------------------------------------------ */

static void write_made(struct chrome *chrome, const struct kineto_facts *facts, bool *any)
{
    struct out *out = &chrome->pass->out;
    for (unsigned key = 0; key < KINETO_MADE_KEYS; key++) {
        if (!(facts->made >> key & 1))
            continue;
        chrome_args_separate(chrome, any);
        json_key(out, kineto_made_key[key]);
        if (key == KINETO_FINISHED)
            out_text(out, "\"false\"");
        else
            out_u64(out, facts->value[key]);
    }
}

void kineto_write_args(struct chrome *chrome, const struct trace_span *span,
                       const struct trace_detail *detail, const struct kineto_facts *facts)
{
    enum { MODEL_BYTES_MAX = 1024 };
    struct out *out = &chrome->pass->out;
    bool any = false;
    write_made(chrome, facts, &any);
    if (detail && detail->arg_count) {
        chrome_args_separate(chrome, &any);
        args_json_members(out, &chrome->text, &chrome->keys, chrome->pass->trace, detail);
    }
    out_end(out, out_room(out, MODEL_BYTES_MAX)); /* so that it lies there in one piece */
    size_t begin = out->used;
    bool before = any;
    chrome_args_separate(chrome, &any);
    out_text(out, "\"rbwp\":{");
    size_t empty = out->used;
    kineto_args_write_model(chrome, span, detail, facts);
    if (out->used > empty) {
        out->used--;
        out_text(out, "}}");
    } else {
        out->used = begin;
        out_text(out, before ? "}" : "");
    }
}
