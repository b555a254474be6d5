/* SPDX-License-Identifier: Apache-2.0 */
/* Two passes: which calls are slow, then what happened in them. */
#include "why.h"

#include "message.h"
#include "progress.h"
#include "result_print.h"
#include "why_view.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMES_TRIED = 4, RARE_PART = 100, USUAL_PART = 10, EXCEPTIONS_MOST = 8 };

/* A name that may be the answer. */
struct why_try {
    struct why_name *name;
    struct why_calls calls;
    struct why_split split;
    bool is_news;
};

struct why {
    const struct why_options *options;
    struct operands files;
    struct why_names names;
    struct why_try tries[NAMES_TRIED]; /* that one first on which most hangs */
    unsigned tried;
    int64_t zero_ns;
    bool is_news;
    bool failed;
    why_receiver receive;
    void *context;
    bool quiet, answered;
};

/* ---- the answer ---------------------------------------------------------------------------------
 */

static enum exit_code why_print(const struct why_view *view, void *context)
{
    const struct why *why = context;
    struct out out;
    if (!out_open(&out, &why->options->reading.output, why->files))
        return EXIT_BAD_DATA;
    if (why->options->json || why->options->csv)
        result_document(&out, why_columns, why->options->csv, view, view);
    else
        why_text(&out, view);
    return out_close(&out);
}

/* Run intervals that take much CPU time, and are no exception but at least such a part of all, may
 * be what the program is for. */
static bool is_work(const struct why_try *try, uint64_t part)
{
    const struct why_split *split = &try->split;
    return try->name && try->name->run && split->count && split->list[0].cause == WHY_CAUSE_SELF &&
           split->slow > EXCEPTIONS_MOST && split->slow * part > try->name->own.values.total;
}

static uint64_t stake_of(const struct why_try *try)
{
    return try->split.excess_ns / (is_work(try, RARE_PART) ? WHY_WORK_PART : 1);
}

static enum exit_code hand_on(struct why *why, const struct why_try *try, const struct trace *trace)
{
    struct why_view view = {
        .options = why->options,
        .trace = trace,
        .names = &why->names,
        .name = try->name,
        .further = why->answered,
        .work = is_work(try, RARE_PART),
        .calls = &try->calls,
        .split = &try->split,
        .file = why->files.count == 1 ? why->files.words[0] : NULL,
        .zero_ns = why->zero_ns,
        .causes = result_array(try->split.list, sizeof *try->split.list, try->split.count)};
    why_find_doubts(&view);
    why->failed |= !why_find_texts(&view);
    why->answered = !why->failed;
    const enum exit_code code = why->failed ? EXIT_PARTIAL : why->receive(&view, why->context);
    for (uint32_t i = 0; i < view.doubt_count; i++)
        free(view.doubts[i]);
    for (uint32_t i = 0; view.texts && i < view.causes.count; i++)
        free((char *)(uintptr_t)view.texts[i].text.text);
    free(view.texts);
    return code;
}

/* ---- the passes ---------------------------------------------------------------------------------
 */

static bool names_begin(struct trace_pass *pass)
{
    struct why *why = (struct why *)(uintptr_t)pass->asked;
    why->names.trace = &pass->trace;
    pass->sink = why_names_sink(&why->names);
    pass->state = why;
    return true;
}

/* The run as a whole, if more hangs on it than on the slow calls of any name. What a program does
 * not say of its requests is not compared. */
static bool is_launch_bound(struct why *why)
{
    const struct why_gpu *gpu = why_gpus_worst(&why->names.gpus);
    struct why_name *worst = NULL;
    why_names_worst(&why->names, &worst, 1);
    if (!gpu || why->options->name || why->options->slower_than.set ||
        (why->names.any_call && worst && worst->excess_ns > gpu->running_ns))
        return false;
    why_split_of_gpu(&why->tries[0].split, gpu);
    why->failed |= why->tries[0].split.failed;
    return !why->failed;
}

/* More hangs on waits that have not ended than on slow calls; in a deadlock all does. Who is quiet
 * says it in words of its own. */
