/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a buffer of lanes: from its header, from what the caller knows, and where neither
 * tells the dialect, from the tags: each dialect names the lane in other bits, so the right one
 * agrees with the slots where the records lie.
 */
#include "lane_layout.h"
#include "bytes.h"
#include "refuse.h"
#include "sized.h"
#include "ticks.h"

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
        return refuse(error, RBWP_E_CORRUPT,
                      "header: %u blocks of %u groups: this is no buffer of lanes, or it was never "
                      "initialised; give blocks and groups if they are known",
                      layout->num_blocks, layout->num_groups);
    if (!layout->stride)
        layout->stride = (uint32_t)lanes;
    if (layout->stride < lanes)
        return refuse(error, RBWP_E_INVALID,
                      "stride %u is less than %u blocks * %u groups: lanes would share slots",
                      layout->stride, layout->num_blocks, layout->num_groups);
    if (!layout->clock_hz)
        layout->clock_hz = TICKS_NS_HZ;
    if (layout->clock_hz > TICKS_HZ_MAX)
        return refuse(error, RBWP_E_CORRUPT, "header: a clock of %llu Hz",
                      (unsigned long long)layout->clock_hz);
    return RBWP_OK;
}

/* ---- writing ------------------------------------------------------------------ */

static enum rbwp_status take_own(struct rbwp_lanes_layout *own,
                                 const struct rbwp_lanes_layout *layout, struct rbwp_error *error)
{
    enum rbwp_status status = sized_take(own, sizeof *own, layout, "rbwp_lanes_layout", error);
    if (status != RBWP_OK)
        return status;
    if (own->dialect < RBWP_LANES_V1 || own->dialect > RBWP_LANES_V2 ||
        own->flags & ~(RBWP_LANES_CYCLES | RBWP_LANES_SHORT))
        return refuse(error, RBWP_E_INVALID, "layout: dialect %u, flags 0x%x are not known",
                      own->dialect, own->flags);
    if (own->generation > RBWP_LANES_GENERATIONS || (own->generation && record_bytes(own) != 16))
        return refuse(error, RBWP_E_INVALID,
                      "layout: generation %u: 1 to %u, in records of 16 bytes", own->generation,
                      RBWP_LANES_GENERATIONS);
    if (own->grid_y > UINT16_MAX || own->grid_z > UINT16_MAX)
        return refuse(error, RBWP_E_INVALID, "layout: a grid of %u x %u x %u blocks", own->grid_x,
                      own->grid_y, own->grid_z);
    status = complete(own, error);
    return status == RBWP_E_CORRUPT ? RBWP_E_INVALID : status;
}

uint64_t rbwp_lanes_bytes(const struct rbwp_lanes_layout *layout)
{
    struct rbwp_lanes_layout own;
    uint64_t slots;
    if (take_own(&own, layout, NULL) != RBWP_OK || !own.max_records)
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
    enum rbwp_status status = take_own(&own, layout, error);
    if (status != RBWP_OK)
        return status;
    if (bytes < header_bytes(&own))
        return refuse(error, RBWP_E_INVALID, "a header of %u bytes does not fit into %zu",
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
        return refuse(error, RBWP_E_INVALID,
                      "the header says %u blocks of %u groups, the caller %u of %u", blocks, groups,
                      layout->num_blocks, layout->num_groups);
    return RBWP_OK;
}

static enum rbwp_status read_long_header(struct rbwp_lanes_layout *layout, const uint8_t *from,
                                         size_t bytes, struct rbwp_error *error)
{
    if (bytes < RBWP_LANES_HEADER_BYTES)
        return refuse(error, RBWP_E_TRUNCATED, "cut inside the header, after %zu bytes", bytes);
    layout->dialect = RBWP_LANES_V2;
    layout->flags = load_le32(from + 12) & ((1u << GENERATION_SHIFT) - 1);
    layout->generation = load_le32(from + 12) >> GENERATION_SHIFT;
    if (load_le32(from + 8) != 2 || layout->flags & ~(RBWP_LANES_CYCLES | RBWP_LANES_SHORT) ||
        (layout->generation && layout->flags & RBWP_LANES_SHORT))
        return refuse(error, RBWP_E_VERSION,
                      "header: version %u, flags 0x%x: made by a later version, or damaged",
                      load_le32(from + 8), load_le32(from + 12));
    if (!agrees(&layout->num_blocks, load_le32(from + 16)) ||
        !agrees(&layout->num_groups, load_le32(from + 20)) ||
        !agrees(&layout->stride, load_le32(from + 24)) ||
        !agrees(&layout->max_records, load_le32(from + 28)))
        return refuse(error, RBWP_E_INVALID,
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

static enum rbwp_status read_header(struct rbwp_lanes_layout *layout, const void *buffer,
                                    size_t bytes, struct rbwp_error *error)
{
    bool magic = bytes >= 8 && memcmp(buffer, RBWP_LANES_MAGIC, 8) == 0;
    if (bytes < 16)
        return refuse(error, RBWP_E_TRUNCATED, "%zu bytes: a buffer of lanes has at least 16",
                      bytes);
    if (layout->dialect > RBWP_LANES_V2)
        return refuse(error, RBWP_E_INVALID, "dialect %u is not known", layout->dialect);
    if (magic && (layout->dialect == RBWP_LANES_V2 || layout->dialect == RBWP_LANES_AUTO))
        return read_long_header(layout, buffer, bytes, error);
    if (layout->dialect == RBWP_LANES_V2)
        return refuse(error, RBWP_E_CORRUPT, "the buffer does not begin with " RBWP_LANES_MAGIC);
    return read_short_header(layout, load_le64(buffer), error);
}

enum rbwp_status lane_slots_find(struct lane_slots *slots, const void *buffer, size_t bytes,
                                 const struct rbwp_lanes_layout *wanted, struct rbwp_error *error)
{
    struct rbwp_lanes_layout *layout = &slots->layout;
    enum rbwp_status status = RBWP_OK;
    *slots = (struct lane_slots){0};
    if (wanted)
        status = sized_take(layout, sizeof *layout, wanted, "rbwp_lanes_layout", error);
    if (status == RBWP_OK)
        status = read_header(layout, buffer, bytes, error);
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
        return refuse(error, RBWP_E_TRUNCATED,
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
