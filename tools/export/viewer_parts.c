/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer_parts.h"
#include "pending_links.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pending links --------------------------------------------------------------------------- */
/* Arrows under way. */

/* A set of span ids. */

bool linked_spans_add(struct linked_spans *linked, uint64_t span)
{
    uint64_t page = span / LINKED_PAGE_SPANS, bit = span % LINKED_PAGE_SPANS;
    if (page >= UINT32_MAX ||
        !grow_zeroed32(&linked->pages, &linked->count, (uint32_t)page + 1, sizeof(uint64_t *)))
        return false;
    uint64_t **bits = &linked->pages[page];
    if (!*bits && !(*bits = calloc(LINKED_PAGE_SPANS / 64, sizeof **bits)))
        return false;
    (*bits)[bit / 64] |= UINT64_C(1) << bit % 64;
    return true;
}

void linked_spans_free(struct linked_spans *linked)
{
    for (uint32_t i = 0; i < linked->count; i++)
        free(linked->pages[i]);
    free(linked->pages);
}

/* Its begin is before its end, so that nothing has to be known of it but that it is there. */
static bool is_plain(const struct pending_links *links, const struct trace_link *link)
{
    return link->kind == TRACE_LAUNCH && link->label == 0 && link->from_ns < link->to_ns &&
           !linked_spans_has(&links->launches, link->to_span);
}

bool pending_links_keep(struct pending_links *links, const struct trace_link *link, uint64_t number)
{
    uint32_t place = thread_map_place(&links->spans, link->to_span, &links->first,
                                      &links->first_room, sizeof *links->first);
    if (place == THREAD_NONE || !GROW_ZEROED(links->others, links->room, links->count + 1))
        return false;
    links->others[links->count] = (struct pending_link){.number = number,
                                                        .from_ns = link->from_ns,
                                                        .label = link->label,
                                                        .from_track = link->from_track,
                                                        .next = links->first[place],
                                                        .kind = link->kind};
    links->first[place] = ++links->count;
    return true;
}

uint64_t pending_links_add(struct pending_links *links, const struct trace_link *link)
{
    if (is_plain(links, link))
        return linked_spans_add(&links->launches, link->to_span) ? link->to_span : 0;
    uint64_t number = pending_links_number(link);
    return pending_links_keep(links, link, number) ? number : 0;
}

void pending_links_free(struct pending_links *links)
{
    linked_spans_free(&links->launches);
    thread_map_free(&links->spans);
    free(links->first);
    free(links->others);
}

/* ---- viewers --------------------------------------------------------------------------------- */
/* Numbers for processes and threads. */

static uint32_t choose_number(struct viewer_ids *ids, struct thread_map *taken, uint64_t number)
{
    if (number <= VIEWER_OS_ID_MAX) {
        uint32_t before = taken->count;
        if (thread_map_number(taken, number) != THREAD_NONE && taken->count > before)
            return (uint32_t)number;
    }
    return VIEWER_OS_ID_MAX + ++ids->made;
}

static uint32_t choose(struct viewer_ids *ids, struct thread_map *taken, uint64_t os_id)
{
    return choose_number(ids, taken, os_id ? os_id : UINT64_MAX);
}

uint32_t viewer_block_pid(struct viewer_ids *ids, uint64_t block)
{
    return choose_number(ids, &ids->pids, block);
}

uint32_t viewer_pid(struct viewer_ids *ids, uint64_t os_id)
{
    return choose(ids, &ids->pids, os_id);
}

uint32_t viewer_tid(struct viewer_ids *ids, uint64_t os_id)
{
    return choose(ids, &ids->tids, os_id);
}

void viewer_ids_free(struct viewer_ids *ids)
{
    thread_map_free(&ids->pids);
    thread_map_free(&ids->tids);
}

/* A list in the order in which they came. */

bool kept_facts_add(struct kept_facts *facts, const char *key, struct trace_text value)
{
    size_t key_bytes = strlen(key);
    struct kept_fact *fact = malloc(sizeof *fact + key_bytes + value.bytes);
    if (!fact)
        return false;
    memcpy(fact->bytes, key, key_bytes);
    memcpy(fact->bytes + key_bytes, value.text, value.bytes);
    fact->next = NULL;
    fact->key = (struct trace_text){fact->bytes, (uint32_t)key_bytes};
    fact->value = (struct trace_text){fact->bytes + key_bytes, value.bytes};
    *(facts->last ? facts->last : &facts->first) = fact;
    facts->last = &fact->next;
    return true;
}

void kept_facts_free(struct kept_facts *facts)
{
    for (struct kept_fact *fact = facts->first, *next; fact; fact = next) {
        next = fact->next;
        free(fact);
    }
}

/* Any bytes as UTF-8. */

struct trace_text viewer_text(struct viewer_text *made, struct trace_text text)
{
    if (utf8_valid(text.text, text.bytes))
        return text;
    if (!grow_array(&made->text, &made->room, text.bytes * (sizeof UTF8_REPLACEMENT - 1), 1)) {
        made->failed = true;
        return (struct trace_text){"", 0};
    }
    size_t used = utf8_repair(text.text, text.bytes, NULL, made->text);
    return (struct trace_text){made->text, (uint32_t)used};
}

void viewer_text_free(struct viewer_text *made)
{
    free(made->text);
}

void viewer_title(char title[VIEWER_TITLE_BYTES], struct trace_text process,
                  struct trace_text track, uint32_t lane)
{
    enum { NAME_MAX_BYTES = 1024 };
    int process_bytes = process.bytes < NAME_MAX_BYTES ? (int)process.bytes : NAME_MAX_BYTES;
    int track_bytes = track.bytes < NAME_MAX_BYTES ? (int)track.bytes : NAME_MAX_BYTES;
    int bytes = snprintf(title, VIEWER_TITLE_BYTES, "%.*s%s%.*s", process_bytes, process.text,
                         process_bytes ? ", " : "", track_bytes, track.text);
    if (lane)
        snprintf(title + bytes, VIEWER_TITLE_BYTES - (size_t)bytes, " / %" PRIu32, lane);
}
