/* SPDX-License-Identifier: Apache-2.0 */
/* Looks come before the spans of their source, which say what was called. */
#include "slow_stacks.h"

#include "grow.h"
#include "trace_span.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDING_NS 1 /* of a call's begin, in its record and in the row */

/* ---- columns --------------------------------------------------------------------------------- */

#define SLOW(field) RESULT_FIELD(struct slow_stack, field)
static const struct result_column slow_columns[] = {
    {"samples", "samples", 9, RESULT_COUNT, SLOW(samples)},
    {"total", "total", 11, RESULT_NS, SLOW(total_ns)},
    {"oldest", "oldest", 11, RESULT_NS, SLOW(oldest_ns)},
    {"call", "call", -16, RESULT_TEXT, SLOW(name)},
    {"frames", "frames", 0, RESULT_TEXT, SLOW(frames)},
    RESULT_LAST};
const struct result_table slow_stacks_table = {"slow_stacks", "Stacks of slow calls",
                                               slow_columns,  "samples,total,oldest,call,frames",
                                               NULL,          20};

/* ---- looks ----------------------------------------------------------------------------------- */

enum { FRAMES_FOLDED = 256, FOLDED_BYTES = FRAMES_FOLDED * TRACE_FRAME_BYTES };

/* Names hold any bytes: what would separate them becomes a comma. */
static uint32_t fold(const struct trace_stack *stack, char *to)
{
    char name[TRACE_FRAME_BYTES];
    uint32_t bytes = 0;
    uint32_t from = stack->frame_count < FRAMES_FOLDED ? stack->frame_count : FRAMES_FOLDED;
    while (from-- > 0) {
        const struct trace_text frame = trace_frame_name(&stack->frames[from], name);
        if (bytes)
            to[bytes++] = ';';
        for (uint32_t i = 0; i < frame.bytes; i++)
            to[bytes++] = frame.text[i];
        for (uint32_t i = bytes - frame.bytes; i < bytes; i++)
            if (to[i] == ';')
                to[i] = ',';
    }
    return bytes;
}

uint32_t slow_texts_number(struct slow_texts *texts, struct trace_text text)
{
    const uint64_t hash = text_hash(TEXT_HASH_FIRST, text.text, text.bytes);
    for (uint32_t step = 0, i; (i = index_map_next(&texts->places, hash, &step)) != INDEX_NONE;)
        if (trace_text_same(texts->list[i], text))
            return i;
    char *copy = malloc(text.bytes + 1);
    if (!copy || !grow_array32(&texts->list, &texts->room, texts->count + 1, sizeof *texts->list) ||
        !index_map_add(&texts->places, hash, texts->count)) {
        free(copy);
        return UINT32_MAX;
    }
    memcpy(copy, text.bytes ? text.text : "", text.bytes);
    texts->list[texts->count] = (struct trace_text){copy, text.bytes};
    return texts->count++;
}

void slow_texts_free(struct slow_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++)
        free((void *)(uintptr_t)texts->list[i].text);
    free(texts->list);
    index_map_free(&texts->places);
}

void slow_stacks_on_stack(struct slow_stacks *slow, const struct trace_stack *stack)
{
    if (!stack->frame_count || stack->before)
        return;
    char *folded = malloc(FOLDED_BYTES);
    const uint32_t text =
        folded ? slow_texts_number(&slow->texts, (struct trace_text){folded, fold(stack, folded)})
               : UINT32_MAX;
    free(folded);
    if (text == UINT32_MAX ||
        !grow_array32(&slow->looks, &slow->look_room, slow->look_count + 1, sizeof *slow->looks)) {
        slow->failed = true;
        return;
    }
    slow->looks[slow->look_count++] = (struct slow_look){.since_ns = stack->since_ns,
                                                         .time_ns = stack->time_ns,
                                                         .track = stack->track,
                                                         .stack = text,
                                                         .name = stack->kind,
                                                         .called = TRACE_NONE,
                                                         .is_call = trace_stack_is_call(stack)};
}

/* ---- what was called ------------------------------------------------------------------------- */

