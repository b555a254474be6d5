/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for people: one screen. */
#include "why_stack.h"
#include "why_view.h"

#include "quantity.h"
#include "text_name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAUSES_SHOWN = 5,
    NAMES_SHOWN = 3,
    BYTES_USUAL = 4096,
    NAME_BYTES = 60,
    FRAMES_SAID = 6,
    FUNCTIONS_ENOUGH = 3,
    STACK_BYTES = 200,
    SENTENCE_BYTES = 120, /* of a stack */
    FEW = 30,
    SMALL_PART = 100
};
#define MOSTLY 0.8 /* of a cause's time */

/* ---- doubts ------------------------------------------------------------------------------------
 */

static void doubt(struct why_view *view, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void doubt(struct why_view *view, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (view->doubt_count < WHY_DOUBTS &&
        vasprintf(&view->doubts[view->doubt_count], format, values) >= 0)
        view->doubt_count++;
    va_end(values);
}

static uint32_t calls_without_cpu(const struct why_calls *calls)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < calls->count && !calls->name->wait; i++)
        count += calls->list[i].slow && calls->list[i].seen && !calls->list[i].has_cpu;
    return count;
}

static uint32_t faulty_calls(const struct why_split *split)
{
    for (uint32_t i = 0; i < split->count; i++)
        if (split->list[i].cause == WHY_CAUSE_PAGE_FAULTS)
            return split->list[i].calls;
    return 0;
}

void why_find_doubts(struct why_view *view)
{
    const struct why_names *names = view->names;
    if (names->lost)
        doubt(view, "%s records were lost", GROUPED(names->lost));
    if (names->refused)
        doubt(view, "%s calls were refused and are not recorded", GROUPED(names->refused));
    if (names->open)
        doubt(view, "%s call%s had not ended: not counted", GROUPED(names->open),
              names->open == 1 ? "" : "s");
    if (!view->name)
        return;
    const struct why_calls *calls = view->calls;
    const uint32_t unknown = calls_without_cpu(calls);
    if (unknown)
        doubt(view, "of %" PRIu32 " slow calls it is not known whether they ran", unknown);
    if (view->split->ordinary < FEW && !view->name->lock)
        doubt(view, "there are %" PRIu32 " ordinary calls alone", view->split->ordinary);
    if (why_slow_calls(view) > view->split->slow)
        doubt(view, "of %" PRIu64 " slow calls the %" PRIu32 " slowest were looked at",
              why_slow_calls(view), view->split->slow);
    if (calls->meanwhile_dropped)
        doubt(view, "%" PRIu64 " spans of other threads were too many to keep",
              calls->meanwhile_dropped);
    if (faulty_calls(view->split))
        doubt(view, "page faults' time is not recorded: it is the CPU time of calls with more "
                    "of them, at most");
}

/* ---- words -------------------------------------------------------------------------------------
 */

static void put_text(struct out *out, struct trace_text text)
{
    const bool fits = text.bytes <= NAME_BYTES;
    out_bytes(out, text.text, trace_text_front(text, fits ? NAME_BYTES : NAME_BYTES - 2));
    out_text(out, fits ? "" : "..");
}

static void put_name(struct out *out, const struct why_view *view, uint32_t name)
{
    put_text(out, trace_name_of(view->trace, name));
}

static void put_time(struct out *out, uint64_t ns)
{
    out_text(out, ROUGH(ns, 3));
}

static const char *place_in(struct trace_text frame)
{
    return memmem(frame.text, frame.bytes, "+0x", 3);
}

static uint32_t functions_of(struct trace_text hot)
{
    struct trace_text frame;
    uint32_t count = 0;
    while (slow_stacks_next(&hot, &frame))
        count += !place_in(frame);
    return count;
}

