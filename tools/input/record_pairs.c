/* SPDX-License-Identifier: Apache-2.0 */
/* Pairing: one stack per thread. */
#include "record_pairs.h"
#include "record_bytes.h"

#include <stdlib.h>
#include <string.h>

void pair_builder_start(struct pair_builder *builder, pair_fn *emit, void *context)
{
    *builder = (struct pair_builder){.emit = emit, .context = context};
}

void pair_builder_stop(struct pair_builder *builder)
{
    for (uint32_t i = 0; i < builder->map.count && i < builder->thread_capacity; i++)
        free(builder->threads[i].open);
    free(builder->threads);
    thread_map_free(&builder->map);
}

static bool is_call(const struct pair_thread *thread, uint32_t index)
{
    return thread->call == index + 1;
}

static int call_slot(const struct pair_thread *thread)
{
    return thread->call ? thread->open[thread->call - 1].item : -1;
}

/* The innermost pair, without its end. Field by field: this is done for each pair of a file, and
 * what is copied behind its being written waits for that. */
static inline void innermost_pair(const struct pair_thread *thread, struct record_pair *pair)
{
    uint32_t index = thread->depth - 1;
    const struct open_begin *open = &thread->open[index];
    bool coarse = is_call(thread, index);
    pair->kind = coarse ? PAIR_COARSE : PAIR_FINE;
    pair->id = open->id;
    pair->parent = index ? thread->open[index - 1].id : 0;
    pair->depth = index;
    pair->thread_id = thread->thread_id;
    pair->slot = thread->call && index + 1 >= thread->call ? call_slot(thread) : -1;
    pair->sub_item = coarse ? 0 : open->item;
    pair->proc_id = 0;
    pair->has_begin = true;
    pair->open = false;
    pair->begin_ns = open->begin_ns;
    pair->record_ns = 0;
}

/* The innermost pair has its end, or never will. */
static inline void pairs_leave(struct pair_builder *builder, struct pair_thread *thread,
                               const struct record_pair *pair)
{
    builder->unfinished += !pair->has_end;
    builder->open += pair->open;
    if (is_call(thread, thread->depth - 1))
        thread->call = 0;
    thread->depth--;
    builder->open_total--;
    builder->emit(builder->context, pair);
}

static inline void pairs_pop(struct pair_builder *builder, struct pair_thread *thread, bool has_end,
                             int64_t end_ns)
{
    struct record_pair pair;
    innermost_pair(thread, &pair);
    pair.has_end = has_end;
    pair.end_ns = end_ns;
    pairs_leave(builder, thread, &pair);
}

/* Ends what is open above index as unfinished. */
static void abandon(struct pair_builder *builder, struct pair_thread *thread, uint32_t index)
{
    thread->overflow = 0;
    while (thread->depth > index)
        pairs_pop(builder, thread, false, 0);
}

static inline bool pairs_push(struct pair_builder *builder, struct pair_thread *thread,
                              uint16_t item, int64_t begin_ns)
{
    if (thread->depth == thread->capacity &&
        !GROW_ZEROED(thread->open, thread->capacity, thread->depth + 1))
        return false;
    thread->open[thread->depth++] = (struct open_begin){++builder->next_id, begin_ns, item};
    builder->open_total++;
    return true;
}

static void stray(struct pair_builder *builder, const struct pair_thread *thread,
                  enum pair_kind kind, int64_t end_ns)
{
    struct record_pair pair = {.kind = kind,
                               .id = ++builder->next_id,
                               .thread_id = thread->thread_id,
                               .slot = call_slot(thread),
                               .depth = thread->depth,
                               .parent = thread->depth ? thread->open[thread->depth - 1].id : 0,
                               .has_end = true,
                               .end_ns = end_ns};
    builder->strays++;
    builder->emit(builder->context, &pair);
}

static inline void coarse_begin(struct pair_builder *builder, struct pair_thread *thread,
                                uint16_t slot, int64_t begin_ns)
{
    if (thread->call)
        abandon(builder, thread, thread->call - 1);
    thread->overflow = 0;
    if (pairs_push(builder, thread, slot, begin_ns))
        thread->call = thread->depth;
    else
        builder->failed = true;
}

static inline void coarse_end(struct pair_builder *builder, struct pair_thread *thread,
                              int64_t end_ns)
{
    if (!thread->call) {
        stray(builder, thread, PAIR_COARSE, end_ns);
        return;
    }
    abandon(builder, thread, thread->call);
    pairs_pop(builder, thread, true, end_ns);
}

