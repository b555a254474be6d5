/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome Trace JSON, the object form.
 *
 * Times are microseconds from the origin of the trace with three decimals, so
 * that a reader with doubles keeps the nanoseconds, and ends keep their order
 * when it adds up (chrome_rows.c). Each lane of a track is a thread of its
 * own: viewers drop what partly overlaps within one. Ids of 64 bits are
 * strings, for JavaScript keeps only 53; process and thread numbers fit 31
 * bits.
 *
 * A category is ours, with the source's own behind a comma, or the source's
 * alone where ours is "other". An arrow (a flow) leads from the launching
 * call to the span; its category is the link's kind, its name the source's
 * word for it or the kind again.
 */
#include "chrome_json.h"
#include "message.h"
#include "trace_span.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static char *put_duration(const struct chrome *chrome, char *at, const struct trace_span *span,
                          uint16_t steps)
{
    uint64_t duration_ns = trace_duration_ns(span);
    at = PUT(at, ",\"dur\":");
    if (!steps)
        return chrome_put_us(at, duration_ns);
    uint64_t stop_ns = (uint64_t)span->stop_ns - (uint64_t)trace_origin_ns(chrome->pass->trace);
    uint32_t rest = 1000 - chrome_ends_shorter((int64_t)stop_ns, steps);
    at = chrome_put_us(at, duration_ns - 1);
    *at++ = (char)('0' + rest / 100);
    return put_2_digits(at, rest % 100);
}

/* ---- arrows -------------------------------------------------------------------------- */

struct arrow_end {
    bool end; /* else the begin */
    uint64_t number;
    enum trace_link_kind kind;
    uint32_t label;
    int64_t time_ns;
    uint32_t pid, tid;
};

static void chrome_write_arrow(struct chrome *chrome, const struct arrow_end *arrow)
{
    struct out *out = &chrome->pass->out;
    const char *kind = trace_link_kind_name[arrow->kind];
    chrome_separate(chrome);
    out_text(out, "{");
    if (arrow->label)
        chrome_text(chrome, "name", trace_label_of(chrome->pass->trace, arrow->label));
    else
        json_plain(out, "name", kind);
    char *at = out_room(out, CHROME_EVENT_BYTES_MAX);
    at = PUT(at, ",\"cat\":\"");
    at = stpcpy(at, kind);
    at = arrow->end ? PUT(at, "\",\"ph\":\"f\",\"bp\":\"e\",\"id\":")
                    : PUT(at, "\",\"ph\":\"s\",\"id\":");
    at = chrome_put_hex(at, arrow->number);
    at = chrome_put_time(chrome, at, arrow->time_ns);
    at = chrome_put_place(at, arrow->pid, arrow->tid);
    *at++ = '}';
    out_end(out, at);
}

/* Perfetto takes an arrow only where its end is not earlier than its begin: an end that clocks put
 * before it lies further inside the span. */
static void write_arrow_ends(struct chrome *chrome, const struct trace_span *span, uint32_t pid,
                             uint32_t tid)
{
    struct arrow_end arrow = {.end = true,
                              .number = span->id,
                              .kind = TRACE_LAUNCH,
                              .time_ns = span->start_ns,
                              .pid = pid,
                              .tid = tid};
    if (pending_links_launch(&chrome->links, span->id))
        chrome_write_arrow(chrome, &arrow);
    for (const struct pending_link *link = pending_links_of(&chrome->links, span->id); link;
         link = pending_links_next(&chrome->links, link)) {
        bool inside = link->from_ns > span->start_ns && link->from_ns < span->stop_ns;
        arrow.number = link->number;
        arrow.kind = link->kind;
        arrow.label = link->label;
        arrow.time_ns = inside ? link->from_ns : span->start_ns;
        chrome_write_arrow(chrome, &arrow);
    }
}

/* Where no span is known to be around the begin of an arrow Perfetto binds it to the one that ended
 * last on the thread, however long ago: it gets a point in time to leave from. */
static void write_departure(struct chrome *chrome, const struct arrow_end *arrow)
{
    struct out *out = &chrome->pass->out;
    chrome_separate(chrome);
    out_text(out, "{");
    json_plain(out, "name", trace_link_kind_name[arrow->kind]);
    char *at = out_room(out, CHROME_EVENT_BYTES_MAX);
    at = PUT(at, ",\"cat\":\"link\",\"ph\":\"i\",\"s\":\"t\"");
    at = chrome_put_time(chrome, at, arrow->time_ns);
    at = chrome_put_place(at, arrow->pid, arrow->tid);
    *at++ = '}';
    out_end(out, at);
}

