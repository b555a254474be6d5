/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of lanes into spans.
 *
 * The buffer is read row by row, as it lies: slot k of all lanes, then slot k + 1. A lane's state
 * is small, so that those of a launch stay in the cache while the buffer streams through. What is
 * open in a lane is a list, newest first, of nodes that all lanes share; an end takes the newest
 * begin of its event. The list is bounded: noise must not make an end look through millions.
 */
#include "bytes.h"
#include "failure.h"
#include "grow.h"
#include "rbwp_lanes.h"
#include "ticks.h"

#include <stdlib.h>

/* ---- where the records of a buffer of lanes lie ---------------------------------------------- */
/*
 * The layout of a buffer of lanes: from its header, from what the caller knows, and where neither
 * finds the dialect, from the tags: each dialect names the lane in other bits, so the right one
 * agrees with the slots where the records lie.
 */

/* A layout that was found, all of it known but for what 0 stands for in the anchors and the grid.
 */
struct lane_slots {
    struct rbwp_lanes_layout layout; /* max_records 0: as many as there are */
    const uint8_t *records;          /* the first slot */
    uint64_t count;                  /* slots, as many as there are whole */
    uint64_t lanes;                  /* blocks * groups */
    uint32_t record_bytes;           /* 8 or 16 */
    bool cut;                        /* the header says that there are more */
};

#define SAMPLES 4096u       /* records that are looked at for their dialect */
#define GENERATION_SHIFT 24 /* in the flags of version 2's header */

static uint32_t record_bytes(const struct rbwp_lanes_layout *layout)
{
    return layout->dialect == RBWP_LANES_V2 && !(layout->flags & RBWP_LANES_SHORT) ? 16 : 8;
}

static uint32_t header_bytes(const struct rbwp_lanes_layout *layout)
{
    return layout->dialect == RBWP_LANES_V2 ? RBWP_LANES_HEADER_BYTES : 8;
}

static uint64_t lane_count(const struct rbwp_lanes_layout *layout)
{
    return (uint64_t)layout->num_blocks * layout->num_groups;
}

/* Puts in what 0 stands for, and says whether it can be. */
static enum rbwp_status complete(struct rbwp_lanes_layout *layout, struct rbwp_error *error)
{
    uint64_t lanes = lane_count(layout);
    if (!lanes || lanes > UINT32_MAX)
        return failure(
            error, RBWP_E_CORRUPT, 0,
            "header: %u blocks of %u groups: this is no buffer of lanes, or it was never "
            "initialised; give blocks and groups if they are known",
            layout->num_blocks, layout->num_groups);
    if (!layout->stride)
        layout->stride = (uint32_t)lanes;
    if (layout->stride < lanes)
        return failure(error, RBWP_E_INVALID, 0,
                       "stride %u is less than %u blocks * %u groups: lanes would share slots",
                       layout->stride, layout->num_blocks, layout->num_groups);
    if (!layout->clock_hz)
        layout->clock_hz = TICKS_NS_HZ;
    if (layout->clock_hz > TICKS_HZ_MAX)
        return failure(error, RBWP_E_CORRUPT, 0, "header: a clock of %llu Hz",
                       (unsigned long long)layout->clock_hz);
    return RBWP_OK;
}

/* ---- writing ------------------------------------------------------------------ */

static enum rbwp_status lane_decode_take_own(struct rbwp_lanes_layout *own,
                                             const struct rbwp_lanes_layout *layout,
                                             struct rbwp_error *error)
{
    enum rbwp_status status = sized_take(own, sizeof *own, layout, "rbwp_lanes_layout", error);
    if (status != RBWP_OK)
        return status;
    if (own->dialect < RBWP_LANES_V1 || own->dialect > RBWP_LANES_V2 ||
        own->flags & ~(RBWP_LANES_CYCLES | RBWP_LANES_SHORT))
        return failure(error, RBWP_E_INVALID, 0, "layout: dialect %u, flags 0x%x are not known",
                       own->dialect, own->flags);
    if (own->generation > RBWP_LANES_GENERATIONS || (own->generation && record_bytes(own) != 16))
        return failure(error, RBWP_E_INVALID, 0,
                       "layout: generation %u: 1 to %u, in records of 16 bytes", own->generation,
                       RBWP_LANES_GENERATIONS);
    if (own->grid_y > UINT16_MAX || own->grid_z > UINT16_MAX)
        return failure(error, RBWP_E_INVALID, 0, "layout: a grid of %u x %u x %u blocks",
                       own->grid_x, own->grid_y, own->grid_z);
    status = complete(own, error);
    return status == RBWP_E_CORRUPT ? RBWP_E_INVALID : status;
}

