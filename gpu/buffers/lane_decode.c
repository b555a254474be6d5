/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of lanes into spans.
 *
 * The buffer is read row by row, as it lies: slot k of all lanes, then slot k + 1. A lane's state
 * is small, so that those of a launch stay in the cache while the buffer streams through. What is
 * open in a lane is a list, newest first, of nodes that all lanes share; an end takes the newest
 * begin of its event. The list is bounded: noise must not make an end look through millions.
 */
#include "lane_layout.h"
#include "bytes.h"
#include "grow.h"
#include "refuse.h"
#include "sized.h"
#include "ticks.h"

#include <stdlib.h>

#define OPEN_MAX 64u /* begins open in a lane */
#define BATCH 256u   /* spans handed out at a time */
#define NO_NODE 0u

enum { LANE_USED = 1, LANE_GAP = 2, LANE_FINAL = 4 };

struct lane {
    int64_t ticks; /* of its last record */
    uint32_t low;  /* the same as its record has it, where that is 32 bits */
    uint32_t open; /* its newest begin, NO_NODE none */
    uint8_t depth, flags;
};

/* A begin that waits for its end. */
struct node {
    int64_t ticks;
    uint32_t key;
    uint32_t next; /* the one before it, or the next free node */
};

/* A slot that is not empty. */
struct record {
    int64_t ticks;
    uint32_t key; /* what begin and end have in common: event, and a task's number */
    uint32_t type;
    uint32_t sm, warp;
    uint32_t upper; /* version 2: the second word's upper half */
};

struct decoder {
    struct lane_slots slots;
    uint32_t dialect;
    bool wide;           /* records of 16 bytes */
    uint32_t generation; /* that they must have; 0: any */
    int64_t zero;        /* ticks of the low word's 0, where times are 32 bits */
    uint32_t zero_low;
    struct lane *lanes;
    struct node *nodes; /* node 0 is nobody's */
    uint32_t node_count, node_room, free_node;
    struct rbwp_lanes_stats stats;
    rbwp_lane_spans_fn take;
    void *context;
    enum rbwp_status status;
    uint32_t batched;
    struct rbwp_lane_span batch[BATCH];
};

/* ---- spans out ---------------------------------------------------------------- */

static void pass_batch(struct decoder *decoder)
{
    if (decoder->batched && decoder->take && decoder->status == RBWP_OK &&
        !decoder->take(decoder->context, decoder->batch, decoder->batched))
        decoder->status = RBWP_END;
    decoder->batched = 0;
}

static void emit(struct decoder *decoder, uint64_t number, int64_t start, int64_t stop,
                 const struct record *record, enum rbwp_lane_kind kind)
{
    const struct rbwp_lanes_layout *layout = &decoder->slots.layout;
    struct rbwp_lane_span *span = &decoder->batch[decoder->batched];
    int64_t start_ns = ticks_ns(start, layout->clock_hz);
    int64_t stop_ns = ticks_ns(stop < start ? start : stop, layout->clock_hz);
    if (kind != RBWP_LANE_STRAY_END) {
        struct rbwp_lanes_stats *stats = &decoder->stats;
        bool first = stats->spans + stats->instants + stats->unended == 0;
        stats->first_ns = first || start_ns < stats->first_ns ? start_ns : stats->first_ns;
        stats->last_ns = first || stop_ns > stats->last_ns ? stop_ns : stats->last_ns;
    }
    *span = (struct rbwp_lane_span){
        .start_ns = start_ns,
        .stop_ns = stop_ns,
        .block = (uint32_t)number / layout->num_groups,
        .group = (uint32_t)number % layout->num_groups,
        .event = record->key % RBWP_LANES_EVENTS,
        .task = record->key / RBWP_LANES_EVENTS,
        .sm = record->sm,
        .kind = (uint8_t)kind,
        .warp = (uint8_t)record->warp,
    };
    if (++decoder->batched == BATCH)
        pass_batch(decoder);
}

/* ---- begins and ends ------------------------------------------------------------ */

static bool new_node(struct decoder *decoder, uint32_t *node_out)
{
    uint32_t node = decoder->free_node;
    if (node) {
        decoder->free_node = decoder->nodes[node].next;
    } else {
        node = decoder->node_count;
        if (!grow_array32(&decoder->nodes, &decoder->node_room, node + 1, sizeof *decoder->nodes))
            return false;
        decoder->node_count++;
    }
    *node_out = node;
    return true;
}

