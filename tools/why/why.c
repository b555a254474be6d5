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

enum { NAMES_TRIED = 4 };

struct why {
    const struct why_options *options;
    struct operands files;
    struct why_names names;
    struct why_calls calls;
    struct why_split split;
    struct why_name *name;
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

static enum exit_code hand_on(struct why *why, const struct trace *trace)
{
    struct why_view view = {
        .options = why->options,
        .trace = trace,
        .names = &why->names,
        .name = why->name,
        .calls = &why->calls,
        .split = &why->split,
        .file = why->files.count == 1 ? why->files.words[0] : NULL,
        .zero_ns = why->zero_ns,
        .causes = result_array(why->split.list, sizeof *why->split.list, why->split.count)};
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
    const struct why_name *worst = why_names_worst(&why->names);
    if (!gpu || why->options->name || why->options->slower_than.set ||
        (why->names.any_call && worst && worst->excess_ns > gpu->running_ns))
        return false;
    why_split_of_gpu(&why->split, gpu);
    why->failed |= why->split.failed;
    return !why->failed;
}

/* More hangs on waits that have not ended than on slow calls; in a deadlock all does. Who is quiet
 * says it in words of its own. */
static bool is_hung(struct why *why)
{
    const struct why_names *names = &why->names;
    const struct why_name *worst = why_names_worst(names);
    const uint64_t slow_ns = worst ? worst->excess_ns : names->noise_ns;
    if (why->quiet || why->options->name || why->options->slower_than.set)
        return false;
    why_split_of_stalls(&why->split, &names->stalls);
    why->failed |= why->split.failed;
    if (!why->failed && why->split.excess_ns > (names->stalls.cycles ? 0 : slow_ns))
        return true;
    why_split_free(&why->split);
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
    return why->is_news ? hand_on(why, pass->trace) : EXIT_GOOD;
}

static bool calls_begin(struct trace_pass *pass)
{
    struct why *why = (struct why *)(uintptr_t)pass->asked;
    why->names.trace = &pass->trace;
    pass->state = why;
    if (!why_calls_start(&why->calls, &why->names, why->name))
        return message_fail("out of memory");
    pass->sink = why_calls_sink(&why->calls);
    return true;
}

static enum exit_code calls_end(struct trace_pass *pass)
{
    struct why *why = pass->state;
    if (!pass->trace || why->calls.failed) {
        why->failed = true;
        return EXIT_PARTIAL;
    }
    const struct why_names *names = &why->names;
    why_calls_finish(&why->calls);
    why_split_make(&why->split, &why->calls);
    why->failed |= why->split.failed;
    why->is_news = why->options->name || why->options->slower_than.set ||
                   why_split_is_news(&why->split, names, why->name);
    if (why->failed)
        return EXIT_PARTIAL;
    return why->is_news ? hand_on(why, pass->trace) : EXIT_GOOD;
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

/* A name whose calls are late as the scheduler makes them is none; then it is the next one. */
static enum exit_code find(struct why *why)
{
    static const struct trace_maker first = {
        .own_output = true, .begin = names_begin, .end = names_end};
    static const struct trace_maker second = {
        .own_output = true, .begin = calls_begin, .end = calls_end};
    const struct reading_options *reading = &why->options->reading;
    enum exit_code code = why->quiet ? read_again(why, &first, EXIT_GOOD)
                                     : trace_pass(&first, why, reading, why->files);
    if (code == EXIT_BAD_DATA || why->failed || why->is_news)
        return code;
    if (why->options->name && !why->names.matched)
        return message_bad_data("no call is called '%s'; 'rbwp stats FILE' lists them",
                                why->options->name);
    for (unsigned tries = 0; tries < NAMES_TRIED; tries++) {
        why->name = why_names_worst(&why->names);
        if (!why->name)
            break;
        const enum exit_code found = read_again(why, &second, code);
        if (why->is_news || why->failed || found == EXIT_BAD_DATA)
            return exit_worse(code, found);
        code = exit_worse(code, found);
        why->name->excess_ns = 0;
        why_split_free(&why->split);
        why_calls_free(&why->calls);
    }
    why->name = NULL;
    return exit_worse(code, hand_on(why, NULL));
}

static void why_free(struct why *why)
{
    why_split_free(&why->split);
    why_calls_free(&why->calls);
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