uint64_t rbwp_lanes_bytes(const struct rbwp_lanes_layout *layout)
{
    struct rbwp_lanes_layout own;
    uint64_t slots;
    if (lane_decode_take_own(&own, layout, NULL) != RBWP_OK || !own.max_records)
        return 0;
    slots = (uint64_t)own.stride * own.max_records; /* both 32 bits: no overflow */
    if (slots > (UINT64_MAX >> 1) / record_bytes(&own))
        return 0;
    return header_bytes(&own) + slots * record_bytes(&own);
}

static void write_long_header(const struct rbwp_lanes_layout *layout, uint8_t *to)
{
    memcpy(to, RBWP_LANES_MAGIC, 8);
    store_le32(to + 8, 2);
    store_le32(to + 12, layout->flags | layout->generation << GENERATION_SHIFT);
    store_le32(to + 16, layout->num_blocks);
    store_le32(to + 20, layout->num_groups);
    store_le32(to + 24, layout->stride);
    store_le32(to + 28, layout->max_records);
    store_le64(to + 32, layout->clock_hz);
    store_le64(to + RBWP_LANES_ANCHOR_OFFSET, layout->anchor_device);
    store_le64(to + 48, layout->anchor_host_ns);
    store_le32(to + 56, layout->grid_x);
    store_le16(to + 60, (uint16_t)layout->grid_y);
    store_le16(to + 62, (uint16_t)layout->grid_z);
}

enum rbwp_status rbwp_lanes_write_header(const struct rbwp_lanes_layout *layout, void *memory,
                                         size_t bytes, struct rbwp_error *error)
{
    struct rbwp_lanes_layout own;
    enum rbwp_status status = lane_decode_take_own(&own, layout, error);
    if (status != RBWP_OK)
        return status;
    if (bytes < header_bytes(&own))
        return failure(error, RBWP_E_INVALID, 0, "a header of %u bytes does not fit into %zu",
                       header_bytes(&own), bytes);
    if (own.dialect == RBWP_LANES_V2)
        write_long_header(&own, memory);
    else
        store_le64(memory, (uint64_t)own.num_groups << 32 | own.num_blocks);
    return RBWP_OK;
}

/* ---- reading ------------------------------------------------------------------- */

/* A number of the header that the caller knows too. */
static bool agrees(uint32_t *wanted, uint32_t found)
{
    if (!*wanted)
        *wanted = found;
    return !found || *wanted == found;
}

static enum rbwp_status read_short_header(struct rbwp_lanes_layout *layout, uint64_t word,
                                          struct rbwp_error *error)
{
    uint32_t blocks = (uint32_t)word, groups = (uint32_t)(word >> 32);
    if (!agrees(&layout->num_blocks, blocks) || !agrees(&layout->num_groups, groups))
        return failure(error, RBWP_E_INVALID, 0,
                       "the header says %u blocks of %u groups, the caller %u of %u", blocks,
                       groups, layout->num_blocks, layout->num_groups);
    return RBWP_OK;
}