/* Takes a node out of the list, where link points to it. */
static struct node drop_node(struct decoder *decoder, struct lane *lane, uint32_t *link)
{
    uint32_t number = *link;
    struct node node = decoder->nodes[number];
    *link = node.next;
    decoder->nodes[number].next = decoder->free_node;
    decoder->free_node = number;
    lane->depth--;
    return node;
}

static void end_unended(struct decoder *decoder, uint64_t number, struct lane *lane, uint32_t *link)
{
    struct node node = drop_node(decoder, lane, link);
    struct record none = {.key = node.key, .sm = RBWP_LANES_SM_UNKNOWN};
    emit(decoder, number, node.ticks, lane->ticks, &none, RBWP_LANE_UNENDED);
    decoder->stats.unended++;
}

static void give_oldest_up(struct decoder *decoder, uint64_t number, struct lane *lane)
{
    uint32_t *link = &lane->open;
    while (decoder->nodes[*link].next)
        link = &decoder->nodes[*link].next;
    end_unended(decoder, number, lane, link);
    decoder->stats.too_deep++;
}

static void begin(struct decoder *decoder, uint64_t number, struct lane *lane,
                  const struct record *record)
{
    uint32_t node;
    if (lane->depth == OPEN_MAX)
        give_oldest_up(decoder, number, lane);
    if (!new_node(decoder, &node)) {
        decoder->status = RBWP_E_MEMORY;
        return;
    }
    decoder->nodes[node] =
        (struct node){.ticks = record->ticks, .key = record->key, .next = lane->open};
    lane->open = node;
    lane->depth++;
    if (lane->depth > decoder->stats.deepest)
        decoder->stats.deepest = lane->depth;
}

static void end(struct decoder *decoder, uint64_t number, struct lane *lane,
                const struct record *record)
{
    uint32_t *link = &lane->open;
    while (*link && decoder->nodes[*link].key != record->key)
        link = &decoder->nodes[*link].next;
    if (!*link) {
        decoder->stats.stray_ends++;
        emit(decoder, number, record->ticks, record->ticks, record, RBWP_LANE_STRAY_END);
        return;
    }
    struct node node = drop_node(decoder, lane, link);
    emit(decoder, number, node.ticks, record->ticks, record, RBWP_LANE_SPAN);
    decoder->stats.spans++;
}

static void instant(struct decoder *decoder, uint64_t number, const struct record *record)
{
    if (record->key == RBWP_LANES_HEARTBEAT) {
        decoder->stats.heartbeats++;
        return;
    }
    emit(decoder, number, record->ticks, record->ticks, record, RBWP_LANE_INSTANT);
    decoder->stats.instants++;
}

/* Without a field of its own for it, version 1 may put the number dropped where events stand. */
static void finalize(struct decoder *decoder, struct lane *lane, const struct record *record)
{
    lane->flags |= LANE_FINAL;
    decoder->stats.finalized++;
    decoder->stats.dropped += !decoder->wide        ? record->key
                              : decoder->generation ? record->upper & 0xffffff
                                                    : record->upper;
}

/* ---- times ---------------------------------------------------------------------- */

/* A low word as ticks: it is less than half a round away from the record before it, or from the
 * zero of all lanes. */
static int64_t unwrap(const struct lane *lane, uint32_t low)
{
    return (int64_t)((uint64_t)lane->ticks + (uint64_t)(int64_t)(int32_t)(low - lane->low));
}

/* The zero of times of 32 bits: the anchor, or else the earliest first record of a lane. */
static void find_zero(struct decoder *decoder)
{
    const struct lane_slots *slots = &decoder->slots;
    bool any = false;
    uint32_t reference = 0;
    int32_t least = 0;
    decoder->zero = (int64_t)slots->layout.anchor_device;
    decoder->zero_low = (uint32_t)slots->layout.anchor_device;
    if (decoder->wide || decoder->zero)
        return;
    for (uint64_t i = 0; i < slots->lanes; i++) {
        uint64_t word = load_le64(slots->records + i * 8);
        uint32_t low = (uint32_t)(word >> 32);
        if (!word)
            continue;
        if (!any)
            reference = low;
        any = true;
        if ((int32_t)(low - reference) < least)
            least = (int32_t)(low - reference);
    }
    decoder->zero_low = reference + (uint32_t)least;
}

/* ---- records in ------------------------------------------------------------------- */

