/* SPDX-License-Identifier: Apache-2.0 */
/* The document rbwp-why-1. */
#include "why_view.h"

#include "json_text.h"

#include <string.h>

#define VIEW(at) ((const struct why_view *)(at)->all)

/* ---- names ------------------------------------------------------------------------------------
 */

static struct result_cell text_cell(struct trace_text text)
{
    return text.bytes ? result_bytes(text) : result_nothing();
}

static struct result_cell name_cell(const struct result_at *at, uint32_t name)
{
    return name == TRACE_NONE ? result_nothing()
                              : result_bytes(trace_name_of(VIEW(at)->trace, name));
}

static struct result_cell thread_cell(const struct result_at *at, uint32_t thread)
{
    return thread == TRACE_NONE ? result_nothing()
                                : result_bytes(trace_track_of(VIEW(at)->trace, thread)->name);
}

RESULT_MAKES(evidence_thread, why_evidence, thread_cell(at, row->thread))
RESULT_MAKES(where_name, why_cause, name_cell(at, row->name))
RESULT_MAKES(where_thread, why_cause, thread_cell(at, row->others ? TRACE_NONE : row->thread))
RESULT_MAKES(where_lock, why_cause,
             row->cause == WHY_CAUSE_LOCK ? name_cell(at, row->kind) : result_nothing())
RESULT_MAKES(where_wait, why_cause,
             row->cause != WHY_CAUSE_LOCK ? name_cell(at, row->kind) : result_nothing())
RESULT_MAKES(argument_key, why_cause, name_cell(at, row->key))
RESULT_MAKES(argument_value, why_cause, result_bytes(VIEW(at)->calls->texts.list[row->value]))

enum { BY_THREAD, BY_PROCESS, BY_NAME, BY_HOLDER, BY_WAIT };

static struct result_cell by_made(const struct result_at *at, int what)
{
    const struct why_by *by = &((const struct why_cause *)at->row)->by;
    switch (what) {
    case BY_THREAD:
        return thread_cell(at, by->thread);
    case BY_PROCESS:
        return text_cell(why_other_process(VIEW(at)->trace, at->row));
    case BY_NAME:
        return name_cell(at, by->name);
    case BY_HOLDER:
        return thread_cell(at, by->holder ? by->holder - 1 : TRACE_NONE);
    default:
        return name_cell(at, by->wait);
    }
}

static struct result_rows has_argument(const struct result_at *at)
{
    const struct why_cause *cause = at->row;
    return result_part_row(cause->key == TRACE_NONE ? NULL : cause);
}

static struct result_rows by_row(const struct result_at *at)
{
    const struct why_cause *cause = at->row;
    const bool any = cause->by.thread != TRACE_NONE || cause->by.name != TRACE_NONE;
    return result_part_row(any ? cause : NULL);
}

static struct result_rows evidence_of(const struct result_at *at)
{
    const struct why_cause *cause = at->row;
    return result_array(cause->evidence, sizeof *cause->evidence, cause->evidence_count);
}

#define SAID VIEW(at)->texts[row - VIEW(at)->split->list]
RESULT_MAKES(where_stack, why_cause, text_cell(SAID.stack))
RESULT_MAKES(by_stack, why_cause, text_cell(SAID.by_stack))
RESULT_MAKES(cause_text, why_cause, text_cell(SAID.text))

/* ---- a cause -----------------------------------------------------------------------------------
 */

#define OPTIONAL_MADE(key, unit, function, which)                                                  \
    {                                                                                              \
        key, NULL, 0, unit, RESULT_MADE(function, which), .optional = true                         \
    }
#define OPTIONAL(key, unit, type, field)                                                           \
    {                                                                                              \
        key, NULL, 0, unit, RESULT_FIELD(type, field), .optional = true                            \
    }

static const struct result_column argument_columns[] = {
    RESULT_PLAIN_MADE("key", RESULT_TEXT, argument_key, 0),
    RESULT_PLAIN_MADE("value", RESULT_TEXT, argument_value, 0), RESULT_LAST};