uint32_t why_put_stack(struct out *out, struct trace_text hot, size_t most)
{
    const bool enough = functions_of(hot) >= FUNCTIONS_ENOUGH;
    const size_t begin = out->used;
    struct trace_text file = {0};
    uint32_t count = 0, front = 0;
    while (hot.bytes && count < FRAMES_SAID) {
        const char *before = memrchr(hot.text, ';', hot.bytes);
        const uint32_t from = before ? (uint32_t)(before + 1 - hot.text) : 0;
        const struct trace_text frame = {hot.text + from, hot.bytes - from}, last = file;
        const char *place = place_in(frame);
        const size_t used = out->used;
        file = (struct trace_text){frame.text, place ? (uint32_t)(place - frame.text) : 0};
        hot.bytes = from ? from - 1 : 0;
        if (place && (enough || trace_text_same(file, last)))
            continue;
        out_text(out, count++ ? " < " : "");
        put_text(out, frame);
        if (out->used - begin > most) {
            out->used = used;
            break;
        }
        front = out->used - begin <= SENTENCE_BYTES ? (uint32_t)(out->used - begin) : front;
    }
    return front;
}

static const char *const phrases[WHY_CAUSES] = {"waited in the queue",
                                                "waited in the queue behind ",
                                                "waited for a lock",
                                                "waited",
                                                "was ready to run and had no CPU",
                                                "page faults, at most",
                                                "waited for a file or device",
                                                "its GPU work waited to begin",
                                                "its GPU work took longer: ",
                                                "the CPU launched GPU work too slowly",
                                                "",
                                                "sub-item ",
                                                "calls with ",
                                                "all threads of the process stood still",
                                                "its own CPU time"};

static void put_what(struct out *out, const struct why_view *view, const struct why_cause *cause)
{
    const bool other = cause->cause == WHY_CAUSE_PREEMPTED && cause->by.starved;
    if (cause->cause == WHY_CAUSE_MESSAGE)
        out_text(out, cause->by.starved ? "waited for a message that was under way"
                                        : "waited for a message that was sent late");
    else
        out_text(out, other ? "who was to end the wait was ready to run and had no CPU"
                            : phrases[cause->cause]);
    if (cause->cause == WHY_CAUSE_BEHIND && cause->by.name != TRACE_NONE)
        put_name(out, view, cause->by.name);
    if (cause->cause == WHY_CAUSE_GPU_QUEUE && cause->by.name != TRACE_NONE) {
        out_text(out, ", behind ");
        put_name(out, view, cause->by.name);
    }
    if (cause->cause == WHY_CAUSE_GPU_QUEUE && cause->by.thread != TRACE_NONE) {
        out_text(out, " of ");
        put_text(out, trace_track_of(view->trace, cause->by.thread)->name);
    }
    if (cause->cause == WHY_CAUSE_SUB_ITEM || cause->cause == WHY_CAUSE_GPU)
        put_name(out, view, cause->name);
    if (cause->key != TRACE_NONE) {
        out_text(out, cause->cause == WHY_CAUSE_ARGUMENT ? "" : ", in calls with ");
        put_name(out, view, cause->key);
        out_text(out, "=");
        put_text(out, view->calls->texts.list[cause->value]);
    }
    if (cause->kind != TRACE_NONE) {
        out_text(out, ": ");
        put_name(out, view, cause->kind);
    }
    if (cause->object_name.bytes) {
        out_text(out, " ");
        put_text(out, cause->object_name);
    } else if (cause->object)
        out_format(out, cause->object < 1 << 20 ? " %" PRIu64 : " 0x%" PRIx64, cause->object);
    if (cause->cause == WHY_CAUSE_WAIT && view->name && view->name->awaited &&
        trace_text_is(trace_name_of(view->trace, cause->kind), "epoll"))
        out_text(out, ", in which it seldom waits");
    if (cause->system_call) {
        out_text(out, ", in ");
        if (cause->system_call_name.bytes)
            put_text(out, cause->system_call_name);
        else
            out_format(out, "system call %" PRIu64, cause->system_call - 1);
    }
    if (cause->faults)
        out_format(out, ", of %" PRIu64 " faults", cause->faults);
}