/* A wide record's generation stands in its last byte. */
static inline bool is_stale(const struct decoder *decoder, uint64_t second)
{
    return decoder->generation && second >> 56 != decoder->generation;
}

/* The slot as a record. False: it is empty. */
static inline bool read_slot(struct decoder *decoder, uint64_t slot, uint64_t number,
                             const struct lane *lane, struct record *record)
{
    const struct lane_slots *slots = &decoder->slots;
    const uint8_t *at = slots->records + slot * slots->record_bytes;
    uint64_t word = load_le64(at), there = number;
    struct rbwp_lanes_tag tag;
    uint32_t mask = 0xfffff;
    if (!word)
        return false;
    *record = (struct record){.sm = RBWP_LANES_SM_UNKNOWN};
    if (decoder->wide) {
        uint64_t second = load_le64(at + 8);
        if (is_stale(decoder, second)) {
            decoder->stats.stale++;
            return false;
        }
        record->ticks = word > INT64_MAX ? INT64_MAX : (int64_t)word;
        record->upper = (uint32_t)(second >> 32);
        record->sm = record->upper & 0xffff;
        record->warp = record->upper >> 16 & 0xff;
        word = second;
    } else {
        record->ticks = unwrap(lane, (uint32_t)(word >> 32));
    }
    rbwp_lanes_tag_parts(decoder->dialect, (uint32_t)word, &tag);
    if (decoder->dialect == RBWP_LANES_FLASHINFER) {
        there = number / slots->layout.num_groups;
        mask = 0xfff;
        if (slots->layout.num_blocks <= mask + 1) /* else the block's bits run into it */
            record->sm = tag.sm;
    } else if (decoder->dialect == RBWP_LANES_MIRAGE) {
        mask = 0xff;
    }
    decoder->stats.misplaced += tag.lane != (there & mask);
    record->key = tag.task * RBWP_LANES_EVENTS + tag.event;
    record->type = tag.type;
    return true;
}

/* What a record says of the lane before it is looked at itself. False: it does not count. */
static bool note_record(struct decoder *decoder, struct lane *lane, const struct record *record,
                        bool last)
{
    struct rbwp_lanes_stats *stats = &decoder->stats;
    bool reserved = last && record->type == RBWP_LANES_FINALIZE; /* its place, however few came */
    stats->records++;
    if (lane->flags & LANE_GAP && !reserved)
        stats->holes++;
    if (last && (!reserved || !(lane->flags & LANE_GAP)))
        stats->full++;
    if (lane->flags & LANE_FINAL) {
        stats->after_finalize++;
        return false;
    }
    if (!(lane->flags & LANE_USED))
        stats->lanes++;
    else if (record->ticks < lane->ticks)
        stats->backwards++;
    return true;
}

static inline void take_slot(struct decoder *decoder, uint64_t slot, uint64_t number, bool last)
{
    struct lane *lane = &decoder->lanes[number];
    struct record record;
    if (!read_slot(decoder, slot, number, lane, &record)) {
        lane->flags |= LANE_GAP;
        return;
    }
    bool counts = note_record(decoder, lane, &record, last);
    lane->flags = (uint8_t)((lane->flags & ~LANE_GAP) | LANE_USED);
    if (!counts)
        return;
    lane->low += (uint32_t)record.ticks - (uint32_t)lane->ticks;
    lane->ticks = record.ticks;
    switch (record.type) {
    case RBWP_LANES_BEGIN:
        begin(decoder, number, lane, &record);
        break;
    case RBWP_LANES_END:
        end(decoder, number, lane, &record);
        break;
    case RBWP_LANES_INSTANT:
        instant(decoder, number, &record);
        break;
    default:
        finalize(decoder, lane, &record);
    }
}

/* Slots that no lane has. */
static void look_outside(struct decoder *decoder, uint64_t from, uint64_t to)
{
    const struct lane_slots *slots = &decoder->slots;
    for (uint64_t i = from; i < to; i++) {
        const uint8_t *at = slots->records + i * slots->record_bytes;
        decoder->stats.outside +=
            load_le64(at) && !(decoder->wide && is_stale(decoder, load_le64(at + 8)));
    }
}