static const struct result_column where_columns[] = {
    OPTIONAL_MADE("name", RESULT_TEXT, where_name, 0),
    OPTIONAL_MADE("thread", RESULT_TEXT, where_thread, 0),
    OPTIONAL_MADE("lock", RESULT_TEXT, where_lock, 0),
    OPTIONAL_MADE("wait", RESULT_TEXT, where_wait, 0),
    OPTIONAL("object", RESULT_ID, struct why_cause, object),
    OPTIONAL("object_name", RESULT_TEXT, struct why_cause, object_name),
    OPTIONAL("system_call", RESULT_ID, struct why_cause, system_call),
    OPTIONAL("system_call_name", RESULT_TEXT, struct why_cause, system_call_name),
    OPTIONAL_MADE("stack", RESULT_TEXT, where_stack, 0),
    OPTIONAL("faults", RESULT_COUNT, struct why_cause, faults),
    {"argument", NULL, 0, RESULT_PART_AT, .part = argument_columns, .rows = has_argument},
    RESULT_LAST};
static const struct result_column by_columns[] = {
    OPTIONAL_MADE("thread", RESULT_TEXT, by_made, BY_THREAD),
    OPTIONAL_MADE("process", RESULT_TEXT, by_made, BY_PROCESS),
    OPTIONAL_MADE("stack", RESULT_TEXT, by_stack, 0),
    OPTIONAL_MADE("name", RESULT_TEXT, by_made, BY_NAME),
    OPTIONAL_MADE("holder", RESULT_TEXT, by_made, BY_HOLDER),
    OPTIONAL_MADE("wait", RESULT_TEXT, by_made, BY_WAIT),
    RESULT_LAST};
static const struct result_column evidence_columns[] = {
    RESULT_PLAIN_MADE("thread", RESULT_TEXT, evidence_thread, 0),
    RESULT_PLAIN("start_ns", RESULT_TIME, struct why_evidence, start_ns),
    RESULT_PLAIN("duration_ns", RESULT_NS, struct why_evidence, duration_ns), RESULT_LAST};
static const struct result_table evidence_table = {"evidence", NULL, evidence_columns, "", NULL, 0};

static const char *cause_word(unsigned number)
{
    return why_cause_words[number];
}

static struct result_cell cause_share(const struct result_at *at, int what)
{
    const struct why_cause *cause = at->row;
    (void)what;
    return result_share(cause->excess_ns, VIEW(at)->split->excess_ns);
}

static const struct result_column cause_columns[] = {
    {"cause", NULL, 0, RESULT_WORD, RESULT_FIELD(struct why_cause, cause),
     .value_name = cause_word},
    RESULT_PLAIN("excess_ns", RESULT_NS, struct why_cause, excess_ns),
    RESULT_PLAIN_MADE("share", RESULT_SHARE, cause_share, 0),
    RESULT_PLAIN("calls", RESULT_COUNT, struct why_cause, calls),
    {"where", NULL, 0, RESULT_PART, .part = where_columns},
    {"by", NULL, 0, RESULT_PART_AT, .part = by_columns, .rows = by_row},
    {"evidence", NULL, 0, RESULT_LIST, .list = &evidence_table, .rows = evidence_of,
     .one_line = true},
    RESULT_PLAIN("bound_ns", RESULT_NS, struct why_cause, bound_ns),
    RESULT_PLAIN_MADE("text", RESULT_TEXT, cause_text, 0),
    RESULT_LAST};
static const struct result_table causes_table = {"causes", NULL, cause_columns, "", NULL, 0};

/* ---- the document ------------------------------------------------------------------------------
 */

enum { CALLS, SLOW, THRESHOLD, EXCESS, MEDIAN, UNKNOWN, UNKNOWN_SHARE, BLOCKED, PERIOD, FOR };

static struct result_cell made(const struct result_at *at, int what)
{
    const struct why_view *view = VIEW(at);
    const struct why_name *name = view->name;
    const struct why_split *split = view->split;
    switch (what) {
    case CALLS:
        return result_u64(name ? name->own.values.total : view->names->calls);
    case SLOW:
        return result_u64(why_slow_calls(view));
    case THRESHOLD:
        return result_u64(!name            ? 0
                          : name->own.slow ? name->own.bounds.threshold_ns
                                           : name->queued.bounds.threshold_ns);
    case EXCESS:
        return result_u64(split->excess_ns);
    case MEDIAN:
        return result_u64(split->median_ns);
    case UNKNOWN:
        return result_u64(split->unknown_ns);
    case UNKNOWN_SHARE:
        return result_share(split->unknown_ns, split->excess_ns);
    case BLOCKED:
        return result_u64(split->blocked_ns);
    case PERIOD:
        return result_u64(split->period_ns);
    default:
        return result_u64(split->for_ns);
    }
}

static struct result_cell slow_name(const struct result_at *at, int what)
{
    const struct why_name *name = VIEW(at)->name;
    (void)what;
    return name ? result_bytes(name->name) : result_nothing();
}