/* A sub-item for which there is no room. */
static void overflow(struct pair_builder *builder, struct pair_thread *thread, uint16_t sub_item,
                     int64_t begin_ns)
{
    struct record_pair pair = {.kind = PAIR_FINE,
                               .id = ++builder->next_id,
                               .parent = thread->depth ? thread->open[thread->depth - 1].id : 0,
                               .depth = thread->depth + thread->overflow++,
                               .thread_id = thread->thread_id,
                               .slot = call_slot(thread),
                               .sub_item = sub_item,
                               .has_begin = true,
                               .begin_ns = begin_ns};
    builder->unfinished++;
    builder->emit(builder->context, &pair);
}

static inline void fine_end(struct pair_builder *builder, struct pair_thread *thread,
                            int64_t end_ns)
{
    if (thread->overflow)
        thread->overflow--;
    else if (thread->depth > thread->call)
        pairs_pop(builder, thread, true, end_ns);
    else
        stray(builder, thread, PAIR_FINE, end_ns);
}

static void gpu_work(struct pair_builder *builder, const struct pair_thread *thread,
                     const struct rbwp_record *record)
{
    struct record_pair pair = {.kind = PAIR_GPU,
                               .id = ++builder->next_id,
                               .thread_id = thread->thread_id,
                               .slot = record->slot,
                               .proc_id = record->proc_id,
                               .has_begin = true,
                               .has_end = true,
                               .begin_ns = record->start_ns,
                               .end_ns = record->stop_ns,
                               .record_ns = record->time_ns};
    builder->emit(builder->context, &pair);
}

static struct pair_thread *pairs_find_thread(struct pair_builder *builder, uint64_t thread_id)
{
    uint32_t number = thread_map_number(&builder->map, thread_id);
    if (number == THREAD_NONE ||
        !GROW_ZEROED(builder->threads, builder->thread_capacity, number + 1))
        return NULL;
    builder->threads[number].thread_id = thread_id;
    return &builder->threads[number];
}

/* A record of a kind with a small payload: item is its slot or sub-item. Inlined with -O2, too:
 * this and name_span are 4.5 % of the instructions of `rbwp stats`. */
__attribute__((always_inline)) static inline void take_small(struct pair_builder *builder,
                                                             struct pair_thread *thread,
                                                             uint8_t kind, uint16_t item,
                                                             int64_t time_ns)
{
    switch (kind) {
    case RBWP_COARSE_BEGIN:
        coarse_begin(builder, thread, item, time_ns);
        break;
    case RBWP_COARSE_END:
        coarse_end(builder, thread, time_ns);
        break;
    case RBWP_FINE_BEGIN:
        if (builder->open_total >= PAIRS_OPEN_MAX || thread->overflow ||
            !pairs_push(builder, thread, item, time_ns))
            overflow(builder, thread, item, time_ns);
        break;
    case RBWP_FINE_END:
        fine_end(builder, thread, time_ns);
        break;
    }
}

static void pairs_on_record(struct pair_builder *builder, struct pair_thread *thread,
                            const struct rbwp_record *record)
{
    if (record->kind == RBWP_GPU_WORK)
        gpu_work(builder, thread, record);
    else
        take_small(builder, thread, record->kind,
                   record->kind == RBWP_COARSE_BEGIN ? record->slot : record->sub_item,
                   record->time_ns);
}

/* Up to what the iterator is for: GPU work, and the last records. From byte to pair directly, which
 * is most of what a reader of pairs does. */
static void take_small_ones(struct pair_builder *builder, struct pair_thread *thread,
                            struct rbwp_record_iterator *iterator)
{
    const uint8_t *next = iterator->data + iterator->next, *end = iterator->data + iterator->end;
    int64_t time_ns = iterator->time_ns;
    while (end - next >= RBWP_RECORD_BYTES_MAX) {
        int64_t now_ns = time_ns;
        const uint8_t *body = next + record_time(next, &now_ns);
        if (*body == RBWP_GPU_WORK)
            break;
        const uint16_t item = *body == RBWP_COARSE_BEGIN ? body[1] : load_le16(body + 1);
        take_small(builder, thread, *body, item, now_ns);
        next = body + record_body_bytes[*body];
        time_ns = now_ns;
    }
    iterator->next = (uint32_t)(next - iterator->data);
    iterator->time_ns = time_ns;
}