static void read_rows(struct decoder *decoder)
{
    const struct lane_slots *slots = &decoder->slots;
    uint64_t stride = slots->layout.stride, most = slots->layout.max_records;
    uint64_t rows = slots->count / stride + (slots->count % stride != 0), row = 0;
    for (; row < rows && (!most || row < most) && decoder->status == RBWP_OK; row++) {
        uint64_t from = row * stride, left = slots->count - from;
        uint64_t lanes = slots->lanes < left ? slots->lanes : left;
        for (uint64_t i = 0; i < lanes; i++)
            take_slot(decoder, from + i, i,
                      most ? row + 1 == most : from + i + stride >= slots->count);
        look_outside(decoder, from + lanes, from + (stride < left ? stride : left));
    }
    if (row < rows && decoder->status == RBWP_OK)
        look_outside(decoder, row * stride, slots->count);
}

static void end_all(struct decoder *decoder)
{
    for (uint64_t i = 0; i < decoder->slots.lanes; i++)
        while (decoder->lanes[i].open)
            end_unended(decoder, i, &decoder->lanes[i], &decoder->lanes[i].open);
    pass_batch(decoder);
}

static enum rbwp_status decode(struct decoder *decoder, struct rbwp_error *error)
{
    decoder->lanes = calloc((size_t)decoder->slots.lanes, sizeof *decoder->lanes);
    if (decoder->lanes &&
        grow_array32(&decoder->nodes, &decoder->node_room, 1024, sizeof *decoder->nodes)) {
        decoder->node_count = NO_NODE + 1;
        find_zero(decoder);
        for (uint64_t i = 0; i < decoder->slots.lanes; i++)
            decoder->lanes[i] = (struct lane){.ticks = decoder->zero, .low = decoder->zero_low};
        read_rows(decoder);
        end_all(decoder);
    } else {
        decoder->status = RBWP_E_MEMORY;
    }
    decoder->stats.cut = decoder->slots.cut;
    decoder->stats.absolute = decoder->wide || decoder->slots.layout.anchor_device;
    if (decoder->status == RBWP_E_MEMORY)
        return refuse(error, RBWP_E_MEMORY, "no memory for %llu lanes and what is open in them",
                      (unsigned long long)decoder->slots.lanes);
    return decoder->status;
}

enum rbwp_status rbwp_lanes_decode_sized(const void *buffer, size_t bytes,
                                         const struct rbwp_lanes_layout *wanted,
                                         rbwp_lane_spans_fn take, void *context,
                                         struct rbwp_lanes_stats *stats_out, size_t stats_bytes,
                                         struct rbwp_error *error)
{
    struct decoder *decoder = calloc(1, sizeof *decoder);
    enum rbwp_status status = RBWP_E_MEMORY;
    if (!decoder) {
        memset(stats_out, 0, stats_bytes);
        return refuse(error, status, "no memory to decode lanes");
    }
    decoder->take = take;
    decoder->context = context;
    status = lane_slots_find(&decoder->slots, buffer, bytes, wanted, error);
    if (status == RBWP_OK) {
        decoder->dialect = decoder->slots.layout.dialect;
        decoder->wide = decoder->slots.record_bytes == 16;
        decoder->generation = decoder->slots.layout.generation;
        status = decode(decoder, error);
    }
    sized_give(stats_out, stats_bytes, &decoder->stats, sizeof decoder->stats);
    free(decoder->lanes);
    free(decoder->nodes);
    free(decoder);
    return status;
}

/* ---- into an array ----------------------------------------------------------------- */

struct array {
    struct rbwp_lane_span *spans;
    size_t count, room;
    bool full;
};

static bool take_into(void *context, const struct rbwp_lane_span *spans, size_t count)
{
    struct array *array = context;
    size_t fit = array->room - array->count;
    if (count > fit)
        array->full = true;
    fit = count < fit ? count : fit;
    if (fit)
        memcpy(array->spans + array->count, spans, fit * sizeof *spans);
    array->count += fit;
    return !array->full;
}

enum rbwp_status rbwp_lanes_decode_array_sized(const void *buffer, size_t bytes,
                                               const struct rbwp_lanes_layout *wanted,
                                               struct rbwp_lane_span *spans, size_t room,
                                               size_t *count_out,
                                               struct rbwp_lanes_stats *stats_out,
                                               size_t stats_bytes, struct rbwp_error *error)
{
    struct array array = {.spans = spans, .room = room};
    enum rbwp_status status = rbwp_lanes_decode_sized(buffer, bytes, wanted, take_into, &array,
                                                      stats_out, stats_bytes, error);
    *count_out = array.count;
    if (status == RBWP_END)
        status = refuse(error, RBWP_E_LIMIT, "there is room for %zu spans, and more came", room);
    return status;
}
