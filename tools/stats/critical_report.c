/* SPDX-License-Identifier: Apache-2.0 */
/* From files to the report. Hops of one node and handler are one line. */
#include "critical_path.h"
#include "message.h"
#include "progress.h"
#include "quantity.h"
#include "result_print.h"
#include "sorted.h"
#include "why.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES_DEFAULT = 20 };
#define WALK_KIND_WORD(kind, word) word,

/* What messages for one handler on one node added to the path. */
struct line {
    struct critical_hop sum; /* first */
    uint64_t messages;
};

struct critical_report_view {
    struct critical_path path;
    const struct trace *trace;
    struct line *lines;
    uint32_t count;
    struct critical_hop sum; /* of all */
};

/* ---- columns ----------------------------------------------------------------------------------
 */

#define HOP(field) RESULT_FIELD(struct critical_hop, field)
static const struct result_column times_columns[] = {
    {"network", "network", 11, RESULT_NS, RESULT_SUM, HOP(network_ns)},
    {"queue", "queue", 11, RESULT_NS, RESULT_SUM, HOP(queue_ns)},
    {"handling", "handler", 11, RESULT_NS, RESULT_SUM, HOP(handling_ns)},
    {"work", "work after", 11, RESULT_NS, RESULT_SUM, HOP(work_ns)},
    RESULT_LAST};
#define TIMES                                                                                      \
    {                                                                                              \
        NULL, NULL, 0, RESULT_PART, .part = times_columns                                          \
    }

static uint64_t hop_ns(const struct critical_hop *hop)
{
    return hop->network_ns + hop->queue_ns + hop->handling_ns + hop->work_ns;
}

static struct result_cell share(const struct critical_report_view *view, uint64_t ns)
{
    return result_share(ns, (uint64_t)view->path.last_ns - (uint64_t)view->path.first_ns);
}

enum { FROM_NODE, NODE, PROCESS, HANDLER, SHARE };

/* Of a hop, or of a line, which begins with one. */
static struct result_cell hop_made(const struct result_at *at, int what)
{
    const struct critical_report_view *view = at->all;
    const struct critical_hop *hop = at->row;
    const struct trace_process *process =
        trace_process_of(view->trace, what == FROM_NODE ? hop->from_process : hop->to_process);
    if (what == SHARE)
        return share(view, hop_ns(hop));
    return what == HANDLER   ? result_bytes(trace_name_of(view->trace, hop->name))
           : what == PROCESS ? result_bytes(process->name)
                             : result_u64(process->node);
}

static const struct result_column critical_report_line_columns[] = {
    {NULL, "share", 8, RESULT_SHARE, RESULT_MADE(hop_made, SHARE)},
    {"node", NULL, 0, RESULT_ID, RESULT_MADE(hop_made, NODE)},
    {"process", "node  handler", 0, RESULT_TEXT, RESULT_MADE(hop_made, PROCESS)},
    {"handler", NULL, 0, RESULT_TEXT, RESULT_MADE(hop_made, HANDLER)},
    {"messages", "messages", 10, RESULT_ID, RESULT_FIELD(struct line, messages)},
    TIMES,
    RESULT_LAST};
static const struct result_table lines_table = {
    "lines",
    NULL,
    critical_report_line_columns,
    "share,messages,network,queue,handling,work,node  handler",
    NULL,
    0};

static const struct result_column hop_columns[] = {
    RESULT_PLAIN("key", RESULT_ID, struct critical_hop, key),
    RESULT_PLAIN_MADE("from_node", RESULT_ID, hop_made, FROM_NODE),
    RESULT_PLAIN_MADE("to_node", RESULT_ID, hop_made, NODE),
    RESULT_PLAIN_MADE("handler", RESULT_TEXT, hop_made, HANDLER),
    RESULT_PLAIN("sent", RESULT_TIME, struct critical_hop, sent_ns),
    TIMES,
    RESULT_LAST};
static const struct result_table hops_table = {"hops", NULL, hop_columns, "", NULL, 0};

static const char *const kind_words[] = {WALK_KIND_LIST(WALK_KIND_WORD)};
enum { PIECE_KIND, PIECE_THREAD, PIECE_PROCESS, PIECE_NAME, PIECE_SHARE };

