/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers processes, tracks and names, keeps them, and passes all on.
 *
 * Names are interned over all sources in one set; texts live in an
 * arena of chunks that do not move, so that sinks may keep pointers.
 */

#include "grow.h"
#include "index_map.h"
#include "link_join.h"
#include "message.h"
#include "sorted.h"
#include "trace.h"
#include "async_sink.h"
#include "trace_axis.h"
#include "trace_span.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- message join ---------------------------------------------------------------------------- */
/*
 * Messages whose two ends find each other by key, and those that were handled before they were
 * sent.
 *
 * Ends come in any order and from any source; when all have come they are sorted by key. Memory is
 * bounded.
 *
 * Of several ends that say the same the first one counts: a key is used once.
 */

struct message_join; /* opaque */

struct message_join {
    struct merge_sorter ends;
    struct trace_message_end sent; /* of its key, that has no other end yet */
    bool waits;
    uint64_t sent_alone, handled_alone;
    void (*found)(void *context, const struct trace_message_end *sent,
                  const struct trace_message_end *handled);
    void *context;
};

static int trace_compare(const void *left, const void *right)
{
    const struct trace_message_end *a = left, *b = right;
    SORTED_BY(a, b, key);
    SORTED_BY(a, b, handled);
    SORTED_BY(a, b, start_ns);
    SORTED_BY(a, b, track);
    return (a->span > b->span) - (a->span < b->span);
}

static const struct merge_order trace_ends_order = {"messages", sizeof(struct trace_message_end),
                                                    MERGE_SORTER_NO_PAYLOAD, trace_compare};

/* NULL without memory. */
static struct message_join *message_join_new(void)
{
    struct message_join *join = calloc(1, sizeof *join);
    if (join)
        merge_sorter_start(&join->ends, &trace_ends_order);
    return join;
}

static bool trace_take(void *context, const void *item, const uint64_t *payload)
{
    struct message_join *join = context;
    const struct trace_message_end *end = item;
    (void)payload;
    if (!end->handled) {
        bool again = join->waits && join->sent.key == end->key;
        join->sent_alone += join->waits;
        if (!again)
            join->sent = *end;
        join->waits = true;
    } else if (join->waits && join->sent.key == end->key) {
        join->found(join->context, &join->sent, end);
        join->waits = false;
    } else {
        join->handled_alone++;
    }
    return true;
}

/* Hands out the messages by ascending key. *sent_alone_out and *handled_alone_out: ends that found
 * no other. False if some are missing, with a message. */
static bool message_join_finish(struct message_join *join,
                                void (*found)(void *context, const struct trace_message_end *sent,
                                              const struct trace_message_end *handled),
                                void *context, uint64_t *sent_alone_out,
                                uint64_t *handled_alone_out)
{
    join->found = found;
    join->context = context;
    merge_sorter_finish(&join->ends, trace_take, join);
    *sent_alone_out = join->sent_alone + join->waits;
    *handled_alone_out = join->handled_alone;
    return !join->ends.failed;
}

/* ---- texts, numbered from 0 in the order of adding, found by a hash -------------------------- */

struct text_set {
    struct trace_text *texts; /* by number; the caller's bytes */
    struct index_map places;
    uint32_t count, room;
};

/* TRACE_NONE if it is not there. Zero is an empty set. */
static uint32_t text_set_find(const struct text_set *set, struct trace_text text)
{
    uint64_t hash = text_hash(TEXT_HASH_FIRST, text.text, text.bytes);
    for (uint32_t step = 0, i; (i = index_map_next(&set->places, hash, &step)) != INDEX_NONE;)
        if (trace_text_same(set->texts[i], text))
            return i;
    return TRACE_NONE;
}

/* One that is not there. False when out of memory. */
static bool text_set_add(struct text_set *set, struct trace_text text)
{
    if (!GROW_ARRAY(set->texts, set->room, set->count + 1) ||
        !index_map_add(&set->places, text_hash(TEXT_HASH_FIRST, text.text, text.bytes), set->count))
        return false;
    set->texts[set->count++] = text;
    return true;
}

static void text_set_free(struct text_set *set)
{
    free(set->texts);
    index_map_free(&set->places);
    *set = (struct text_set){0};
}

/* ---- trace ----------------------------------------------------------------------------------- */