/* ---- parts of a recording ------------------------------------------------------ */

void pair_builder_part(struct pair_builder *builder, enum pair_join join, int64_t cut_ns,
                       int64_t until_ns)
{
    builder->part++;
    builder->join = join;
    builder->cut_ns = cut_ns;
    builder->until_ns = until_ns;
    if (join == PAIR_JOIN_GAP)
        builder->after_gap = builder->part;
}

static const struct pair_tail *last_of(const struct pair_thread *thread)
{
    return &thread->tail[PAIR_TAIL - 1];
}

static bool is_begin(const struct rbwp_record *record)
{
    return record->kind == RBWP_COARSE_BEGIN || record->kind == RBWP_FINE_BEGIN;
}

static struct pair_tail tail_of(const struct rbwp_record *record)
{
    const uint16_t item = record->kind == RBWP_FINE_BEGIN ? record->sub_item
                          : is_begin(record)              ? record->slot
                                                          : 0;
    return (struct pair_tail){record->time_ns, item, record->kind};
}

static bool is_near(int64_t a_ns, int64_t b_ns)
{
    return a_ns - b_ns <= PAIR_JOIN_NS && b_ns - a_ns <= PAIR_JOIN_NS;
}

/* Whether the part before had the record. */
static bool came_before(struct pair_thread *thread, const struct rbwp_record *record)
{
    const struct pair_tail here = tail_of(record);
    for (uint32_t i = thread->tail_next; i < PAIR_TAIL; i++) {
        const struct pair_tail *tail = &thread->tail[i];
        if (tail->kind == here.kind && tail->item == here.item &&
            is_near(tail->time_ns, here.time_ns)) {
            thread->tail_next = i + 1;
            return true;
        }
    }
    return here.time_ns < last_of(thread)->time_ns - PAIR_JOIN_NS;
}

/* What ended at a cut ends there, but for the outermost `again` items. */
static void end_held(struct pair_builder *builder, struct pair_thread *thread, uint32_t again)
{
    uint32_t kept = thread->depth - thread->held;
    kept = again > kept ? again : kept;
    while (thread->depth > kept)
        pairs_pop(builder, thread, true, last_of(thread)->time_ns);
    thread->held = 0;
}

/* Whether it begins anew what is open. Behind a cut of spans that has the time of the cut. */
static bool begins_again(const struct pair_thread *thread, const struct rbwp_record *record)
{
    const bool coarse = record->kind == RBWP_COARSE_BEGIN;
    if (!is_begin(record) || thread->again == thread->depth)
        return false;
    const struct open_begin *open = &thread->open[thread->again];
    return is_call(thread, thread->again) == coarse &&
           open->item == (coarse ? record->slot : record->sub_item) &&
           (is_near(open->begin_ns, record->time_ns) ||
            (thread->held && record->time_ns == last_of(thread)->time_ns));
}

/* At the beginning of a part: false for what came before. */
static bool goes_on(struct pair_builder *builder, struct pair_thread *thread,
                    const struct rbwp_record *record)
{
    if (thread->met != builder->part)
        thread->tail_next = thread->again = 0;
    thread->met = builder->part;
    if (thread->part) {
        const bool before = builder->join == PAIR_JOIN_OVERLAP && came_before(thread, record);
        if (begins_again(thread, record)) {
            thread->again++;
            return false;
        }
        if (before)
            return false;
        end_held(builder, thread, thread->again);
        if (thread->part < builder->after_gap)
            abandon(builder, thread, thread->again);
    }
    thread->part = builder->part;
    return true;
}

/* An end at the cut that ends what is innermost. */
static bool is_held(const struct pair_builder *builder, const struct pair_thread *thread,
                    const struct rbwp_record *record)
{
    return record->time_ns == builder->cut_ns && thread->depth > thread->held &&
           !thread->overflow &&
           record->kind == (is_call(thread, thread->depth - thread->held - 1) ? RBWP_COARSE_END
                                                                              : RBWP_FINE_END);
}

static void take_joined(struct pair_builder *builder, struct pair_thread *thread,
                        const struct rbwp_record *record)
{
    if (record->time_ns > builder->until_ns ||
        (thread->part != builder->part && !goes_on(builder, thread, record)))
        return;
    memmove(thread->tail, thread->tail + 1, sizeof thread->tail - sizeof *thread->tail);
    thread->tail[PAIR_TAIL - 1] = tail_of(record);
    if (is_held(builder, thread, record)) {
        thread->held++;
        return;
    }
    if (thread->held)
        end_held(builder, thread, 0);
    pairs_on_record(builder, thread, record);
}

