/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run would have been like. An answer is given only where the replay of the run as it was is
 * right: it takes as long, and of its critical path nearly all is known.
 */
#include "message.h"
#include "progress.h"
#include "replay.h"
#include "result_print.h"
#include "what_if.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double ERROR_MAX = 0.01, EXPLAINED_MIN = 0.9;

struct what_if_row {
    const char *what;
    uint64_t recorded_ns, replayed_ns, bound_ns;
    double change, explained;
};

struct what_if {
    struct critical_path path; /* first: the sink's context */
    const struct what_if_options *options;
    struct replay replay;
    struct replay_change changes[WHAT_IF_CHANGES];
    bool found[WHAT_IF_CHANGES];
    char what[512];
    struct what_if_row made[2], *rows;
    uint32_t row_count, workers;
};

/* ---- the document -------------------------------------------------------------------------------
 */

static const struct result_column row_columns[] = {
    {"recorded", "recorded", 11, RESULT_NS, RESULT_FIELD(struct what_if_row, recorded_ns)},
    {"replayed", "replayed", 11, RESULT_NS, RESULT_FIELD(struct what_if_row, replayed_ns)},
    {"change", "change", 9, RESULT_SHARE, RESULT_FIELD(struct what_if_row, change)},
    {"bound", "bound", 11, RESULT_NS, RESULT_FIELD(struct what_if_row, bound_ns)},
    {"explained", "explained", 10, RESULT_SHARE, RESULT_FIELD(struct what_if_row, explained)},
    {"what", "what", 0, RESULT_STRING, RESULT_FIELD(struct what_if_row, what)},
    RESULT_LAST};
static const struct result_table rows_table = {
    "rows", NULL, row_columns, "recorded,replayed,change,bound,explained,what", NULL, 0};
RESULT_MAKES(what_if_schema, what_if, result_word("rbwp-what-if-1"))
const struct result_column what_if_columns[] = {
    RESULT_PLAIN_MADE("schema", RESULT_WORD, what_if_schema, 0),
    RESULT_PLAIN("workers", RESULT_COUNT, struct what_if, workers),
    {"rows", NULL, 0, RESULT_LIST, .list = &rows_table,
     RESULT_LIST_OF(struct what_if, rows, row_count)},
    RESULT_LAST};

/* ---- the pass -----------------------------------------------------------------------------------
 */

/* NAME, or OUTER:NAME where no name is called so as a whole. */
static void what_if_on_name(void *context, uint32_t number, struct trace_text text)
{
    struct what_if *what_if = context;
    for (uint32_t i = 0; i < what_if->options->ask.count; i++) {
        struct replay_change *change = &what_if->changes[i];
        const char *name = what_if->options->ask.changes[i].name, *end = strrchr(name, '=');
        const char *colon = memchr(name, ':', (size_t)(end - name));
        if (text.bytes == (size_t)(end - name) && memcmp(text.text, name, text.bytes) == 0) {
            change->name = number;
            change->outer = TRACE_NONE;
            what_if->found[i] = true;
        } else if (colon && !what_if->found[i] && text.bytes == (size_t)(colon - name) &&
                   memcmp(text.text, name, text.bytes) == 0) {
            change->outer = number;
        } else if (colon && !what_if->found[i] && text.bytes == (size_t)(end - colon - 1) &&
                   memcmp(text.text, colon + 1, text.bytes) == 0) {
            change->name = number;
        }
    }
}

static void what_if_on_step(void *context, const struct critical_step *step)
{
    replay_add(context, step);
}

static bool what_if_begin(struct trace_pass *pass)
{
    struct what_if *what_if = calloc(1, sizeof *what_if);
    if (!what_if)
        return message_fail("out of memory");
    what_if->options = pass->asked;
    critical_path_start(&what_if->path, &pass->trace, NULL);
    what_if->path.step = what_if_on_step;
    what_if->path.step_context = &what_if->replay;
    for (uint32_t i = 0; i < WHAT_IF_CHANGES; i++)
        what_if->changes[i] =
            (struct replay_change){TRACE_NONE, TRACE_NONE, what_if->options->ask.changes[i].factor};
    pass->sink = critical_path_sink(&what_if->path);
    pass->sink.name = what_if_on_name;
    pass->state = what_if;
    return true;
}