static bool is_hung(struct why *why)
{
    const struct why_names *names = &why->names;
    struct why_split *split = &why->tries[0].split;
    struct why_name *worst = NULL;
    const uint64_t slow_ns = why_names_worst(names, &worst, 1) ? worst->excess_ns : names->noise_ns;
    if (why->quiet || why->options->name || why->options->slower_than.set)
        return false;
    why_split_of_stalls(split, &names->stalls);
    why->failed |= split->failed;
    if (!why->failed && split->excess_ns > (names->stalls.cycles ? 0 : slow_ns))
        return true;
    why_split_free(split);
    return false;
}

static enum exit_code names_end(struct trace_pass *pass)
{
    struct why *why = pass->state;
    const struct why_options *options = why->options;
    const int64_t given_ns = options->slower_than.set ? options->slower_than.ns : 0;
    why->failed |= !pass->trace || why->names.failed;
    why->zero_ns = pass->origin_ns;
    if (!why->failed && !pass->nothing)
        why_names_finish(&why->names, options->name, given_ns > 0 ? (uint64_t)given_ns : 0);
    why->failed |= why->names.failed;
    why->is_news = !why->failed && !pass->nothing && (is_hung(why) || is_launch_bound(why));
    return why->is_news ? hand_on(why, &why->tries[0], pass->trace) : EXIT_GOOD;
}

/* ---- the second pass ---------------------------------------------------------------------------
 */

#define EACH_TRY(parameters, callback, ...)                                                        \
    static void tries_on_##callback parameters                                                     \
    {                                                                                              \
        struct why *why = context;                                                                 \
        for (unsigned i = 0; i < why->tried; i++) {                                                \
            const struct trace_sink sink = why_calls_sink(&why->tries[i].calls);                   \
            sink.callback(sink.context, __VA_ARGS__);                                              \
        }                                                                                          \
    }
EACH_TRY((void *context, const struct trace_track *track), track, track)
EACH_TRY((void *context, uint32_t number, struct trace_text text), name, number, text)
EACH_TRY((void *context, const struct trace_span *list, size_t count,
          const struct trace_details *details),
         spans, list, count, details)
EACH_TRY((void *context, const struct trace_stack *stack), stack, stack)
EACH_TRY((void *context, const struct trace_message *message), message, message)

static bool tries_want_frames(void *context, const struct trace_stack *stack)
{
    struct why *why = context;
    for (unsigned i = 0; i < why->tried; i++)
        if (why_calls_sink(&why->tries[i].calls).frames(&why->tries[i].calls, stack))
            return true;
    return false;
}

static bool tries_are_full(void *context)
{
    struct why *why = context;
    for (unsigned i = 0; i < why->tried; i++)
        why->failed |= why->tries[i].calls.failed;
    return why->failed;
}

static bool calls_begin(struct trace_pass *pass)
{
    struct why *why = (struct why *)(uintptr_t)pass->asked;
    why->names.trace = &pass->trace;
    pass->state = why;
    for (unsigned i = 0; i < why->tried; i++)
        if (!why_calls_start(&why->tries[i].calls, &why->names, why->tries[i].name))
            return message_fail("out of memory");
    pass->sink = (struct trace_sink){.context = why,
                                     .track = tries_on_track,
                                     .name = tries_on_name,
                                     .spans = tries_on_spans,
                                     .frames = tries_want_frames,
                                     .stack = tries_on_stack,
                                     .message = tries_on_message,
                                     .full = tries_are_full};
    return true;
}

/* A name whose calls are late as the scheduler makes them is none. Whether calls that are waited
 * for are slow themselves is known before the waits are judged. */
static void judge_tries(struct why *why)
{
    const bool asked = why->options->name || why->options->slower_than.set;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < why->tried; i++) {
            struct why_try *try = &why->tries[i];
            if (try->name->awaited != (round == 1))
                continue;
            try->name->judged = true;
            try->is_news = asked || (!is_work(try, USUAL_PART) &&
                                     why_split_is_news(&try->split, &why->names, try->name));
            if (!try->is_news)
                try->name->excess_ns = 0;
            why->is_news |= try->is_news;
        }
}

/* Of those that are news that one on which most hangs; NULL: there is none. */
static struct why_try *next_try(struct why *why)
{
    struct why_try *next = NULL;
    for (unsigned i = 0; i < why->tried; i++)
        if (why->tries[i].is_news && (!next || stake_of(&why->tries[i]) > stake_of(next)))
            next = &why->tries[i];
    return next;
}

