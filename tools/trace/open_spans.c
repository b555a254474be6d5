/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in one array, a free list in the same. */
#include "open_spans.h"
#include "grow.h"
#include "hash.h"
#include "message.h"
#include "trace_span.h"

#include <stdlib.h>
#include <string.h>

struct open_entry {
    uint64_t key;
    uint32_t next; /* index + 1 */
    struct trace_span span;
    uint64_t *detail; /* NULL none */
};

static uint32_t take_free(struct open_spans *open)
{
    uint32_t taken = open->free;
    if (taken) {
        open->free = open->entries[taken - 1].next;
        return taken;
    }
    if (open->count == OPEN_SPANS_MAX ||
        !grow_array32(&open->entries, &open->room, open->count + 1, sizeof *open->entries))
        return 0;
    return ++open->count;
}

/* NULL without one, or without room for it. */
static uint64_t *copy_detail(struct open_spans *open, const struct trace_detail *detail)
{
    if (!detail)
        return NULL;
    uint64_t bytes = detail->words * sizeof(uint64_t);
    if (bytes > OPEN_SPANS_DETAIL_BYTES_MAX - open->detail_bytes) {
        open->cut++;
        return NULL;
    }
    uint64_t *copy = malloc(bytes);
    open->failed |= !copy;
    if (!copy)
        return NULL;
    open->detail_bytes += bytes;
    return memcpy(copy, detail, bytes);
}

bool open_spans_push(struct open_spans *open, uint64_t key, const struct trace_span *span,
                     const struct trace_detail *detail)
{
    uint32_t at = id_hash(key) % OPEN_SPANS_CELLS, *cell = &open->cells[at];
    uint32_t taken = take_free(open);
    open->crowded += !taken;
    if (!taken)
        return false;
    open->entries[taken - 1] = (struct open_entry){key, *cell, *span, copy_detail(open, detail)};
    *cell = taken;
    if (at < open->first)
        open->first = at;
    return true;
}

static void release(struct open_spans *open, uint32_t *link, struct trace_span *span_out,
                    struct trace_detail **detail_out)
{
    uint32_t taken = *link;
    struct open_entry *entry = &open->entries[taken - 1];
    *span_out = entry->span;
    *detail_out = (void *)entry->detail;
    if (entry->detail)
        open->detail_bytes -= (*detail_out)->words * sizeof(uint64_t);
    *link = entry->next;
    entry->next = open->free;
    open->free = taken;
}

bool open_spans_pop(struct open_spans *open, uint64_t key, struct trace_span *span_out,
                    struct trace_detail **detail_out)
{
    uint32_t *link = &open->cells[id_hash(key) % OPEN_SPANS_CELLS];
    while (*link && open->entries[*link - 1].key != key)
        link = &open->entries[*link - 1].next;
    if (!*link)
        return false;
    release(open, link, span_out, detail_out);
    return true;
}

bool open_spans_end(struct open_spans *open, uint64_t key, int64_t stop_ns,
                    struct trace_span *span_out, struct trace_detail **detail_out)
{
    if (!open_spans_pop(open, key, span_out, detail_out)) {
        open->strays++;
        return false;
    }
    open->backwards += stop_ns < span_out->start_ns;
    span_out->stop_ns = stop_ns < span_out->start_ns ? span_out->start_ns : stop_ns;
    return true;
}

bool open_spans_report(const struct open_spans *open, const char *name, uint64_t cut)
{
    bool whole =
        message_count(name, open->backwards, "events end before they begin; shown as points");
    whole &= message_count(name, open->strays, "ends have no begin; dropped");
    whole &= message_count(name, open->crowded,
                           "begins are too many to be open at once, or for the memory; dropped");
    return message_count(name, open->cut + cut,
                         "arguments are too long or too many; cut or dropped") &&
           whole;
}

bool open_spans_pop_any(struct open_spans *open, struct trace_span *span_out,
                        struct trace_detail **detail_out)
{
    while (open->first < OPEN_SPANS_CELLS && !open->cells[open->first])
        open->first++;
    if (open->first == OPEN_SPANS_CELLS)
        return false;
    release(open, &open->cells[open->first], span_out, detail_out);
    return true;
}

void open_spans_free(struct open_spans *open)
{
    struct trace_span span;
    struct trace_detail *detail;
    while (open_spans_pop_any(open, &span, &detail))
        free(detail);
    free(open->entries);
    *open = (struct open_spans){0};
}