struct trace_text why_other_process(const struct trace *trace, const struct why_cause *cause)
{
    if (cause->by.thread == TRACE_NONE || !cause->evidence_count)
        return (struct trace_text){0};
    const uint32_t process = trace_track_of(trace, cause->by.thread)->process;
    return process == trace_track_of(trace, cause->evidence[0].thread)->process
               ? (struct trace_text){0}
               : trace_process_of(trace, process)->name;
}

const char *why_on(const struct why_cause *cause)
{
    const double share = (double)cause->thread_ns / (double)cause->excess_ns;
    return cause->thread == TRACE_NONE ? NULL
           : !cause->others            ? " on "
           : share >= MOSTLY           ? " mostly on "
                                       : NULL;
}

static bool has_by(const struct why_cause *cause)
{
    return cause->cause != WHY_CAUSE_BEHIND && cause->cause != WHY_CAUSE_GPU_QUEUE &&
           (cause->by.thread != TRACE_NONE || cause->by.name != TRACE_NONE);
}

static void put_by(struct out *out, const struct why_view *view, const struct why_cause *cause)
{
    const struct why_by *by = &cause->by;
    const bool mpi =
        cause->kind != TRACE_NONE && why_is_mpi(trace_name_of(view->trace, cause->kind));
    const struct trace_text process = why_other_process(view->trace, cause);
    out_text(out, cause->cause == WHY_CAUSE_MESSAGE ? "sent by "
                  : mpi                             ? "late: "
                  : view->name                      ? "ended by "
                                                    : "held by ");
    if (by->holder) {
        put_text(out, trace_track_of(view->trace, by->holder - 1)->name);
        out_text(out,
                 by->thread != TRACE_NONE ? ", which waited for " : ", which waited for others");
    }
    if (by->thread != TRACE_NONE)
        put_text(out, trace_track_of(view->trace, by->thread)->name);
    if (process.bytes) {
        out_text(out, " of ");
        put_text(out, process);
    }
    if (by->name != TRACE_NONE) {
        out_text(out, by->thread != TRACE_NONE || by->holder ? ", in " : "");
        put_name(out, view, by->name);
    }
    if (by->wait != TRACE_NONE) {
        out_text(out, ", which waited itself: ");
        put_name(out, view, by->wait);
    }
}

/* The words, and behind them the stack, which is none of them. False without memory. */
static bool say(struct out *out, const struct why_view *view, const struct why_cause *cause,
                struct why_said *said)
{
    const uint32_t ended = has_by(cause) ? cause->by.thread : TRACE_NONE;
    struct trace_text hot, by_hot = {0};
    if (!why_stack_of(view->calls, view->split, cause, TRACE_NONE, &hot) ||
        (ended != TRACE_NONE && !why_stack_of(view->calls, view->split, cause, ended, &by_hot)))
        return false;
    out->used = 0;
    put_what(out, view, cause);
    said->what_bytes = (uint32_t)out->used;
    out_text(out, has_by(cause) ? ", " : "");
    if (has_by(cause))
        put_by(out, view, cause);
    out_text(out, by_hot.bytes ? ", at " : "");
    const size_t by = out->used;
    why_put_stack(out, by_hot, SENTENCE_BYTES);
    const size_t words = out->used;
    said->stack_front = why_put_stack(out, hot, STACK_BYTES);
    char *text = malloc(out->used + 1);
    if (!text)
        return false;
    memcpy(text, out->buffer, out->used);
    said->text = (struct trace_text){text, (uint32_t)words};
    said->by_stack = (struct trace_text){text + by, (uint32_t)(words - by)};
    said->stack = (struct trace_text){text + words, (uint32_t)(out->used - words)};
    return true;
}

bool why_find_texts(struct why_view *view)
{
    struct out out = {.fd = -1, .buffer = malloc(OUT_BUFFER_BYTES)};
    view->texts = calloc(view->causes.count + (size_t)1, sizeof *view->texts);
    bool good = out.buffer && view->texts;
    for (uint32_t i = 0; good && i < view->causes.count; i++)
        good = say(&out, view, &view->split->list[i], &view->texts[i]);
    free(out.buffer);
    return good;
}