static enum exit_code calls_end(struct trace_pass *pass)
{
    struct why *why = pass->state;
    enum exit_code code = EXIT_GOOD;
    if (!pass->trace || tries_are_full(why)) {
        why->failed = true;
        return EXIT_PARTIAL;
    }
    for (unsigned i = 0; i < why->tried; i++) {
        why_calls_finish(&why->tries[i].calls);
        why_split_make(&why->tries[i].split, &why->tries[i].calls);
        why->failed |= why->tries[i].split.failed;
    }
    judge_tries(why);
    for (struct why_try *next; (next = next_try(why)) && !why->failed; next->is_news = false)
        if (why->quiet || !why->answered)
            code = exit_worse(code, hand_on(why, next, pass->trace));
    return why->failed ? EXIT_PARTIAL : code;
}

const char *why_no_file(struct operands files)
{
    struct stat status;
    for (int i = 0; i < files.count; i++)
        if (strcmp(files.words[i], "-") == 0 ||
            (stat(files.words[i], &status) == 0 && !S_ISREG(status.st_mode)))
            return files.words[i];
    return NULL;
}

/* A pass whose lines of the files an earlier one has said, with that status. */
static enum exit_code read_again(struct why *why, const struct trace_maker *maker,
                                 enum exit_code first)
{
    struct message_held held = {0};
    message_hold(&held);
    const enum exit_code code = trace_pass(maker, why, &why->options->reading, why->files);
    message_hold(NULL);
    const bool said = why->quiet || code == first, lost = !said && !held.bytes;
    /* Who is quiet says it in words of its own. */
    why->failed |= why->quiet && code != EXIT_GOOD && message_held_no_memory(&held);
    if (!said)
        message_tell(&held);
    else
        free(held.text);
    if (lost)
        message("out of memory"); /* lines that wait need some, too */
    return code;
}

static enum exit_code find(struct why *why)
{
    static const struct trace_maker first = {
        .own_output = true, .begin = names_begin, .end = names_end};
    static const struct trace_maker second = {
        .own_output = true, .stacks = TRACE_ALL_STACKS, .begin = calls_begin, .end = calls_end};
    const struct reading_options *reading = &why->options->reading;
    enum exit_code code = why->quiet ? read_again(why, &first, EXIT_GOOD)
                                     : trace_pass(&first, why, reading, why->files);
    if (code == EXIT_BAD_DATA || why->failed || why->is_news)
        return code;
    if (why->options->name && !why->names.matched)
        return message_bad_data("no call is called '%s'; 'rbwp stats FILE' lists them",
                                why->options->name);
    struct why_name *names[NAMES_TRIED];
    why->tried = why_names_worst(&why->names, names, NAMES_TRIED);
    for (unsigned i = 0; i < why->tried; i++)
        why->tries[i].name = names[i];
    if (why->tried)
        code = exit_worse(code, read_again(why, &second, code));
    if (why->is_news || why->failed || code == EXIT_BAD_DATA)
        return code;
    return exit_worse(code, hand_on(why, &(struct why_try){0}, NULL));
}

static void why_free(struct why *why)
{
    for (unsigned i = 0; i < NAMES_TRIED; i++) {
        why_split_free(&why->tries[i].split);
        why_calls_free(&why->tries[i].calls);
    }
    why_names_free(&why->names);
}

enum exit_code why_find(const struct why_options *options, struct operands files,
                        why_receiver receive, void *context)
{
    struct why why = {
        .options = options, .files = files, .receive = receive, .context = context, .quiet = true};
    if (why_no_file(files))
        return EXIT_USAGE;
    (void)find(&why);
    why_free(&why);
    return why.answered && !why.failed ? EXIT_GOOD : EXIT_PARTIAL;
}

enum exit_code why_show(const struct why_options *options, struct operands files)
{
    struct why why = {.options = options, .files = files, .receive = why_print, .context = &why};
    const char *no_file = why_no_file(files);
    if (no_file)
        return message_usage("%s: is read twice, so it must be a file", no_file);
    progress_allow(&options->reading.terminal);
    enum exit_code code = find(&why);
    if (why.failed)
        code = message_bad_data("out of memory");
    why_free(&why);
    return code;
}