/* ---- the answer ---------------------------------------------------------------------------------
 */

static bool changes_name(const struct what_if *what_if, uint32_t name)
{
    for (uint32_t i = 0; i < what_if->options->ask.count; i++)
        if (what_if->changes[i].name == name)
            return true;
    return false;
}

/* Of the critical path: what is known, and what the change could take away at most. */
static void look_at_path(const struct what_if *what_if, double *explained_out, uint64_t *bound_out)
{
    const struct what_if_ask *ask = &what_if->options->ask;
    double known = 0, all = 0, bound = 0;
    for (uint32_t i = 0; i < what_if->path.share_count; i++) {
        const struct critical_piece *piece = &what_if->path.shares[i].sum;
        const double ns = (double)piece->duration_ns;
        const bool waits = piece->kind == WALK_WAIT || piece->kind == WALK_IDLE;
        all += ns;
        known +=
            !waits || (piece->kind == WALK_WAIT && changes_name(what_if, piece->name)) ? ns : 0;
        if (piece->kind == WALK_QUEUE && ask->workers > what_if->replay.workers)
            bound += ns;
        if (piece->kind == WALK_LAUNCH && ask->launch && ask->launch_factor < 1)
            bound += ns * (1 - ask->launch_factor);
        for (uint32_t j = 0; j < ask->count; j++)
            if (what_if->changes[j].name == piece->name && what_if->changes[j].factor < 1 &&
                piece->kind != WALK_QUEUE && piece->kind != WALK_LAUNCH && piece->kind != WALK_IDLE)
                bound += ns * (1 - what_if->changes[j].factor);
    }
    *explained_out = all > 0 ? known / all : 0;
    *bound_out = (uint64_t)bound;
}

static void write_what(struct what_if *what_if)
{
    const struct what_if_ask *ask = &what_if->options->ask;
    size_t used = 0;
    for (uint32_t i = 0; i < ask->count && used < sizeof what_if->what; i++)
        used += (size_t)snprintf(what_if->what + used, sizeof what_if->what - used, "%s%s",
                                 used ? ", " : "", ask->changes[i].name);
    if (ask->workers && used < sizeof what_if->what)
        used += (size_t)snprintf(what_if->what + used, sizeof what_if->what - used, "%s%u workers",
                                 used ? ", " : "", ask->workers);
    if (ask->launch && used < sizeof what_if->what)
        snprintf(what_if->what + used, sizeof what_if->what - used, "%slaunches=%g",
                 used ? ", " : "", ask->launch_factor);
}

static double change_of(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns ? (double)to_ns / (double)from_ns - 1 : 0;
}