static void chrome_on_link(void *context, const struct trace_link *link)
{
    struct chrome *chrome = context;
    const struct chrome_row *to = &chrome->rows[link->to_track];
    bool later = link->to_span && !to->has_spans;
    struct arrow_end arrow = {.number = later ? pending_links_add(&chrome->links, link)
                                              : pending_links_number(link),
                              .kind = link->kind,
                              .label = link->label,
                              .time_ns = link->from_ns,
                              .pid = chrome->rows[link->from_track].pid,
                              .tid = chrome_tid(chrome, link->from_track, 0)};
    if (!arrow.number) {
        trace_pass_fail(chrome->pass);
        return;
    }
    if (!link->from_span)
        write_departure(chrome, &arrow);
    chrome_write_arrow(chrome, &arrow);
    if (later)
        return;
    arrow.end = true;
    arrow.time_ns = link->to_ns > link->from_ns ? link->to_ns : link->from_ns;
    arrow.pid = to->pid;
    arrow.tid = chrome_tid(chrome, link->to_track, 0);
    chrome_write_arrow(chrome, &arrow);
}

/* ---- spans --------------------------------------------------------------------------- */

enum { CATEGORY_BYTES_MAX = 2048 };

static bool is_ours(struct trace_text category)
{
    const char *comma = memchr(category.text, ',', category.bytes);
    if (comma)
        category.bytes = (uint32_t)(comma - category.text);
    return trace_word_number(trace_category_name, TRACE_CATEGORIES, category) < TRACE_CATEGORIES;
}

static void make_own_category(struct chrome *chrome, const struct trace_span *span, uint32_t label)
{
    struct trace_text own = trace_label_of(chrome->pass->trace, label);
    bool alone = span->category == TRACE_OTHER && !is_ours(own);
    char text[CATEGORY_BYTES_MAX];
    if (!alone) {
        int bytes = own.bytes < CATEGORY_BYTES_MAX / 2 ? (int)own.bytes : CATEGORY_BYTES_MAX / 2;
        snprintf(text, sizeof text, "%s,%.*s", trace_category_name[span->category], bytes,
                 own.text);
        own = trace_text(text);
    }
    out_text(&chrome->pass->out, ",");
    chrome_text(chrome, "cat", own);
}

/* As it was made the last time, if it was of the same. */
static void write_own_category(struct chrome *chrome, const struct trace_span *span, uint32_t label)
{
    struct out *out = &chrome->pass->out;
    struct chrome_category *last = &chrome->category;
    if (last->label == label && last->ours == span->category) {
        out_bytes(out, last->text, last->bytes);
        return;
    }
    out_end(out, out_room(out, 2 * CATEGORY_BYTES_MAX)); /* so that it lies there in one piece */
    size_t begin = out->used;
    make_own_category(chrome, span, label);
    last->label = 0;
    if (trace_label_of(chrome->pass->trace, label).bytes > sizeof last->text ||
        out->used - begin > sizeof last->text)
        return;
    *last = (struct chrome_category){
        .label = label, .ours = span->category, .bytes = (uint32_t)(out->used - begin)};
    memcpy(last->text, out->buffer + begin, last->bytes);
}

/* ,"cat":"...","ph":"X" and what is between the name and the time of a point in time. */
static void write_kind(struct chrome *chrome, const struct trace_span *span,
                       const struct trace_detail *detail)
{
    struct out *out = &chrome->pass->out;
    bool instant = span->flags & TRACE_INSTANT;
    if (detail && detail->category) {
        write_own_category(chrome, span, detail->category);
    } else {
        char *at = PUT(out_room(out, CHROME_EVENT_BYTES_MAX), ",\"cat\":\"");
        const char *name = trace_category_name[span->category];
        while (*name) /* short */
            *at++ = *name++;
        *at++ = '"';
        out_end(out, at);
    }
    if (instant)
        out_text(out, ",\"ph\":\"i\",\"s\":\"t\"");
    else
        out_text(out, ",\"ph\":\"X\"");
}

static void chrome_write_name(struct out *out, const struct chrome_name *name)
{
    if (!name->is_plain) {
        out_text(out, "{\"name\":");
        json_string(out, name->text.text, name->text.bytes);
        return;
    }
    char *at = PUT(out_room(out, CHROME_PLAIN_BYTES_MAX + 16), "{\"name\":\"");
    if (name->text.bytes)
        memcpy(at, name->text.text, name->text.bytes);
    at += name->text.bytes;
    *at++ = '"';
    out_end(out, at);
}