/* Of a piece, or of a share, which begins with one. */
static struct result_cell piece_made(const struct result_at *at, int what)
{
    const struct critical_report_view *view = at->all;
    const struct critical_piece *piece = at->row;
    const struct trace_track *track = trace_track_of(view->trace, piece->track);
    if (what == PIECE_SHARE)
        return share(view, piece->duration_ns);
    if (what == PIECE_KIND)
        return result_word(kind_words[piece->kind]);
    if (what == PIECE_NAME)
        return piece->name == TRACE_NONE ? result_nothing()
                                         : result_bytes(trace_name_of(view->trace, piece->name));
    return result_bytes(what == PIECE_THREAD ? track->name
                                             : trace_process_of(view->trace, track->process)->name);
}

#define PIECE_COLUMNS                                                                              \
    {"duration", "time", 11, RESULT_NS, RESULT_FIELD(struct critical_piece, duration_ns)},         \
        {"kind", "kind", -12, RESULT_WORD, RESULT_MADE(piece_made, PIECE_KIND)},                   \
        {"name", NULL, 0, RESULT_TEXT, RESULT_MADE(piece_made, PIECE_NAME), .optional = true},     \
        {"thread", "thread", 0, RESULT_TEXT, RESULT_MADE(piece_made, PIECE_THREAD)},               \
        RESULT_PLAIN_MADE("process", RESULT_TEXT, piece_made, PIECE_PROCESS)
static const struct result_column share_columns[] = {
    {"share", "share", 8, RESULT_SHARE, RESULT_MADE(piece_made, PIECE_SHARE)},
    PIECE_COLUMNS,
    {"pieces", "pieces", 9, RESULT_COUNT, RESULT_FIELD(struct critical_share, pieces)},
    RESULT_LAST};
const struct result_table critical_shares_table = {
    "shares", NULL, share_columns, "share,pieces,time,kind,thread", NULL, 0};
static const struct result_column piece_columns[] = {
    RESULT_PLAIN("start", RESULT_TIME, struct critical_piece, start_ns), PIECE_COLUMNS,
    RESULT_LAST};
static const struct result_table pieces_table = {"pieces", NULL, piece_columns, "", NULL, 0};

RESULT_MAKES(path_node, critical_path,
             result_u64(trace_process_of(((const struct critical_report_view *)at->all)->trace,
                                         what ? row->last_process : row->first_process)
                            ->node))

static const struct result_column path_columns[] = {
    RESULT_PLAIN("first", RESULT_TIME, struct critical_path, first_ns),
    RESULT_PLAIN("last", RESULT_TIME, struct critical_path, last_ns),
    RESULT_PLAIN("messages", RESULT_COUNT, struct critical_path, messages),
    RESULT_PLAIN_MADE("first_node", RESULT_ID, path_node, 0),
    RESULT_PLAIN_MADE("last_node", RESULT_ID, path_node, 1),
    RESULT_PLAIN("first_work", RESULT_NS, struct critical_path, first_work_ns),
    RESULT_PLAIN("links", RESULT_COUNT, struct critical_path, links),
    RESULT_PLAIN("pieces_dropped", RESULT_COUNT, struct critical_path, pieces_dropped),
    RESULT_LAST};
const struct result_column critical_columns[] = {
    {NULL, NULL, 0, RESULT_PART, RESULT_FIELD(struct critical_report_view, path),
     .part = path_columns},
    {NULL, NULL, 0, RESULT_PART, RESULT_FIELD(struct critical_report_view, sum),
     .part = times_columns},
    {"lines", NULL, 0, RESULT_LIST, .list = &lines_table,
     RESULT_LIST_OF(struct critical_report_view, lines, count)},
    {"hops", NULL, 0, RESULT_LIST, .list = &hops_table,
     RESULT_LIST_OF(struct critical_report_view, path.hops, path.hop_count)},
    {"shares", NULL, 0, RESULT_LIST, .list = &critical_shares_table,
     RESULT_LIST_OF(struct critical_report_view, path.shares, path.share_count)},
    {"pieces", NULL, 0, RESULT_LIST, .list = &pieces_table,
     RESULT_LIST_OF(struct critical_report_view, path.pieces, path.piece_count)},
    RESULT_LAST};

/* ---- lines ------------------------------------------------------------------------------------
 */

static int by_place(const void *left, const void *right)
{
    const struct critical_hop *a = left, *b = right;
    SORTED_BY(a, b, to_process);
    return (a->name > b->name) - (a->name < b->name);
}

static int by_time(const void *left, const void *right)
{
    uint64_t a = hop_ns(left), b = hop_ns(right);
    return a != b ? (a > b ? -1 : 1) : by_place(left, right);
}