/* The rows. Else a message is given. */
static bool answer(struct what_if *what_if)
{
    const struct what_if_ask *asked = &what_if->options->ask;
    struct replay *replay = &what_if->replay;
    const struct replay_ask ask = {what_if->changes, asked->count, asked->workers,
                                   asked->launch ? asked->launch_factor : 1};
    double explained;
    uint64_t bound_ns, same_ns, changed_ns;
    bool pinned = false;
    if (!replay_make(replay, &ask))
        return message_fail("out of memory");
    if (asked->workers && replay->pool == TRACE_NONE)
        return message_fail("no answer: no call is recorded as handed over in a queue");
    const uint64_t recorded_ns = (uint64_t)replay->last_ns - (uint64_t)replay->first_ns;
    look_at_path(what_if, &explained, &bound_ns);
    bool good = replay_run(replay, &ask, false, false, &same_ns) &&
                fabs(change_of(recorded_ns, same_ns)) <= ERROR_MAX;
    if (!good && !asked->workers) {
        pinned = true;
        good = replay_run(replay, &ask, false, true, &same_ns) &&
               fabs(change_of(recorded_ns, same_ns)) <= ERROR_MAX;
    }
    if (!good)
        return message_fail("no answer: a replay of the run as it was takes %+.1f %% of its time "
                            "more; what its threads wait for is not recorded",
                            100 * change_of(recorded_ns, same_ns));
    if (explained < EXPLAINED_MIN)
        return message_fail("no answer: only %.1f %% of the critical path is explained, 90 %% are "
                            "needed; 'rbwp stats --critical-path FILE' shows the rest as idle and "
                            "wait",
                            100 * explained);
    if (!replay_run(replay, &ask, true, pinned, &changed_ns))
        return message_fail("no answer: with that change threads wait for each other forever");
    write_what(what_if);
    what_if->workers = replay->workers;
    what_if->rows = what_if->made;
    what_if->row_count = 2;
    what_if->rows[0] = (struct what_if_row){
        "as it was", recorded_ns, same_ns, 0, change_of(recorded_ns, same_ns), explained};
    what_if->rows[1] = (struct what_if_row){
        what_if->what, recorded_ns, changed_ns, bound_ns, change_of(same_ns, changed_ns),
        explained};
    return true;
}

/* Why there can be no answer; NULL: there can. */
static const char *refusal(const struct what_if *what_if)
{
    const struct what_if_ask *ask = &what_if->options->ask;
    for (uint32_t i = 0; i < ask->count; i++) {
        const char *name = ask->changes[i].name, *end = strrchr(name, '=');
        const bool nested = memchr(name, ':', (size_t)(end - name)) && !what_if->found[i];
        if (what_if->changes[i].name == TRACE_NONE ||
            (nested && what_if->changes[i].outer == TRACE_NONE))
            return "no answer: nothing is called like that; 'rbwp stats FILE' lists the names";
    }
    if (!what_if->path.any)
        return "nothing ran in these files";
    if (what_if->path.messages)
        return "no answer: messages between processes cannot be replayed";
    if (what_if->replay.full)
        return "no answer: there are too many calls, or times beyond 2^62 ns; --from and --to "
               "choose a part of the run";
    if (ask->launch && what_if->replay.launches == 0)
        return "no answer: no launch is recorded";
    return NULL;
}

static enum exit_code what_if_print(struct trace_pass *pass, struct what_if *what_if)
{
    const struct why_options *options = &what_if->options->why;
    const char *refused = refusal(what_if);
    if (refused)
        return message_bad_data("%s", refused);
    if (!answer(what_if))
        return EXIT_BAD_DATA;
    if (options->json || options->csv) {
        result_document(&pass->out, what_if_columns, options->csv, what_if, what_if);
        return EXIT_GOOD;
    }
    const struct result_view view = {
        &pass->out, terminal_colors(&options->reading.terminal, pass->out.fd), UINT16_MAX, false, 0,
        NULL};
    const struct result_layout layout = result_layout(&view, &rows_table, NULL, 0);
    const struct result_rows rows =
        result_array(what_if->rows, sizeof *what_if->rows, what_if->row_count);
    result_text(&view, &rows_table, &layout, &rows, what_if, NULL);
    return EXIT_GOOD;
}

static enum exit_code what_if_end(struct trace_pass *pass)
{
    struct what_if *what_if = pass->state;
    enum exit_code code = EXIT_PARTIAL;
    if (pass->trace) {
        critical_path_finish(&what_if->path);
        if (what_if->replay.failed)
            message("out of memory");
        else if (!what_if->path.failed)
            code = what_if_print(pass, what_if);
    }
    critical_path_free(&what_if->path);
    replay_free(&what_if->replay);
    free(what_if);
    return code;
}

enum exit_code what_if_show(const struct what_if_options *options, struct operands files)
{
    static const struct trace_maker maker = {
        .clips = true, .begin = what_if_begin, .end = what_if_end};
    progress_allow(&options->why.reading.terminal);
    return trace_pass(&maker, options, &options->why.reading, files);
}