static enum rbwp_status read_long_header(struct rbwp_lanes_layout *layout, const uint8_t *from,
                                         size_t bytes, struct rbwp_error *error)
{
    if (bytes < RBWP_LANES_HEADER_BYTES)
        return failure(error, RBWP_E_TRUNCATED, 0, "cut inside the header, after %zu bytes", bytes);
    layout->dialect = RBWP_LANES_V2;
    layout->flags = load_le32(from + 12) & ((1u << GENERATION_SHIFT) - 1);
    layout->generation = load_le32(from + 12) >> GENERATION_SHIFT;
    if (load_le32(from + 8) != 2 || layout->flags & ~(RBWP_LANES_CYCLES | RBWP_LANES_SHORT) ||
        (layout->generation && layout->flags & RBWP_LANES_SHORT))
        return failure(error, RBWP_E_VERSION, 0,
                       "header: version %u, flags 0x%x: made by a later version, or damaged",
                       load_le32(from + 8), load_le32(from + 12));
    if (!agrees(&layout->num_blocks, load_le32(from + 16)) ||
        !agrees(&layout->num_groups, load_le32(from + 20)) ||
        !agrees(&layout->stride, load_le32(from + 24)) ||
        !agrees(&layout->max_records, load_le32(from + 28)))
        return failure(error, RBWP_E_INVALID, 0,
                       "the header says %u blocks of %u groups, stride %u, %u records: the caller "
                       "says otherwise",
                       load_le32(from + 16), load_le32(from + 20), load_le32(from + 24),
                       load_le32(from + 28));
    layout->clock_hz = layout->clock_hz ? layout->clock_hz : load_le64(from + 32);
    layout->anchor_device =
        layout->anchor_device ? layout->anchor_device : load_le64(from + RBWP_LANES_ANCHOR_OFFSET);
    layout->anchor_host_ns = layout->anchor_host_ns ? layout->anchor_host_ns : load_le64(from + 48);
    layout->grid_x = load_le32(from + 56);
    layout->grid_y = load_le16(from + 60);
    layout->grid_z = load_le16(from + 62);
    return RBWP_OK;
}

/* The dialect whose tags agree most often with where the records lie; of equal ones version 1. */
static uint32_t guess_dialect(const struct lane_slots *slots)
{
    const struct rbwp_lanes_layout *layout = &slots->layout;
    uint32_t agreeing[RBWP_LANES_V2] = {0}, best = RBWP_LANES_V1, seen = 0;
    static const uint32_t masks[] = {0, 0xfffff, 0xfff, 0xff};
    for (uint64_t i = 0; i < slots->count && seen < SAMPLES; i++) {
        uint64_t word = load_le64(slots->records + i * 8);
        uint64_t lane = i % layout->stride;
        if (!word || lane >= slots->lanes)
            continue;
        seen++;
        for (uint32_t dialect = RBWP_LANES_V1; dialect < RBWP_LANES_V2; dialect++) {
            struct rbwp_lanes_tag tag;
            rbwp_lanes_tag_parts(dialect, (uint32_t)word, &tag);
            uint64_t there = dialect == RBWP_LANES_FLASHINFER ? lane / layout->num_groups : lane;
            agreeing[dialect] += tag.lane == (there & masks[dialect]);
        }
    }
    for (uint32_t dialect = RBWP_LANES_FLASHINFER; dialect < RBWP_LANES_V2; dialect++)
        best = agreeing[dialect] > agreeing[best] ? dialect : best;
    return best;
}

static enum rbwp_status lane_decode_read_header(struct rbwp_lanes_layout *layout,
                                                const void *buffer, size_t bytes,
                                                struct rbwp_error *error)
{
    bool magic = bytes >= 8 && memcmp(buffer, RBWP_LANES_MAGIC, 8) == 0;
    if (bytes < 16)
        return failure(error, RBWP_E_TRUNCATED, 0, "%zu bytes: a buffer of lanes has at least 16",
                       bytes);
    if (layout->dialect > RBWP_LANES_V2)
        return failure(error, RBWP_E_INVALID, 0, "dialect %u is not known", layout->dialect);
    if (magic && (layout->dialect == RBWP_LANES_V2 || layout->dialect == RBWP_LANES_AUTO))
        return read_long_header(layout, buffer, bytes, error);
    if (layout->dialect == RBWP_LANES_V2)
        return failure(error, RBWP_E_CORRUPT, 0,
                       "the buffer does not begin with " RBWP_LANES_MAGIC);
    return read_short_header(layout, load_le64(buffer), error);
}