/* False without memory. */
static bool make_lines(struct critical_report_view *view)
{
    const struct critical_path *path = &view->path;
    struct critical_hop *sorted = calloc(path->hop_count + 1u, sizeof *sorted);
    view->lines = calloc(path->hop_count + 1u, sizeof *view->lines);
    view->sum.work_ns = path->first_work_ns;
    for (uint32_t i = 0; sorted && i < path->hop_count; i++) {
        sorted[i] = path->hops[i];
        (void)result_merge(times_columns, &view->sum, &sorted[i], false);
    }
    if (sorted)
        qsort(sorted, path->hop_count, sizeof *sorted, by_place);
    for (uint32_t i = 0; sorted && view->lines && i < path->hop_count; i++) {
        if (i == 0 || by_place(&sorted[i - 1], &sorted[i]) != 0)
            view->lines[view->count++].sum = sorted[i];
        else
            (void)result_merge(times_columns, &view->lines[view->count - 1].sum, &sorted[i], false);
        view->lines[view->count - 1].messages++;
    }
    if (view->count)
        qsort(view->lines, view->count, sizeof *view->lines, by_time);
    free(sorted);
    return sorted && view->lines;
}

/* ---- as text ----------------------------------------------------------------------------------
 */

static double percent(const struct critical_report_view *view, uint64_t ns)
{
    return 100 * share(view, ns).f64;
}

static void put_messages_head(struct out *out, const struct critical_report_view *view,
                              const char *run, struct colors colors)
{
    const struct critical_path *path = &view->path;
    out_format(out,
               "%sCritical path through %" PRIu32 " of %" PRIu64 " messages, over a run of %s%s\n",
               colors.bold, path->hop_count, path->messages, run, colors.off);
    out_format(out, "work %.1f %%, handlers %.1f %%, network %.1f %%, queue %.1f %%\n\n",
               percent(view, view->sum.work_ns), percent(view, view->sum.handling_ns),
               percent(view, view->sum.network_ns), percent(view, view->sum.queue_ns));
}

static void behind_line(const struct result_view *view, const struct result_at *at)
{
    const struct result_cell handler = hop_made(at, HANDLER);
    result_text_name(view, (struct trace_text){handler.text, handler.bytes});
}

static void put_lines(const struct result_view *result, const struct critical_report_view *view,
                      uint32_t most)
{
    const struct result_layout layout = result_layout(result, &lines_table, NULL, 0);
    const struct critical_path *path = &view->path;
    struct result_rows rows = result_array(view->lines, sizeof *view->lines, view->count);
    result_text_titles(result, &layout);
    out_format(result->out, "%7.1f%%%54s", percent(view, path->first_work_ns),
               ROUGH(path->first_work_ns, 4));
    result_text_name(result, trace_process_of(view->trace, path->first_process)->name);
    out_text(result->out, "  (from the beginning)\n");
    rows.count = view->count < most ? view->count : most;
    result_text_rows(result, &layout, &rows, view, NULL, behind_line);
    result_text_more(result, view->count, rows.count, "");
    out_text(result->out, "\n");
}

static void behind_share(const struct result_view *view, const struct result_at *at)
{
    const struct result_cell name = piece_made(at, PIECE_NAME);
    if (name.kind == RESULT_BYTES)
        result_text_name(view, (struct trace_text){name.text, name.bytes});
}

static void critical_report_put_text(struct out *out, const struct critical_report_view *view,
                                     uint32_t most, struct colors colors)
{
    const struct result_view result = {out, colors, UINT16_MAX, false, 0, NULL};
    const struct result_layout layout = result_layout(&result, &critical_shares_table, NULL, 0);
    const struct critical_path *path = &view->path;
    struct result_rows rows = critical_shares(view);
    char run[QUANTITY_BYTES];
    quantity_duration(run, (uint64_t)path->last_ns - (uint64_t)path->first_ns);
    if (path->messages) {
        put_messages_head(out, view, run, colors);
        put_lines(&result, view, most);
    } else {
        out_format(out, "%sCritical path over a run of %s%s\n\n", colors.bold, run, colors.off);
    }
    result_text_titles(&result, &layout);
    rows.count = rows.count < most ? rows.count : most;
    result_text_rows(&result, &layout, &rows, view, NULL, behind_share);
    result_text_more(&result, path->share_count, rows.count, "");
}