/* ---- blocks and records -------------------------------------------------------- */

void pair_builder_block(struct pair_builder *builder, const struct rbwp_block *block)
{
    struct pair_thread *thread = pairs_find_thread(builder, block->header.thread_id);
    if (!thread) {
        builder->failed = true;
        return;
    }
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    if (builder->part) {
        while (rbwp_record_next(&iterator, &record))
            take_joined(builder, thread, &record);
        return;
    }
    take_small_ones(builder, thread, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        pairs_on_record(builder, thread, &record);
        take_small_ones(builder, thread, &iterator);
    }
}

void pair_builder_record(struct pair_builder *builder, uint64_t thread_id,
                         const struct rbwp_record *record)
{
    struct pair_thread *thread = pairs_find_thread(builder, thread_id);
    if (thread)
        pairs_on_record(builder, thread, record);
    else
        builder->failed = true;
}

void pair_builder_break_thread(struct pair_builder *builder, uint32_t number)
{
    end_held(builder, &builder->threads[number], 0);
    abandon(builder, &builder->threads[number], 0);
}

void pair_builder_break(struct pair_builder *builder)
{
    for (uint32_t i = 0; i < builder->map.count && i < builder->thread_capacity; i++)
        pair_builder_break_thread(builder, i);
}

/* What was open before and is still keeps its number. */
static bool still_is(const struct pair_thread *thread, uint32_t index,
                     const struct rbwp_open_item *item)
{
    const struct open_begin *open = &thread->open[index];
    return index < thread->depth && open->begin_ns == item->begin_ns && open->item == item->id &&
           is_call(thread, index) == (item->kind == RBWP_COARSE_BEGIN);
}

static void forget(struct pair_builder *builder, struct pair_thread *thread, uint32_t index)
{
    builder->open_total -= thread->depth - index;
    thread->depth = index;
    thread->overflow = 0;
    if (thread->call > index)
        thread->call = 0;
}

/* The items of one thread. */
static bool pass_over_thread(struct pair_builder *builder, struct pair_thread *thread,
                             const struct rbwp_open_item *items, uint32_t count)
{
    uint32_t same = 0;
    while (same < count && same < thread->depth && still_is(thread, same, &items[same]))
        same++;
    forget(builder, thread, same);
    for (uint32_t i = same; i < count; i++) {
        if (!pairs_push(builder, thread, items[i].id, items[i].begin_ns))
            return false;
        if (items[i].kind == RBWP_COARSE_BEGIN)
            thread->call = thread->depth;
    }
    return true;
}

bool pair_builder_pass_over(struct pair_builder *builder, uint64_t ids,
                            const struct rbwp_open_item *open, uint32_t count)
{
    const uint64_t next_id = builder->next_id + ids;
    builder->passed++;
    for (uint32_t at = 0, end; at < count; at = end) {
        struct pair_thread *thread = pairs_find_thread(builder, open[at].thread_id);
        for (end = at; end < count && open[end].thread_id == open[at].thread_id;)
            end++;
        if (!thread || !pass_over_thread(builder, thread, open + at, end - at))
            return false;
        thread->passed = builder->passed;
    }
    for (uint32_t i = 0; i < builder->map.count && i < builder->thread_capacity; i++)
        if (builder->threads[i].passed != builder->passed)
            forget(builder, &builder->threads[i], 0);
    if (builder->next_id < next_id)
        builder->next_id = next_id;
    return true;
}

void pair_builder_finish(struct pair_builder *builder, pair_ran_fn *ran, void *context)
{
    for (uint32_t i = 0; i < builder->map.count && i < builder->thread_capacity; i++) {
        struct pair_thread *thread = &builder->threads[i];
        const uint32_t again = thread->met == builder->part ? thread->again : 0;
        end_held(builder, thread, again);
        if (thread->part < builder->after_gap)
            abandon(builder, thread, again);
        thread->overflow = 0;
        while (thread->depth > 0) {
            struct record_pair pair;
            innermost_pair(thread, &pair);
            pair.has_end = false;
            pair.end_ns = 0;
            pair.open = ran(context, thread->thread_id, pair.begin_ns, &pair.end_ns);
            if (pair.end_ns < pair.begin_ns)
                pair.end_ns = pair.begin_ns;
            pairs_leave(builder, thread, &pair);
        }
    }
}