static void chrome_write_span(struct chrome *chrome, const struct trace_span *span,
                              const struct trace_detail *detail, uint16_t steps,
                              const struct chrome_lane *lane)
{
    struct out *out = &chrome->pass->out;
    chrome_separate(chrome);
    chrome_write_name(out, &chrome->names[span->name]);
    write_kind(chrome, span, detail);
    char *at = chrome_put_time(chrome, out_room(out, CHROME_EVENT_BYTES_MAX), span->start_ns);
    if (!(span->flags & TRACE_INSTANT))
        at = put_duration(chrome, at, span, steps);
    memcpy(at, lane->place, CHROME_PLACE_BYTES);
    at += lane->place_bytes;
    if (detail || span->flags & (TRACE_UNFINISHED | TRACE_OPEN | TRACE_RAN)) {
        out_end(out, at);
        chrome_write_args(chrome, span, detail);
        out_text(out, "}");
    } else { /* nearly all */
        at = chrome_put_item(at, span->category, span->item);
        *at++ = '}';
        out_end(out, at);
    }
    chrome->early += span->start_ns < trace_origin_ns(chrome->pass->trace);
    write_arrow_ends(chrome, span, chrome->rows[span->track].pid, lane->tid);
}

/* Which spans of the batch are to be shorter. */
static void find_steps(struct chrome *chrome, struct chrome_row *row,
                       const struct trace_span *spans, uint32_t count)
{
    if (!GROW_ZEROED(chrome->steps, chrome->step_room, count))
        trace_pass_fail(chrome->pass);
    for (uint32_t i = 0; i < count && !chrome->pass->failed; i++) {
        if (spans[i].row >= row->lane_count || !row->lanes[spans[i].row].place_bytes)
            (void)chrome_tid(chrome, spans[i].track, spans[i].row);
        if (!chrome->pass->failed &&
            !chrome_ends_take(&row->lanes[spans[i].row].ends, spans[i].start_ns, spans[i].stop_ns,
                              i, chrome->steps))
            trace_pass_fail(chrome->pass);
    }
    for (uint32_t i = 0; i < row->lane_count; i++)
        chrome_ends_finish_batch(&row->lanes[i].ends, chrome->steps);
}

static void chrome_on_spans(void *context, const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    struct chrome *chrome = context;
    struct chrome_row *row = &chrome->rows[spans[0].track];
    row->has_spans = true;
    find_steps(chrome, row, spans, (uint32_t)count);
    for (size_t i = 0; i < count && !chrome->pass->failed; i++)
        chrome_write_span(chrome, &spans[i], trace_detail_of(details, &spans[i]), chrome->steps[i],
                          &row->lanes[spans[i].row]);
}

/* ---- begin and end ------------------------------------------------------------------------ */

static bool chrome_begin(struct trace_pass *pass)
{
    struct chrome *chrome = calloc(1, sizeof *chrome);
    if (!chrome)
        return message_fail("out of memory");
    chrome->pass = pass;
    chrome->keys.beside_ours = true;
    pass->state = chrome;
    pass->sink = (struct trace_sink){
        .context = chrome,
        .process = chrome_take_process,
        .track = chrome_take_track,
        .name = chrome_take_name,
        .spans = chrome_on_spans,
        .samples = chrome_take_samples,
        .link = chrome_on_link,
        .loss = chrome_take_loss,
        .fact = chrome_take_fact,
        .full = trace_pass_is_full,
    };
    out_text(&pass->out, "{\"traceEvents\":[");
    return true;
}

static enum exit_code export_chrome_end(struct trace_pass *pass)
{
    struct chrome *chrome = pass->state;
    out_text(&pass->out, "\n],\n\"displayTimeUnit\":\"ns\",\n");
    chrome_write_facts(chrome);
    out_text(&pass->out, "}\n");
    if (chrome->early && !pass->nothing)
        message("chrome: %" PRIu64 " spans begin before time 0, where Perfetto leaves them out",
                chrome->early);
    return chrome_end(chrome, "chrome");
}

const struct exporter exporter_chrome = {
    .name = "chrome",
    .suffixes = ".json",
    .summary = "Chrome Trace JSON, for Perfetto, chrome://tracing, speedscope",
    .maker = {.stacks = TRACE_STACK_ARGUMENTS, .begin = chrome_begin, .end = export_chrome_end},
};
