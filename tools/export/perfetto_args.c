/* SPDX-License-Identifier: Apache-2.0 */
/* What a span has beyond its name: the source's category, correlation, arguments, bounds, launch.
 */
#include "own_keys.h"
#include "perfetto_trace.h"
#include "trace_span.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ARG_BYTES = 48,      /* of one, without its texts */
    MODEL_BYTES = 512,   /* of what is not an argument */
    TEXTS_MAX = 48 << 10 /* of all arguments: what is more is dropped */
};

static uint32_t at_most(uint32_t bytes)
{
    return bytes < TEXT_BYTES_MAX ? bytes : TEXT_BYTES_MAX;
}

static struct trace_text perfetto_args_text_of(const struct perfetto *perfetto,
                                               const struct trace_detail *detail,
                                               const struct trace_arg *arg)
{
    if (arg->type == TRACE_ARG_NAME)
        return trace_name_of(perfetto->pass->trace, (uint32_t)arg->value.u64);
    if (arg->type == TRACE_ARG_TEXT || arg->type == TRACE_ARG_JSON)
        return trace_arg_text(detail, arg);
    return (struct trace_text){"", 0};
}

/* The number of its arguments that fit, and their texts' bytes. */
static uint32_t fitting(const struct perfetto *perfetto, const struct trace_detail *detail,
                        size_t *bytes_out)
{
    size_t bytes = 0;
    uint32_t count = 0;
    for (; count < detail->arg_count; count++) {
        const struct trace_arg *arg = &trace_args_of(detail)[count];
        size_t more = ARG_BYTES + at_most(trace_name_of(perfetto->pass->trace, arg->key).bytes) +
                      OWN_KEY_PREFIX_BYTES +
                      at_most(perfetto_args_text_of(perfetto, detail, arg).bytes);
        if (bytes + more > TEXTS_MAX)
            break;
        bytes += more;
    }
    *bytes_out = bytes;
    return count;
}

size_t perfetto_detail_bytes(const struct perfetto *perfetto, const struct trace_detail *detail)
{
    size_t bytes;
    (void)fitting(perfetto, detail, &bytes);
    return bytes + MODEL_BYTES +
           at_most(trace_label_of(perfetto->pass->trace, detail->category).bytes);
}

static uint8_t *put_fixed_double(uint8_t *at, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return pb_fixed64(at, field, bits);
}

static uint8_t *perfetto_args_put_value(struct perfetto *perfetto, uint8_t *at,
                                        const struct trace_detail *detail,
                                        const struct trace_arg *arg)
{
    struct trace_text text = perfetto_args_text_of(perfetto, detail, arg);
    switch ((enum trace_arg_type)arg->type) {
    case TRACE_ARG_U64:
    case TRACE_ARG_DURATION:
        return pb_u64(at, PF_ANNOTATION_UINT, arg->value.u64);
    case TRACE_ARG_I64:
    case TRACE_ARG_TIME:
        return pb_u64(at, PF_ANNOTATION_INT, (uint64_t)arg->value.i64);
    case TRACE_ARG_F64:
        return put_fixed_double(at, PF_ANNOTATION_DOUBLE, arg->value.f64);
    case TRACE_ARG_BOOL:
        return pb_u64(at, PF_ANNOTATION_BOOL, arg->value.u64 != 0);
    case TRACE_ARG_JSON:
        if (text.bytes <= TEXT_BYTES_MAX) /* cut it would be no JSON */
            return perfetto_put_text(perfetto, at, PF_ANNOTATION_JSON, text, TEXT_BYTES_MAX);
        break;
    case TRACE_ARG_NAME:
    case TRACE_ARG_TEXT:
        break;
    }
    return perfetto_put_text(perfetto, at, PF_ANNOTATION_STRING, text, TEXT_BYTES_MAX);
}

uint8_t *perfetto_put_number(uint8_t *at, const char *key, enum pf_annotation kind, uint64_t value)
{
    uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
    at = pb_text(annotation, PF_ANNOTATION_NAME, key);
    return pb_close(annotation, pb_u64(at, kind, value));
}

static uint8_t *put_model(uint8_t *at, const struct trace_span *span,
                          const struct trace_detail *detail)
{
    int64_t parts[TRACE_CPU_PARTS] = {-1, -1, -1};
    if (detail->flags & TRACE_HAS_CPU)
        trace_cpu_parts(span, detail, parts);
    for (int i = 0; i < TRACE_CPU_PARTS; i++)
        if (parts[i] >= 0)
            at = perfetto_put_number(at, trace_cpu_part_name[i], PF_ANNOTATION_UINT,
                                     (uint64_t)parts[i]);
    if (detail->flags & TRACE_HAS_LAUNCH)
        at = perfetto_put_number(at, "launch_ns", PF_ANNOTATION_INT, (uint64_t)detail->launch_ns);
    if (detail->thread_id)
        at = perfetto_put_number(at, "launch_thread", PF_ANNOTATION_UINT, detail->thread_id);
    if (detail->flags & TRACE_INFERRED)
        at = perfetto_put_number(at, "launch_inferred", PF_ANNOTATION_BOOL, 1);
    if (!(detail->flags & TRACE_HAS_BOUNDS))
        return at;
    at = perfetto_put_number(at, "start_uncertain_ns", PF_ANNOTATION_UINT,
                             detail->start_uncertain_ns);
    at =
        perfetto_put_number(at, "stop_uncertain_ns", PF_ANNOTATION_UINT, detail->stop_uncertain_ns);
    return perfetto_put_number(at, "certain_ns", PF_ANNOTATION_UINT, detail->certain_ns);
}

static uint8_t *perfetto_args_put_key(struct perfetto *perfetto, uint8_t *at, uint32_t number)
{
    char prefixed[256];
    struct trace_text key = trace_name_of(perfetto->pass->trace, number);
    if (own_key_is_taken(key)) {
        snprintf(prefixed, sizeof prefixed, OWN_KEY_PREFIX "%.*s", (int)key.bytes, key.text);
        key = trace_text(prefixed);
    }
    return perfetto_put_text(perfetto, at, PF_ANNOTATION_NAME, key, TEXT_BYTES_MAX);
}

uint8_t *perfetto_put_details(struct perfetto *perfetto, uint8_t *at, const struct trace_span *span,
                              const struct trace_detail *detail)
{
    const struct trace *trace = perfetto->pass->trace;
    size_t bytes;
    uint32_t count = fitting(perfetto, detail, &bytes);
    perfetto->dropped.details += count < detail->arg_count;
    if (detail->category)
        at = perfetto_put_text(perfetto, at, PF_EVENT_CATEGORY,
                               trace_label_of(trace, detail->category), TEXT_BYTES_MAX);
    if (detail->correlation)
        at = pb_u64(at, PF_EVENT_CORRELATION, detail->correlation);
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_arg *arg = &trace_args_of(detail)[i];
        uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
        at = perfetto_args_put_key(perfetto, annotation, arg->key);
        at = pb_close(annotation, perfetto_args_put_value(perfetto, at, detail, arg));
    }
    return put_model(at, span, detail);
}
