/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for processes and threads. */
#include "viewer_parts.h"

#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
