/* SPDX-License-Identifier: Apache-2.0 */
/* From files to the report. Hops of one node and handler are one line. */
#include "critical_report.h"
#include "critical_path.h"
#include "json_text.h"
#include "message.h"
#include "progress.h"
#include "quantity.h"
#include "text_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_DEFAULT = 20 };

/* What messages for one handler on one node added to the path. */
struct line {
    uint32_t process, name;
    uint64_t messages, network_ns, queue_ns, handling_ns, work_ns;
};

static uint64_t line_ns(const struct line *line)
{
    return line->network_ns + line->queue_ns + line->handling_ns + line->work_ns;
}

static void add_hop(struct line *line, const struct critical_hop *hop)
{
    line->messages++;
    line->network_ns += hop->network_ns;
    line->queue_ns += hop->queue_ns;
    line->handling_ns += hop->handling_ns;
    line->work_ns += hop->work_ns;
}

static int by_place(const void *left, const void *right)
{
    const struct critical_hop *a = left, *b = right;
    if (a->to_process != b->to_process)
        return a->to_process < b->to_process ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static int by_time(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (line_ns(a) != line_ns(b))
        return line_ns(a) > line_ns(b) ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

/* NULL without memory. */
static struct line *make_lines(const struct critical_path *path, uint32_t *count_out)
{
    struct critical_hop *sorted = calloc(path->hop_count + 1u, sizeof *sorted);
    struct line *lines = calloc(path->hop_count + 1u, sizeof *lines);
    uint32_t count = 0;
    for (uint32_t i = 0; sorted && i < path->hop_count; i++)
        sorted[i] = path->hops[i];
    if (sorted)
        qsort(sorted, path->hop_count, sizeof *sorted, by_place);
    for (uint32_t i = 0; sorted && lines && i < path->hop_count; i++) {
        if (i == 0 || by_place(&sorted[i - 1], &sorted[i]) != 0)
            lines[count++] = (struct line){.process = sorted[i].to_process, .name = sorted[i].name};
        add_hop(&lines[count - 1], &sorted[i]);
    }
    if (sorted && lines)
        qsort(lines, count, sizeof *lines, by_time);
    bool good = sorted && lines;
    free(sorted);
    if (good)
        *count_out = count;
    else
        free(lines);
    return good ? lines : NULL;
}

static struct line sum_of(const struct critical_path *path)
{
    struct line sum = {0};
    for (uint32_t i = 0; i < path->hop_count; i++)
        add_hop(&sum, &path->hops[i]);
    sum.work_ns += path->first_work_ns;
    return sum;
}

/* ---- as text ----------------------------------------------------------------------------------
 */

struct view {
    struct out *out;
    const struct trace *trace;
    const struct critical_path *path;
    struct colors colors;
};

static uint64_t run_ns(const struct critical_path *path)
{
    return (uint64_t)path->last_ns - (uint64_t)path->first_ns;
}

static double percent(const struct critical_path *path, uint64_t ns)
{
    return run_ns(path) ? 100 * (double)ns / (double)run_ns(path) : 0;
}

static void put_name(const struct view *view, struct trace_text text)
{
    out_text(view->out, "  ");
    text_name(view->out, text.text, text.bytes);
}

static void duration(const struct view *view, uint64_t ns)
{
    char text[QUANTITY_BYTES];
    out_format(view->out, "%11s", quantity_rough(text, ns, 4));
}

static void put_head(const struct view *view)
{
    char run[QUANTITY_BYTES];
    const struct critical_path *path = view->path;
    struct line sum = sum_of(path);
    out_format(view->out,
               "%sCritical path through %" PRIu32 " of %" PRIu64 " messages, over a run of %s%s\n",
               view->colors.bold, path->hop_count, path->messages,
               quantity_duration(run, run_ns(path)), view->colors.off);
    out_format(view->out, "work %.1f %%, handlers %.1f %%, network %.1f %%, queue %.1f %%\n\n",
               percent(path, sum.work_ns), percent(path, sum.handling_ns),
               percent(path, sum.network_ns), percent(path, sum.queue_ns));
}

static void put_line(const struct view *view, const struct line *line)
{
    out_format(view->out, "%7.1f%%%10" PRIu64, percent(view->path, line_ns(line)), line->messages);
    duration(view, line->network_ns);
    duration(view, line->queue_ns);
    duration(view, line->handling_ns);
    duration(view, line->work_ns);
    put_name(view, trace_process_of(view->trace, line->process)->name);
    put_name(view, trace_name_of(view->trace, line->name));
    out_text(view->out, "\n");
}

static void put_first(const struct view *view)
{
    const struct critical_path *path = view->path;
    out_format(view->out, "%7.1f%%%10s%11s%11s%11s", percent(path, path->first_work_ns), "", "", "",
               "");
    duration(view, path->first_work_ns);
    put_name(view, trace_process_of(view->trace, path->first_process)->name);
    out_text(view->out, "  (from the beginning)\n");
}

static void put_text(const struct view *view, const struct line *lines, uint32_t count,
                     uint32_t most)
{
    put_head(view);
    out_format(view->out, "%s%8s%10s%11s%11s%11s%11s  node  handler%s\n", view->colors.dim, "share",
               "messages", "network", "queue", "handler", "work after", view->colors.off);
    put_first(view);
    for (uint32_t i = 0; i < count && i < most; i++)
        put_line(view, &lines[i]);
    if (count > most)
        out_format(view->out, "  ... and %" PRIu32 " more (--json has all)\n", count - most);
}

/* ---- as JSON ----------------------------------------------------------------------------------
 */

static void member(struct out *out, const char *key, uint64_t value)
{
    out_text(out, ",");
    json_u64(out, key, value);
}

static void named(struct out *out, const char *key, struct trace_text text)
{
    out_text(out, ",");
    json_name(out, key, text.text, text.bytes);
}

static void put_times(struct out *out, const struct line *line)
{
    member(out, "network", line->network_ns);
    member(out, "queue", line->queue_ns);
    member(out, "handling", line->handling_ns);
    member(out, "work", line->work_ns);
}

static void put_hop(const struct view *view, const struct critical_hop *hop)
{
    struct out *out = view->out;
    struct line times = {0};
    add_hop(&times, hop);
    out_text(out, "{");
    json_u64(out, "key", hop->key);
    member(out, "from_node", trace_process_of(view->trace, hop->from_process)->node);
    member(out, "to_node", trace_process_of(view->trace, hop->to_process)->node);
    named(out, "handler", trace_name_of(view->trace, hop->name));
    out_text(out, ",");
    json_i64(out, "sent", hop->sent_ns);
    put_times(out, &times);
    out_text(out, "}");
}

static void put_json_line(const struct view *view, const struct line *line)
{
    struct out *out = view->out;
    const struct trace_process *process = trace_process_of(view->trace, line->process);
    out_text(out, "{");
    json_u64(out, "node", process->node);
    named(out, "process", process->name);
    named(out, "handler", trace_name_of(view->trace, line->name));
    member(out, "messages", line->messages);
    put_times(out, line);
    out_text(out, "}");
}

static void put_json(const struct view *view, const struct line *lines, uint32_t count)
{
    struct out *out = view->out;
    const struct critical_path *path = view->path;
    struct line sum = sum_of(path);
    out_text(out, "{");
    json_i64(out, "first", path->first_ns);
    out_text(out, ",");
    json_i64(out, "last", path->last_ns);
    member(out, "messages", path->messages);
    member(out, "first_node", trace_process_of(view->trace, path->first_process)->node);
    member(out, "last_node", trace_process_of(view->trace, path->last_process)->node);
    member(out, "first_work", path->first_work_ns);
    put_times(out, &sum);
    out_text(out, ",\n\"lines\":[");
    for (uint32_t i = 0; i < count; i++) {
        out_text(out, i ? ",\n" : "\n");
        put_json_line(view, &lines[i]);
    }
    out_text(out, "],\n\"hops\":[");
    for (uint32_t i = 0; i < path->hop_count; i++) {
        out_text(out, i ? ",\n" : "\n");
        put_hop(view, &path->hops[i]);
    }
    out_text(out, "]}\n");
}

/* ---- the pass ----------------------------------------------------------------------------------
 */

static bool begin(struct trace_pass *pass)
{
    struct critical_path *path = malloc(sizeof *path);
    if (!path) {
        message("out of memory");
        return false;
    }
    critical_path_start(path, &pass->trace);
    pass->sink = critical_path_sink(path);
    pass->state = path;
    return true;
}

static enum exit_code show(struct trace_pass *pass, const struct critical_path *path)
{
    const struct stats_report_options *options = pass->asked;
    uint32_t count = 0;
    if (path->failed)
        return EXIT_PARTLY; /* the user was told */
    if (path->messages == 0) {
        message("no message has both of its ends in these files: there is no path through them "
                "(messages are recorded at level 2)");
        return EXIT_BAD_DATA;
    }
    struct line *lines = make_lines(path, &count);
    if (!lines) {
        message("out of memory");
        return EXIT_PARTLY;
    }
    const struct view view = {.out = &pass->out,
                              .trace = pass->trace,
                              .path = path,
                              .colors = terminal_colors(&options->reading.terminal, pass->out.fd)};
    if (options->json)
        put_json(&view, lines, count);
    else
        put_text(&view, lines, count, options->top.set ? options->top.count : LINES_DEFAULT);
    free(lines);
    return EXIT_GOOD;
}

static enum exit_code end(struct trace_pass *pass)
{
    struct critical_path *path = pass->state;
    enum exit_code code = EXIT_PARTLY;
    if (pass->trace) {
        critical_path_finish(path);
        code = show(pass, path);
    }
    critical_path_free(path);
    free(path);
    return code;
}

static const struct trace_maker critical_maker = {.clips = true, .begin = begin, .end = end};

enum exit_code critical_report(const struct stats_report_options *options, struct operands files)
{
    progress_allow(&options->reading.terminal);
    return trace_pass(&critical_maker, options, &options->reading, files);
}