/* ---- lines --------------------------------------------------------------------------------------
 */

static void put_evidence(struct out *out, const struct why_view *view,
                         const struct why_evidence *evidence)
{
    char from[QUANTITY_BYTES], to[QUANTITY_BYTES];
    const int64_t stop_ns = evidence->start_ns + (int64_t)evidence->duration_ns;
    const struct trace_text thread = trace_track_of(view->trace, evidence->thread)->name;
    quantity_time(from, evidence->start_ns, view->zero_ns);
    quantity_time(to, stop_ns + 1, view->zero_ns);
    out_text(out, "     e.g. ");
    text_name_fit(out, thread.text, thread.bytes, NAME_BYTES);
    out_format(out, " at %s for ", from);
    put_time(out, evidence->duration_ns);
    if (view->file)
        out_format(out, ": rbwp timeline --from %s --to %s %s", from, to, view->file);
    out_text(out, "\n");
}

static void put_cause(struct out *out, const struct why_view *view, const struct why_cause *cause,
                      uint32_t number)
{
    const double share = (double)cause->excess_ns / (double)view->split->excess_ns;
    const struct why_said *said = &view->texts[cause - view->split->list];
    out_format(out, "%3" PRIu32 ". %s: ", number, why_cause_words[cause->cause]);
    text_name(out, said->text.text, said->what_bytes);
    out_text(out, "; ");
    put_time(out, cause->excess_ns);
    out_format(out, ", %.0f %%, of %s call%s", 100 * share, GROUPED(cause->calls),
               cause->calls == 1 ? "" : "s");
    const char *on = why_on(cause);
    if (on) {
        const struct trace_text thread = trace_track_of(view->trace, cause->thread)->name;
        out_text(out, on);
        text_name_fit(out, thread.text, thread.bytes, NAME_BYTES);
    }
    out_text(out, "; without it the run could gain at most ");
    put_time(out, cause->bound_ns);
    out_text(out, "\n");
    if (said->stack.bytes) {
        out_text(out, "     at ");
        text_name(out, said->stack.text, said->stack.bytes);
        out_text(out, "\n");
    }
    if (has_by(cause)) {
        const uint32_t before = said->what_bytes + 2; /* the comma */
        out_text(out, "     ");
        text_name(out, said->text.text + before, said->text.bytes - before);
        out_text(out, "\n");
    }
    if (cause->evidence_count)
        put_evidence(out, view, &cause->evidence[0]);
}

static void put_verdict(struct out *out, const struct why_view *view)
{
    const struct why_split *split = view->split;
    const uint64_t run_ns = (uint64_t)view->names->last_ns - (uint64_t)view->names->first_ns;
    text_name_fit(out, view->name->name.text, view->name->name.bytes, NAME_BYTES);
    out_format(out, ": %" PRIu64 " of %" PRIu64 " %s took ", why_slow_calls(view),
               view->name->own.values.total, view->name->wait ? "waits" : "calls");
    put_time(out, split->slow ? split->excess_ns / split->slow : 0);
    out_text(out, " longer each than the others, which take ");
    put_time(out, split->median_ns);
    out_text(out, "; together ");
    put_time(out, split->excess_ns);
    out_text(out, " in a run of ");
    put_time(out, run_ns);
    if (split->period_ns) {
        out_text(out, "; every ");
        put_time(out, split->period_ns);
        out_text(out, ", for ");
        put_time(out, split->for_ns);
    }
    out_text(out, "\n");
}

static void put_nothing(struct out *out, const struct why_view *view)
{
    const struct why_names *names = view->names;
    out_format(out,
               "nothing stands out: %s calls of %" PRIu32 " names in %s, none of which has calls "
               "far above its others that are worth 1 %% of the run\n",
               GROUPED(names->calls), names->count,
               DURATION((uint64_t)names->last_ns - (uint64_t)names->first_ns));
}