static enum rbwp_status lane_slots_find(struct lane_slots *slots, const void *buffer, size_t bytes,
                                        const struct rbwp_lanes_layout *wanted,
                                        struct rbwp_error *error)
{
    struct rbwp_lanes_layout *layout = &slots->layout;
    enum rbwp_status status = RBWP_OK;
    *slots = (struct lane_slots){0};
    if (wanted)
        status = sized_take(layout, sizeof *layout, wanted, "rbwp_lanes_layout", error);
    if (status == RBWP_OK)
        status = lane_decode_read_header(layout, buffer, bytes, error);
    if (status == RBWP_OK)
        status = complete(layout, error);
    if (status != RBWP_OK)
        return status;
    slots->lanes = lane_count(layout);
    slots->record_bytes = record_bytes(layout);
    slots->records = (const uint8_t *)buffer + header_bytes(layout);
    slots->count = (bytes - header_bytes(layout)) / slots->record_bytes;
    slots->cut = (bytes - header_bytes(layout)) % slots->record_bytes != 0 ||
                 (uint64_t)layout->stride * layout->max_records > slots->count;
    if (slots->lanes > slots->count)
        return failure(
            error, RBWP_E_TRUNCATED, 0,
            "header: %u blocks of %u groups, but there is room for %llu records: this is "
            "no buffer of lanes, or it is cut",
            layout->num_blocks, layout->num_groups, (unsigned long long)slots->count);
    if (layout->dialect == RBWP_LANES_AUTO)
        layout->dialect = guess_dialect(slots);
    return RBWP_OK;
}

enum rbwp_status rbwp_lanes_find_layout(const void *buffer, size_t bytes,
                                        const struct rbwp_lanes_layout *wanted,
                                        struct rbwp_lanes_layout *layout_out,
                                        struct rbwp_error *error)
{
    struct lane_slots slots;
    size_t size = layout_out->size;
    enum rbwp_status status = lane_slots_find(&slots, buffer, bytes, wanted, error);
    if (status == RBWP_OK) {
        sized_give(layout_out, size, &slots.layout, sizeof slots.layout);
        layout_out->size = size;
    }
    return status;
}

/* ---- lane decode ----------------------------------------------------------------------------- */

#define OPEN_MAX 64u           /* begins open in a lane */
#define LANE_DECODE_BATCH 256u /* spans handed out at a time */
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
    struct rbwp_lane_span batch[LANE_DECODE_BATCH];
};

/* ---- spans out ---------------------------------------------------------------- */

static void lane_decode_pass_batch(struct decoder *decoder)
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
    if (++decoder->batched == LANE_DECODE_BATCH)
        lane_decode_pass_batch(decoder);
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

static void lane_decode_begin(struct decoder *decoder, uint64_t number, struct lane *lane,
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

static void lane_decode_end(struct decoder *decoder, uint64_t number, struct lane *lane,
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
        lane_decode_begin(decoder, number, lane, &record);
        break;
    case RBWP_LANES_END:
        lane_decode_end(decoder, number, lane, &record);
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
    lane_decode_pass_batch(decoder);
}

static enum rbwp_status lane_decode_decode(struct decoder *decoder, struct rbwp_error *error)
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
        return failure(error, RBWP_E_MEMORY, 0, "no memory for %llu lanes and what is open in them",
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
        return failure(error, status, 0, "no memory to decode lanes");
    }
    decoder->take = take;
    decoder->context = context;
    status = lane_slots_find(&decoder->slots, buffer, bytes, wanted, error);
    if (status == RBWP_OK) {
        decoder->dialect = decoder->slots.layout.dialect;
        decoder->wide = decoder->slots.record_bytes == 16;
        decoder->generation = decoder->slots.layout.generation;
        status = lane_decode_decode(decoder, error);
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
        status =
            failure(error, RBWP_E_LIMIT, 0, "there is room for %zu spans, and more came", room);
    return status;
}