static int by_call(const void *left, const void *right)
{
    const struct slow_look *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->since_ns != b->since_ns)
        return a->since_ns < b->since_ns ? -1 : 1;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void put_in_order(struct slow_stacks *slow)
{
    if (slow->look_count && slow->sorted != slow->look_count)
        qsort(slow->looks, slow->look_count, sizeof *slow->looks, by_call);
    slow->sorted = slow->look_count;
}

static void see_call(struct slow_stacks *slow, const struct trace_span *span)
{
    const struct slow_look key = {
        .track = span->track, .since_ns = span->start_ns - ROUNDING_NS, .time_ns = INT64_MIN};
    uint32_t low = 0, end = slow->look_count;
    while (low < end) {
        const uint32_t middle = low + (end - low) / 2;
        if (by_call(&slow->looks[middle], &key) < 0)
            low = middle + 1;
        else
            end = middle;
    }
    for (; low < slow->look_count && slow->looks[low].track == span->track &&
           slow->looks[low].since_ns <= span->start_ns + ROUNDING_NS;
         low++)
        if (slow->looks[low].is_call)
            slow->looks[low].called = span->name;
}

void slow_stacks_on_spans_(struct slow_stacks *slow, const struct trace_span *spans, size_t count)
{
    put_in_order(slow);
    for (size_t i = 0; i < count; i++)
        if (spans[i].category == TRACE_CALL)
            see_call(slow, &spans[i]);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int by_sum(const void *left, const void *right)
{
    const struct slow_look *a = left, *b = right;
    const int name = trace_text_compare(a->name, b->name);
    return name ? name : (a->stack > b->stack) - (a->stack < b->stack);
}

static int most_first(const void *left, const void *right)
{
    const struct slow_stack *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    const int name = trace_text_compare(a->name, b->name);
    return name ? name : trace_text_compare(a->frames, b->frames);
}

/* What is new of each: the rest is of the look before. */
static void make_durations(struct slow_stacks *slow, const struct trace *trace)
{
    for (uint32_t i = slow->look_count; i-- > 0;) {
        struct slow_look *look = &slow->looks[i];
        if (look->called != TRACE_NONE)
            look->name = trace_name_of(trace, look->called);
        const struct slow_look *before = i ? look - 1 : NULL;
        const bool same = before && before->track == look->track &&
                          before->since_ns == look->since_ns && before->is_call == look->is_call;
        look->new_ns = look->time_ns - (same ? before->time_ns : look->since_ns);
        look->new_ns = look->new_ns > 0 ? look->new_ns : 0;
    }
}

void slow_stacks_finish(struct slow_stacks *slow, const struct trace *trace)
{
    if (!slow->look_count)
        return;
    put_in_order(slow);
    make_durations(slow, trace);
    slow->list = calloc(slow->look_count, sizeof *slow->list);
    if (!slow->list) {
        slow->failed = true;
        return;
    }
    qsort(slow->looks, slow->look_count, sizeof *slow->looks, by_sum);
    for (uint32_t i = 0; i < slow->look_count; i++) {
        const struct slow_look *look = &slow->looks[i];
        if (i == 0 || by_sum(look - 1, look) != 0)
            slow->list[slow->count++] =
                (struct slow_stack){.name = look->name, .frames = slow->texts.list[look->stack]};
        struct slow_stack *sum = &slow->list[slow->count - 1];
        const uint64_t age_ns =
            look->time_ns > look->since_ns ? (uint64_t)look->time_ns - (uint64_t)look->since_ns : 0;
        sum->samples++;
        sum->total_ns += (uint64_t)look->new_ns;
        sum->oldest_ns = age_ns > sum->oldest_ns ? age_ns : sum->oldest_ns;
    }
    qsort(slow->list, slow->count, sizeof *slow->list, most_first);
}

bool slow_stacks_next(struct trace_text *left, struct trace_text *frame_out)
{
    const char *end = left->bytes ? memchr(left->text, ';', left->bytes) : NULL;
    const uint32_t bytes = end ? (uint32_t)(end - left->text) : left->bytes;
    if (!left->bytes)
        return false;
    *frame_out = (struct trace_text){left->text, bytes};
    left->text += bytes + (end != NULL);
    left->bytes -= bytes + (end != NULL);
    return true;
}

void slow_stacks_free(struct slow_stacks *slow)
{
    slow_texts_free(&slow->texts);
    free(slow->looks);
    free(slow->list);
    *slow = (struct slow_stacks){0};
}