static void put_gpu(struct out *out, const struct why_gpu *gpu)
{
    const struct gpu_use *use = &gpu->use;
    out_text(out, gpu->bound ? "launch-bound: " : "");
    text_name_fit(out, gpu->name, strlen(gpu->name), NAME_BYTES);
    out_format(out, " was busy for %.0f %% of the ",
               100 * (double)use->busy.busy_ns / (double)(use->used_ns ? use->used_ns : 1));
    put_time(out, use->used_ns);
    out_text(out, " in which it was used");
    if (use->gap_ns) {
        out_text(out, ", and idle for ");
        put_time(out, use->gap_ns);
        out_text(out, " because ");
        text_name_fit(out, gpu->thread, strlen(gpu->thread), NAME_BYTES);
        out_format(out, " had not launched what came next (%s launches", GROUPED(use->launches));
        if (use->paces) {
            out_text(out, ", one every ");
            put_time(out, use->pace_ns / use->paces);
        }
        out_text(out, "); of that at least ");
        put_time(out, gpu->running_ns);
        out_text(out, " on the CPU, ");
        put_time(out, use->inside_ns);
        out_text(out, " in calls that launch");
    }
    out_text(out, "\n");
}

static void put_others(struct out *out, const struct why_view *view)
{
    struct why_name *worst[NAMES_SHOWN + 1];
    const unsigned count = why_names_worst(view->names, worst, NAMES_SHOWN + 1);
    for (unsigned i = 0; i < count; i++) {
        const struct why_name *name = worst[i];
        if (name == view->name || ((name->run || name->awaited) && !name->judged))
            continue; /* whether it is news, the second pass alone knows */
        out_text(out, "also ");
        text_name_fit(out, name->name.text, name->name.bytes, NAME_BYTES);
        out_format(out, ": %" PRIu64 " of %" PRIu64 " slow, ",
                   name->own.slow ? name->own.bounds.slow : name->queued.bounds.slow,
                   name->own.values.total);
        put_time(out, name->excess_ns);
        out_text(out, " too long (--name)\n");
    }
}

/* What is beyond the screen is dropped, by whole lines. */
static void cut(struct out *out, size_t begin, size_t most)
{
    if (out->used - begin <= most)
        return;
    size_t end = begin + most;
    while (end > begin && out->buffer[end - 1] != '\n')
        end--;
    out->used = end;
}

void why_text(struct out *out, const struct why_view *view)
{
    const uint32_t limit = view->options->limit ? view->options->limit : CAUSES_SHOWN;
    const size_t begin = out->used;
    const struct why_gpus *gpus = &view->names->gpus;
    if (view->name)
        put_verdict(out, view);
    else if (!view->causes.count)
        put_nothing(out, view);
    else if (view->split->slow && stalls_write_worst(out, &view->names->stalls, view->trace))
        out_text(out, "\n");
    for (uint32_t i = 0; i < gpus->count && !view->name; i++)
        put_gpu(out, &gpus->list[i]);
    uint32_t shown = 0, worth = 0;
    for (uint32_t i = 0; i < view->causes.count; i++) {
        const struct why_cause *cause = &view->split->list[i];
        if (cause->excess_ns * SMALL_PART < view->split->excess_ns)
            continue;
        worth++;
        if (shown < limit)
            put_cause(out, view, cause, ++shown);
    }
    if (worth > shown)
        out_format(out, "     ... and %" PRIu32 " more (--json has all)\n", worth - shown);
    if (view->split->unknown_ns) {
        out_text(out, "unknown: ");
        put_time(out, view->split->unknown_ns);
        if (view->split->blocked_ns) {
            out_text(out, ", of it blocked, in what is not recorded: ");
            put_time(out, view->split->blocked_ns);
        }
        out_text(out, "\n");
    }
    for (uint32_t i = 0; i < view->doubt_count; i++)
        out_format(out, "doubt: %s\n", view->doubts[i]);
    for (uint32_t i = 0; i < gpus->count && view->name; i++)
        put_gpu(out, &gpus->list[i]);
    put_others(out, view);
    cut(out, begin, view->options->max_bytes ? view->options->max_bytes : BYTES_USUAL);
}