struct result_rows critical_shares(const struct critical_report_view *view)
{
    return result_array(view->path.shares, sizeof *view->path.shares, view->path.share_count);
}

const struct critical_path *critical_path_of(const struct critical_report_view *view)
{
    return &view->path;
}

char *critical_piece_text(const struct critical_report_view *view,
                          const struct critical_piece *piece)
{
    const struct trace_text thread = trace_track_of(view->trace, piece->track)->name;
    const struct trace_text name =
        piece->name == TRACE_NONE ? trace_text("") : trace_name_of(view->trace, piece->name);
    char *text;
    return asprintf(&text, "%s: %.*s%s%.*s", kind_words[piece->kind], (int)name.bytes, name.text,
                    name.bytes ? ", " : "", (int)thread.bytes, thread.text) < 0
               ? NULL
               : text;
}

/* ---- the pass ----------------------------------------------------------------------------------
 */

struct critical_asked {
    struct stats_report_options options;
    critical_receiver receive; /* NULL: it is shown */
    void *context;
    struct message_held held; /* lines about files, which somebody else says */
    bool received, failed;
};

static bool critical_report_begin(struct trace_pass *pass)
{
    struct critical_path *path = malloc(sizeof *path);
    if (!path)
        return message_fail("out of memory");
    critical_path_start(path, &pass->trace,
                        ((const struct critical_asked *)pass->asked)->options.of);
    pass->sink = critical_path_sink(path);
    pass->state = path;
    return true;
}

static enum exit_code critical_report_show(struct trace_pass *pass,
                                           const struct critical_path *path)
{
    struct critical_asked *asked = (struct critical_asked *)(uintptr_t)pass->asked;
    const struct stats_report_options *options = &asked->options;
    struct critical_report_view view = {.path = *path, .trace = pass->trace};
    asked->failed = path->failed; /* a message was given, maybe by another thread */
    if (path->failed)
        return EXIT_PARTIAL;
    if (asked->receive && path->any && path->links + path->messages) {
        asked->received = true;
        message_hold(NULL);
        asked->receive(&view, asked->context);
        message_hold(&asked->held);
    }
    if (asked->receive)
        return EXIT_GOOD;
    if (!path->any && path->of)
        return message_bad_data("no call is called '%s'; 'rbwp stats FILE' lists them", path->of);
    if (!path->any)
        return message_bad_data("nothing ran in these files: there is no path");
    bool good = make_lines(&view);
    if (!good)
        message("out of memory");
    else if (options->json || options->csv)
        result_document(&pass->out, critical_columns, options->csv, &view, &view);
    else
        critical_report_put_text(&pass->out, &view,
                                 options->top.set ? options->top.count : LINES_DEFAULT,
                                 terminal_colors(&options->reading.terminal, pass->out.fd));
    free(view.lines);
    return good ? EXIT_GOOD : EXIT_PARTIAL;
}

static enum exit_code critical_report_end(struct trace_pass *pass)
{
    struct critical_path *path = pass->state;
    enum exit_code code = EXIT_PARTIAL;
    if (pass->trace) {
        critical_path_finish(path);
        code = critical_report_show(pass, path);
    }
    critical_path_free(path);
    free(path);
    return code;
}

static const struct trace_maker critical_maker = {
    .clips = true, .begin = critical_report_begin, .end = critical_report_end};

enum exit_code critical_report(const struct stats_report_options *options, struct operands files)
{
    const struct critical_asked asked = {.options = *options};
    progress_allow(&options->reading.terminal);
    return trace_pass(&critical_maker, &asked, &options->reading, files);
}

enum exit_code critical_find(const struct reading_options *reading, struct operands files,
                             critical_receiver receive, void *context)
{
    static const struct trace_maker maker = {.clips = true,
                                             .own_output = true,
                                             .begin = critical_report_begin,
                                             .end = critical_report_end};
    struct critical_asked asked = {
        .options = {.reading = *reading}, .receive = receive, .context = context};
    if (why_no_file(files))
        return EXIT_USAGE;
    message_hold(&asked.held);
    const enum exit_code code = trace_pass(&maker, &asked, reading, files);
    message_hold(NULL);
    const bool no_memory =
        asked.failed || (code != EXIT_GOOD && message_held_no_memory(&asked.held));
    free(asked.held.text);
    if (no_memory)
        message("out of memory: no critical path is shown, or not all of it");
    return no_memory ? EXIT_PARTIAL : asked.received ? EXIT_GOOD : EXIT_USAGE;
}