#define TRACE_CATEGORY_NAME(category, name) name,
const char *const trace_category_name[TRACE_CATEGORIES] = {
    TRACE_CATEGORY_LIST(TRACE_CATEGORY_NAME)};

const char *const trace_track_kind_name[TRACE_TRACK_KINDS] = {
    "thread", "gpu",   "processor", "channel", "stream", "sm",
    "lane",   "async", "table",     "counter", "life"};

const char *const trace_link_kind_name[TRACE_LINK_KINDS] = {
    "launch", "message", "range", "dependency", "wake", "wait", "flow"};

enum { ARENA_BYTES = 64 << 10 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, room;
    char bytes[];
};

struct named_process {
    struct trace_process process;
    uint32_t repeats; /* of its name, each with a number behind it */
};

struct trace {
    struct trace_sink sink;
    struct async_sink *behind; /* NULL: the sink is called at once */
    int64_t origin_ns;
    struct trace_totals totals;
    struct named_process *processes;
    struct trace_track *tracks;
    struct text_set names, process_names;
    uint32_t process_count, process_room, track_count, track_room;
    struct arena_chunk *arena;
    struct link_join *joined;      /* NULL: no end of a link has come */
    struct message_join *messages; /* NULL: no end of a message has */
    uint64_t next_id;
    bool failed;
};