static struct result_rows has_period(const struct result_at *at)
{
    return result_part_row(VIEW(at)->split->period_ns ? VIEW(at) : NULL);
}

static const struct result_column period_columns[] = {
    RESULT_PLAIN_MADE("every_ns", RESULT_NS, made, PERIOD),
    RESULT_PLAIN_MADE("for_ns", RESULT_NS, made, FOR), RESULT_LAST};
static const struct result_column slow_columns[] = {
    OPTIONAL_MADE("name", RESULT_TEXT, slow_name, 0),
    RESULT_PLAIN_MADE("calls", RESULT_COUNT, made, SLOW),
    RESULT_PLAIN_MADE("threshold_ns", RESULT_NS, made, THRESHOLD),
    RESULT_PLAIN_MADE("median_ns", RESULT_NS, made, MEDIAN),
    RESULT_PLAIN_MADE("excess_ns", RESULT_NS, made, EXCESS),
    {"period", NULL, 0, RESULT_PART_AT, .part = period_columns, .rows = has_period},
    RESULT_LAST};
static const struct result_column unknown_columns[] = {
    RESULT_PLAIN_MADE("excess_ns", RESULT_NS, made, UNKNOWN),
    RESULT_PLAIN_MADE("share", RESULT_SHARE, made, UNKNOWN_SHARE),
    RESULT_PLAIN_MADE("blocked_ns", RESULT_NS, made, BLOCKED), RESULT_LAST};

/* ---- GPUs --------------------------------------------------------------------------------------
 */

RESULT_MAKES(gpu_name, why_gpu, result_word(row->name))
RESULT_MAKES(gpu_thread, why_gpu, *row->thread ? result_word(row->thread) : result_nothing())
RESULT_MAKES(gpu_launch, why_gpu,
             result_u64(row->use.paces ? row->use.pace_ns / row->use.paces : 0))

static const struct result_column gpu_columns[] = {
    RESULT_PLAIN_MADE("name", RESULT_TEXT, gpu_name, 0),
    RESULT_PLAIN("busy_ns", RESULT_NS, struct why_gpu, use.busy.busy_ns),
    RESULT_PLAIN("used_ns", RESULT_NS, struct why_gpu, use.used_ns),
    RESULT_PLAIN("launches", RESULT_COUNT, struct why_gpu, use.launches),
    OPTIONAL_MADE("thread", RESULT_TEXT, gpu_thread, 0),
    RESULT_PLAIN_MADE("launch_ns", RESULT_NS, gpu_launch, 0),
    RESULT_PLAIN("gaps_ns", RESULT_NS, struct why_gpu, use.gap_ns),
    RESULT_PLAIN("running_ns", RESULT_NS, struct why_gpu, running_ns),
    RESULT_PLAIN("launching_ns", RESULT_NS, struct why_gpu, use.inside_ns),
    RESULT_PLAIN("launch_bound", RESULT_BOOL, struct why_gpu, bound),
    RESULT_LAST};
static const struct result_table gpus_table = {"gpus", NULL, gpu_columns, "", NULL, 0};

static struct result_rows gpus_of(const struct result_at *at)
{
    const struct why_gpus *gpus = &VIEW(at)->names->gpus;
    return result_array(gpus->list, sizeof *gpus->list, gpus->count);
}

static struct result_cell schema_name(const struct result_at *at, int what)
{
    (void)at, (void)what;
    return result_word("rbwp-why-1");
}

static void put_doubts(struct out *out, const struct result_at *at)
{
    const struct why_view *view = VIEW(at);
    json_open(out, "doubts", '[');
    for (uint32_t i = 0; i < view->doubt_count; i++) {
        out_text(out, i ? "," : "");
        json_string(out, view->doubts[i], strlen(view->doubts[i]));
    }
    out_text(out, "]");
}

const struct result_column why_columns[] = {
    RESULT_PLAIN_MADE("schema", RESULT_WORD, schema_name, 0),
    RESULT_PLAIN_MADE("calls", RESULT_COUNT, made, CALLS),
    {"slow", NULL, 0, RESULT_PART, .part = slow_columns},
    {"causes", NULL, 0, RESULT_LIST, .list = &causes_table, RESULT_ROWS(struct why_view, causes)},
    {"unknown", NULL, 0, RESULT_PART, .part = unknown_columns, .new_line = true},
    {"gpus", NULL, 0, RESULT_LIST, .list = &gpus_table, .rows = gpus_of},
    {"doubts", NULL, 0, RESULT_OWN, .put = put_doubts,
     .form = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    RESULT_LAST};
