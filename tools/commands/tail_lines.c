/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of rbwp tail. In text each has the time since the program's zero (of a
 * span: of its end, since that is when it is known), the thread, how long it took, and what it was,
 * indented by depth.
 */
#include "tail_lines.h"

#include "json_line.h"
#include "quantity.h"
#include "text_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool tail_lines_start(struct tail_lines *lines, uint32_t most)
{
    lines->ring = malloc(((size_t)most + 1) * sizeof *lines->ring);
    lines->most = most;
    lines->next = lines->count = 0;
    return lines->ring;
}

void tail_lines_free(struct tail_lines *lines)
{
    free(lines->ring);
    lines->ring = NULL;
}

/* ---- text ------------------------------------------------------------------------------- */

static void text_time(struct out *out, int64_t time_ns, int64_t zero_ns)
{
    char text[QUANTITY_BYTES];
    out_format(out, "%18s  ", quantity_time(text, time_ns, zero_ns));
}

static void text_known(struct out *out, const struct name *name, const char *what, uint64_t id)
{
    if (name && name->bytes)
        text_name(out, name->text, name->bytes);
    else
        out_format(out, "%s %" PRIu64, what, id);
}

static void text_thread(struct tail_lines *lines, uint64_t thread_id, int64_t time_ns)
{
    text_known(lines->out, names_find(&lines->names->threads, thread_id, time_ns), "thread",
               thread_id);
    out_text(lines->out, "  ");
}

static void text_slot(struct tail_lines *lines, int slot, int64_t time_ns)
{
    if (slot < 0)
        out_text(lines->out, "(slot not known)");
    else
        text_known(lines->out, names_find(&lines->names->slots, (uint64_t)slot, time_ns), "slot",
                   (uint64_t)slot);
}

static void text_sub_item(struct tail_lines *lines, unsigned id, int64_t time_ns)
{
    text_known(lines->out, names_find(&lines->names->sub_items, id, time_ns), "sub-item", id);
}

static void text_duration(struct out *out, const struct span *span)
{
    char text[QUANTITY_BYTES];
    const char *shown = span->has_end ? "no begin" : "not ended";
    if (span_has_duration(span))
        shown = quantity_duration(text, span_duration_ns(span));
    out_format(out, "%13s  ", shown);
}

static void text_span(struct tail_lines *lines, const struct span *span)
{
    struct out *out = lines->out;
    int64_t time_ns = span_name_time_ns(span);
    text_time(out, span->has_end ? span->end_ns : span->begin_ns, lines->zero_ns);
    text_duration(out, span);
    text_thread(lines, span->thread_id, time_ns);
    for (uint32_t i = 0; i < span->depth && i < 20; i++)
        out_text(out, "  ");
    if (span->kind == SPAN_FINE && span->has_begin)
        text_sub_item(lines, span->sub_item, time_ns);
    else if (span->kind == SPAN_FINE)
        out_text(out, "(sub-item not known)");
    else
        text_slot(lines, span->has_begin ? span->slot : -1, time_ns);
    if (span->kind == SPAN_GPU)
        out_format(out, " on GPU processor %" PRIx64, span->proc_id);
    out_text(out, "\n");
}

static void text_record(struct tail_lines *lines, uint64_t thread_id,
                        const struct rbwp_record *record)
{
    struct out *out = lines->out;
    text_time(out, record->time_ns, lines->zero_ns);
    out_format(out, "%-12s  ", rbwp_kind_name(record->kind));
    text_thread(lines, thread_id, record->time_ns);
    if (record->kind == RBWP_COARSE_BEGIN || record->kind == RBWP_GPU_WORK)
        text_slot(lines, record->slot, record->time_ns);
    if (record->kind == RBWP_FINE_BEGIN)
        text_sub_item(lines, record->sub_item, record->time_ns);
    out_text(out, "\n");
}

/* ---- any line --------------------------------------------------------------------------- */

static void print(struct tail_lines *lines, const struct tail_line *line)
{
    if (line->is_record && lines->ndjson) {
        json_record_line(lines->out, lines->file, lines->names, line->thread_id,
                         line->record.time_ns, &line->record);
    } else if (line->is_record) {
        text_record(lines, line->thread_id, &line->record);
    } else if (lines->ndjson) {
        json_span(lines->out, lines->file, lines->names, &line->span, NULL,
                  (struct rbwp_text){"", 0});
        out_text(lines->out, "\n");
    } else {
        text_span(lines, &line->span);
    }
}

void tail_lines_add(struct tail_lines *lines, const struct tail_line *line)
{
    if (!lines->ring) {
        print(lines, line);
        return;
    }
    if (lines->most == 0)
        return;
    lines->ring[lines->next] = *line;
    lines->next = (lines->next + 1) % lines->most;
    lines->count += lines->count < lines->most;
}

void tail_lines_print(struct tail_lines *lines)
{
    if (!lines->ring)
        return;
    uint32_t at = lines->count < lines->most ? 0 : lines->next;
    for (uint32_t i = 0; i < lines->count; i++)
        print(lines, &lines->ring[(at + i) % lines->most]);
    tail_lines_free(lines);
}