int trace_text_compare(struct trace_text a, struct trace_text b)
{
    uint32_t bytes = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = bytes ? memcmp(a.text, b.text, bytes) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

struct trace *trace_new(const struct trace_sink *sink, int64_t origin_ns)
{
    struct trace *trace = calloc(1, sizeof *trace);
    if (trace) {
        trace->sink = *sink;
        trace->origin_ns = origin_ns;
        trace->next_id = 1;
    }
    return trace;
}

void trace_work_behind(struct trace *trace, struct job_threads *threads)
{
    if (job_threads_count(threads) > 1) /* without memory it goes on without */
        trace->behind = async_sink_new(&trace->sink, threads);
}

/* Before anything that the sink may look up is changed, and before it is called from here. */
static inline void trace_settle(struct trace *trace)
{
    if (trace->behind)
        async_sink_settle(trace->behind);
    if (trace->sink.settle)
        trace->sink.settle(trace->sink.context);
}

void trace_free(struct trace *trace)
{
    if (!trace)
        return;
    async_sink_free(trace->behind);
    for (struct arena_chunk *chunk = trace->arena, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(trace->processes);
    free(trace->tracks);
    text_set_free(&trace->names);
    text_set_free(&trace->process_names);
    link_join_free(trace->joined);
    if (trace->messages)
        merge_sorter_stop(&trace->messages->ends);
    free(trace->messages);
    free(trace);
}

int64_t trace_origin_ns(const struct trace *trace)
{
    return trace->origin_ns;
}

const struct trace_totals *trace_totals(const struct trace *trace)
{
    return &trace->totals;
}

bool trace_failed(const struct trace *trace)
{
    return trace->failed;
}

bool trace_is_full(const struct trace *trace)
{
    if (trace->failed || trace->behind)
        return trace->failed || async_sink_is_full(trace->behind);
    return trace->sink.full && trace->sink.full(trace->sink.context);
}

void trace_out_of_memory(struct trace *trace)
{
    message_once(&trace->failed, "out of memory; the rest is dropped");
}

/* ---- texts ---------------------------------------------------------------- */

static struct trace_text trace_keep(struct trace *trace, const char *text, uint32_t bytes)
{
    if (bytes == 0)
        return (struct trace_text){"", 0};
    struct arena_chunk *chunk = trace->arena;
    if (!chunk || chunk->room - chunk->used < bytes) {
        size_t room = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk) {
            trace_out_of_memory(trace);
            return (struct trace_text){"", 0};
        }
        *chunk = (struct arena_chunk){trace->arena, 0, room};
        trace->arena = chunk;
    }
    char *kept = chunk->bytes + chunk->used;
    memcpy(kept, text, bytes);
    chunk->used += bytes;
    return (struct trace_text){kept, bytes};
}

static bool trace_grow(struct trace *trace, void *array, uint32_t *room, uint32_t count,
                       size_t bytes)
{
    bool grown = count < UINT32_MAX && grow_array32(array, room, count + 1, bytes);
    if (!grown)
        trace_out_of_memory(trace);
    return grown;
}

uint32_t trace_add_name(struct trace *trace, const char *text, uint32_t bytes)
{
    uint32_t number = text_set_find(&trace->names, (struct trace_text){text, bytes});
    if (number != TRACE_NONE)
        return number;
    trace_settle(trace);
    struct trace_text kept = trace_keep(trace, text, bytes);
    if (!text_set_add(&trace->names, kept)) {
        trace_out_of_memory(trace);
        return 0;
    }
    number = trace->names.count - 1;
    if (trace->sink.name)
        trace->sink.name(trace->sink.context, number, kept);
    return number;
}

struct trace_text trace_name_of(const struct trace *trace, uint32_t number)
{
    return number < trace->names.count ? trace->names.texts[number] : (struct trace_text){"", 0};
}

uint32_t trace_add_label(struct trace *trace, const char *text, uint32_t bytes)
{
    return bytes ? trace_add_name(trace, text, bytes) + 1 : 0;
}

struct trace_text trace_label_of(const struct trace *trace, uint32_t label)
{
    return trace_name_of(trace, label - 1); /* of 0: a name that there is not */
}

/* ---- processes and tracks ------------------------------------------------- */

static void keep_text(struct trace *trace, struct trace_text *text)
{
    *text = trace_keep(trace, text->text, text->bytes);
}

/* Viewers join processes of equal names. What a name leaves of room is for the number, which is the
 * first one after those that were given to the same name before. */
static struct trace_text unique_name(struct trace *trace, struct trace_text name, char *made,
                                     size_t room)
{
    enum { NUMBER_BYTES = 16 };
    size_t most = room - NUMBER_BYTES;
    if (name.bytes) /* it may have a zero byte, also as its first */
        name.bytes = (uint32_t)strnlen(name.text, name.bytes < most ? name.bytes : most);
    if (name.bytes == 0)
        name = trace_text("process");
    int bytes = (int)name.bytes;
    snprintf(made, room, "%.*s", bytes, name.text);
    uint32_t first = text_set_find(&trace->process_names, trace_text(made)), known = first;
    while (known != TRACE_NONE) {
        snprintf(made, room, "%.*s (%" PRIu32 ")", bytes, name.text,
                 ++trace->processes[first].repeats + 1);
        known = text_set_find(&trace->process_names, trace_text(made));
    }
    return trace_text(made);
}

uint32_t trace_add_process(struct trace *trace, struct trace_process process)
{
    char made[256];
    trace_settle(trace);
    if (!trace_grow(trace, &trace->processes, &trace->process_room, trace->process_count,
                    sizeof *trace->processes))
        return 0;
    process.name = unique_name(trace, process.name, made, sizeof made);
    keep_text(trace, &process.name);
    if (!text_set_add(&trace->process_names, process.name)) {
        trace_out_of_memory(trace);
        return 0;
    }
    keep_text(trace, &process.host);
    keep_text(trace, &process.command);
    keep_text(trace, &process.source);
    process.number = trace->process_count++;
    trace->processes[process.number] = (struct named_process){process, 0};
    if (trace->sink.process)
        trace->sink.process(trace->sink.context, &process);
    return process.number;
}

const struct trace_process *trace_process_of(const struct trace *trace, uint32_t number)
{
    return &trace->processes[number].process;
}

static uint32_t add_track(struct trace *trace, struct trace_track track)
{
    trace_settle(trace);
    if (!trace_grow(trace, &trace->tracks, &trace->track_room, trace->track_count,
                    sizeof *trace->tracks))
        return 0;
    keep_text(trace, &track.name);
    keep_text(trace, &track.unit);
    track.number = trace->track_count++;
    trace->tracks[track.number] = track;
    if (trace->sink.track)
        trace->sink.track(trace->sink.context, &track);
    return track.number;
}

uint32_t trace_add_track(struct trace *trace, struct trace_track track)
{
    track.parent = TRACE_NONE;
    return add_track(trace, track);
}

uint32_t trace_add_track_below(struct trace *trace, uint32_t parent, struct trace_track track)
{
    if (parent >= trace->track_count) /* there was no memory for it */
        return 0;
    track.parent = parent;
    track.process = trace->tracks[parent].process;
    return add_track(trace, track);
}

uint32_t trace_track_count(const struct trace *trace)
{
    return trace->track_count;
}

const struct trace_track *trace_track_of(const struct trace *trace, uint32_t number)
{
    return &trace->tracks[number];
}

/* ---- what happened -------------------------------------------------------- */

uint64_t trace_new_ids(struct trace *trace, uint64_t count)
{
    uint64_t first = trace->next_id;
    trace->next_id += count;
    return first;
}

void trace_add_spans(struct trace *trace, const struct trace_span *spans, size_t count,
                     const struct trace_details *details)
{
    if (count == 0 || trace_is_full(trace))
        return;
    struct trace_totals *totals = &trace->totals;
    for (size_t i = 0; i < count; i++)
        trace_widen(totals->spans++, &totals->first_ns, &totals->last_ns, spans[i].start_ns,
                    spans[i].stop_ns);
    for (size_t i = 0; details && i < count; i++)
        totals->details += spans[i].detail != 0;
    if (trace->behind && !async_sink_spans(trace->behind, spans, count, details))
        trace_out_of_memory(trace);
    else if (!trace->behind && trace->sink.spans)
        trace->sink.spans(trace->sink.context, spans, count, details);
}

void trace_add_samples(struct trace *trace, uint32_t track, const struct trace_sample *samples,
                       size_t count)
{
    if (count == 0 || trace_is_full(trace))
        return;
    trace->totals.samples += count;
    if (trace->behind && !async_sink_samples(trace->behind, track, samples, count))
        trace_out_of_memory(trace);
    else if (!trace->behind && trace->sink.samples)
        trace->sink.samples(trace->sink.context, track, samples, count);
}

bool trace_clip(struct trace_span *span, int64_t from_ns, int64_t to_ns)
{
    int64_t start_ns = span->start_ns, stop_ns = span->stop_ns;
    if (start_ns >= from_ns && stop_ns <= to_ns)
        return true;
    span->flags |= TRACE_CUT;
    span->start_ns = start_ns < from_ns ? from_ns : start_ns;
    if (stop_ns > to_ns) {
        span->stop_ns = to_ns;
        span->flags &= (uint8_t) ~(TRACE_UNFINISHED | TRACE_OPEN); /* it lasted the window */
    }
    return span->start_ns < span->stop_ns;
}

void trace_saw(struct trace *trace, int64_t first_ns, int64_t last_ns)
{
    struct trace_totals *totals = &trace->totals;
    if (first_ns > last_ns)
        return;
    trace_widen(totals->saw, &totals->saw_first_ns, &totals->saw_last_ns, first_ns, last_ns);
    totals->saw = true;
}

void trace_add_link(struct trace *trace, struct trace_link link)
{
    if (trace_is_full(trace))
        return;
    link.id = ++trace->totals.links;
    if (trace->behind && !async_sink_link(trace->behind, &link))
        trace_out_of_memory(trace);
    else if (!trace->behind && trace->sink.link)
        trace->sink.link(trace->sink.context, &link);
}

void trace_add_link_end(struct trace *trace, const struct trace_link_end *end)
{
    if (trace->failed)
        return;
    if (!trace->joined && !(trace->joined = link_join_new()))
        trace_out_of_memory(trace);
    else
        link_join_add(trace->joined, end);
}

void trace_add_message_end(struct trace *trace, const struct trace_message_end *end)
{
    if (trace->failed)
        return;
    if (!trace->messages && !(trace->messages = message_join_new()))
        trace_out_of_memory(trace);
    else
        merge_sorter_add(&trace->messages->ends, end, NULL);
}

/* No handler begins before its message was sent: else the clocks are wrong. */
static void look_for_cause(struct trace_totals *totals, const struct trace_message *message)
{
    uint64_t early_ns = trace_message_early_ns(message);
    if (early_ns <= message->bound_ns)
        return;
    if (totals->too_early++ == 0 || early_ns > trace_message_early_ns(&totals->earliest))
        totals->earliest = *message;
}

static void pass_message(void *context, const struct trace_message_end *sent,
                         const struct trace_message_end *handled)
{
    struct trace *trace = context;
    struct trace_message message = {.sent = *sent,
                                    .handled = *handled,
                                    .from_process = trace->tracks[sent->track].process,
                                    .to_process = trace->tracks[handled->track].process};
    /* Times of one process are of one clock. */
    const struct trace_process *from = trace_process_of(trace, message.from_process);
    const struct trace_process *to = trace_process_of(trace, message.to_process);
    message.bounded = from == to || (from->clock_bounded && to->clock_bounded);
    if (message.bounded && from != to)
        message.bound_ns = from->clock_error_ns + to->clock_error_ns;
    trace->totals.messages++;
    look_for_cause(&trace->totals, &message);
    trace_add_link(trace, (struct trace_link){.kind = TRACE_MESSAGE,
                                              .label = handled->name + 1,
                                              .from_track = sent->track,
                                              .to_track = handled->track,
                                              .from_ns = sent->start_ns,
                                              .to_ns = handled->start_ns,
                                              .from_span = sent->span,
                                              .to_span = handled->span});
    trace_settle(trace);
    if (trace->sink.message && !trace_is_full(trace))
        trace->sink.message(trace->sink.context, &message);
}

static void pass_joined(void *context, const struct trace_link *link)
{
    trace_add_link(context, *link);
}

void trace_finish(struct trace *trace)
{
    bool failed = false;
    if (trace->joined)
        trace->totals.lone_ends = link_join_finish(trace->joined, pass_joined, trace, &failed);
    if (trace->messages)
        failed |= !message_join_finish(trace->messages, pass_message, trace,
                                       &trace->totals.sent_alone, &trace->totals.handled_alone);
    trace_settle(trace);
    trace->failed |= failed; /* a message was given */
}

bool trace_wants_stacks(const struct trace *trace)
{
    return trace->sink.stack;
}

bool trace_wants_frames(struct trace *trace, const struct trace_stack *stack)
{
    trace_settle(trace);
    return !trace->sink.frames || trace->sink.frames(trace->sink.context, stack);
}

void trace_add_stack(struct trace *trace, const struct trace_stack *stack)
{
    trace_settle(trace);
    if (trace->sink.stack && !trace_is_full(trace))
        trace->sink.stack(trace->sink.context, stack);
}

uint32_t trace_add_table(struct trace *trace, uint32_t process, const struct rbwp_schema *schema)
{
    const struct trace_table table = {(uint32_t)trace->totals.tables++, process, schema};
    trace_settle(trace);
    if (trace->sink.table)
        trace->sink.table(trace->sink.context, &table);
    return table.number;
}

void trace_add_rows(struct trace *trace, const struct trace_rows *rows)
{
    if (trace_is_full(trace))
        return;
    trace->totals.rows += rows->rows->rows;
    trace_settle(trace);
    if (trace->sink.rows)
        trace->sink.rows(trace->sink.context, rows);
}

void trace_add_unjudged_rows(struct trace *trace, uint32_t rows)
{
    trace->totals.unjudged_rows += rows;
}

void trace_loss_name(const struct trace_loss *loss, char *name, size_t room)
{
    int bytes = (int)loss->cause.bytes;
    if (loss->count)
        snprintf(name, room, "%" PRIu64 " %s: %.*s", loss->count,
                 loss->refused ? "calls refused" : "records lost", bytes, loss->cause.text);
    else if (loss->bytes)
        snprintf(name, room, "%" PRIu64 " bytes of the file skipped: %.*s", loss->bytes, bytes,
                 loss->cause.text);
    else
        snprintf(name, room, "records lost: %.*s", bytes, loss->cause.text);
}

void trace_add_loss(struct trace *trace, struct trace_loss loss)
{
    trace->totals.losses++;
    *(loss.refused ? &trace->totals.refused_calls : &trace->totals.lost_records) += loss.count;
    trace_settle(trace);
    if (trace->sink.loss && !trace_is_full(trace))
        trace->sink.loss(trace->sink.context, &loss);
}

static void trace_put_fact(struct trace *trace, const char *key, const char *format,
                           va_list arguments)
{
    char value[1024];
    vsnprintf(value, sizeof value, format, arguments);
    trace_settle(trace);
    if (trace->sink.fact)
        trace->sink.fact(trace->sink.context, key, trace_text(value));
}

void trace_add_fact(struct trace *trace, const char *key, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    trace_put_fact(trace, key, format, arguments);
    va_end(arguments);
}

void trace_add_process_fact(struct trace *trace, uint32_t process, const char *what,
                            const char *format, ...)
{
    char key[64];
    va_list arguments;
    snprintf(key, sizeof key, "process.%" PRIu32 ".%s", process, what);
    va_start(arguments, format);
    trace_put_fact(trace, key, format, arguments);
    va_end(arguments);
}

void trace_add_own_fact(struct trace *trace, const char *key, struct trace_text value)
{
    trace->totals.own_facts++;
    trace_add_fact(trace, key, "%.*s", (int)value.bytes, value.text);
}
