/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_lanes.h - lane records: what the warps of a kernel noted in a buffer, and how to read it.
 *
 * A lane is one writer inside a kernel: a group (of warps) of a block. It has its own slots in a
 * buffer of device memory, where its leading thread stores a record for each begin, end and instant
 * and a last one, "finalize". Lane L = block * groups + group; its record k lies in slot
 * L + k * stride behind the header, so that slot 0 of all lanes comes first, then slot 1 ...; an
 * empty slot is 0.
 *
 *     version 1: u64 header (groups << 32 | blocks), then u64 records: the timer's low word << 32 |
 *                tag; the tag is lane << 12 | event << 2 | type
 *     flashinfer: the same, but the tag is sm << 24 | block << 12 | event << 2 | type, and there is
 *                no finalize
 *     mirage:    the same, but the tag is task << 19 | lane << 11 | event << 2 | type
 *     version 2: a header of 64 bytes (struct rbwp_lanes_layout), then records of 16 bytes: the
 *                timer's 64 bits, tag as in version 1, u16 sm, u8 warp, u8 generation. The upper
 *                half of a finalize's second word is how many records the lane dropped; with a
 *                generation, its lower 24 bits.
 *
 * A buffer is zeroed before each launch. Or, in version 2 with records of 16 bytes, it is not, and
 * the header has another generation (1 to 255) than those before, which the kernel puts into each
 * record: records of others are as empty slots. Records of 8 bytes have no room for it.
 *
 * All of it is little-endian. Kernels write it with rbwp_device.h; this is the host's side, and
 * looks at plain memory only: a copy of a buffer, or a file. Whatever is in it, it is read within
 * bounds, and what is wrong with it is counted by kind.
 *
 * Thread rules: any thread; calls share nothing. Nothing is kept between calls.
 */
#ifndef RBWP_LANES_H
#define RBWP_LANES_H

#include "rbwp_format.h"

RBWP_C_BEGIN_

enum rbwp_lanes_dialect {
    RBWP_LANES_AUTO = 0, /* as the buffer looks: version 2 by its magic, else by the tags */
    RBWP_LANES_V1 = 1,   /* ours, warpscope, TIRx, flashinfer of early 2025, Mirage's blocks */
    RBWP_LANES_FLASHINFER = 2, /* flashinfer since July 2025 */
    RBWP_LANES_MIRAGE = 3,     /* Mirage's persistent kernel */
    RBWP_LANES_V2 = 4
};
/* "auto", "v1", "flashinfer", "mirage", "v2"; "unknown" for other values. Static text. */
RBWP_API const char *rbwp_lanes_dialect_name(unsigned dialect);

enum rbwp_lanes_type {
    RBWP_LANES_BEGIN = 0,
    RBWP_LANES_END = 1,
    RBWP_LANES_INSTANT = 2,
    RBWP_LANES_FINALIZE = 3
};

#define RBWP_LANES_EVENTS 1024u          /* event ids are below it */
#define RBWP_LANES_HEARTBEAT 1023u       /* an instant of it only says that the lane lives */
#define RBWP_LANES_MAGIC "RBWPLAN2"      /* version 2: the first 8 bytes */
#define RBWP_LANES_HEADER_BYTES 64u      /* version 2 */
#define RBWP_LANES_ANCHOR_OFFSET 40u     /* version 2: of anchor_device in the header */
#define RBWP_LANES_CYCLES 1u             /* flags: times are clock64, not globaltimer */
#define RBWP_LANES_SHORT 2u              /* flags: records are those of version 1 */
#define RBWP_LANES_GENERATIONS 255u      /* the last one */
#define RBWP_LANES_SM_UNKNOWN UINT32_MAX /* of a span */

/*
 * How a buffer is laid out. The header of version 2 has all of it; with version 1 what is not 0
 * here is taken, and the header says the rest.
 */
struct rbwp_lanes_layout {
    size_t size;          /* sizeof(struct rbwp_lanes_layout) */
    uint32_t dialect;     /* enum rbwp_lanes_dialect */
    uint32_t flags;       /* version 2: RBWP_LANES_CYCLES, RBWP_LANES_SHORT */
    uint32_t num_blocks;  /* 0: as the header says */
    uint32_t num_groups;  /* 0: as the header says */
    uint32_t stride;      /* slots from a lane's record to its next; 0: one for each lane */
    uint32_t max_records; /* of a lane, its finalize included; 0: what fits into the buffer */
    uint64_t clock_hz;    /* ticks of the timer in a second; 0: 1000000000, which is globaltimer */
    uint64_t anchor_device;          /* the timer's 64 bits near the first record; 0: not known */
    uint64_t anchor_host_ns;         /* CLOCK_MONOTONIC then, or at the launch; 0: not known */
    uint32_t grid_x, grid_y, grid_z; /* of blocks; 0: not known. y and z below 65536 */
    uint32_t generation; /* version 2, records of 16 bytes: 1 to 255; 0: the buffer was zeroed */
};

/* ---- writing ------------------------------------------------------------------ */

/* Size of a buffer. Dialect, blocks, groups and max_records are set. 0: there is no such buffer. */
RBWP_API uint64_t rbwp_lanes_bytes(const struct rbwp_lanes_layout *layout);

/*
 * Writes the header into memory of bytes, of which it touches no more than that (8 or 64 bytes):
 * for version 2 before a launch; with version 1 the kernel writes it as well. RBWP_E_INVALID: the
 * layout, or the header does not fit.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_lanes_write_header(const struct rbwp_lanes_layout *layout, void *memory, size_t bytes,
                        struct rbwp_error *error);

/* A tag's parts. In each dialect some are 0, or fewer bits than the value had. */
struct rbwp_lanes_tag {
    uint32_t lane; /* v1, v2, mirage: block * groups + group; flashinfer: the block */
    uint32_t event;
    uint32_t type; /* enum rbwp_lanes_type */
    uint32_t task; /* mirage: number of the task */
    uint32_t sm;   /* flashinfer */
};
RBWP_API uint32_t rbwp_lanes_tag_make(unsigned dialect, const struct rbwp_lanes_tag *tag);
RBWP_API void rbwp_lanes_tag_parts(unsigned dialect, uint32_t tag,
                                   struct rbwp_lanes_tag *parts_out);

/* ---- reading ------------------------------------------------------------------- */

/*
 * What the layout of a buffer is: wanted (may be NULL) says what is known, the header and the tags
 * say the rest. layout_out's size is set before. The buffer is any memory, aligned to 8 bytes or
 * not. RBWP_E_CORRUPT: there is no such header; RBWP_E_VERSION: one of a later version;
 * RBWP_E_TRUNCATED: the buffer has not even room for one record of each lane; RBWP_E_INVALID:
 * wanted contradicts itself or the header.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_lanes_find_layout(const void *buffer, size_t bytes, const struct rbwp_lanes_layout *wanted,
                       struct rbwp_lanes_layout *layout_out, struct rbwp_error *error);

enum rbwp_lane_kind {
    RBWP_LANE_SPAN = 0,
    RBWP_LANE_INSTANT = 1,
    RBWP_LANE_UNENDED = 2,  /* began and never ended; stop is the lane's last record */
    RBWP_LANE_STRAY_END = 3 /* an end without a begin; for counting, there is nothing to show */
};

/* A begin and its end. The layout of this struct does not change. */
struct rbwp_lane_span {
    int64_t start_ns, stop_ns; /* start <= stop */
    uint32_t block, group, event;
    uint32_t task; /* mirage; else 0 */
    uint32_t sm;   /* RBWP_LANES_SM_UNKNOWN: not known */
    uint8_t kind;  /* enum rbwp_lane_kind */
    uint8_t warp;  /* version 2; else 0 */
    uint16_t unused_;
};

/*
 * What was found in a buffer. Those up to `cut` say that it is damaged, or was written wrongly.
 * May grow at its end.
 */
struct rbwp_lanes_stats {
    uint64_t stray_ends;     /* ends without a begin */
    uint64_t misplaced;      /* the tag names another lane; the slot counts */
    uint64_t holes;          /* empty slots between records of a lane, each row of them once */
    uint64_t backwards;      /* a time before that of the record before it */
    uint64_t after_finalize; /* records behind the lane's finalize; dropped */
    uint64_t outside;        /* slots of no lane that are not empty */
    uint64_t too_deep;       /* begins that were given up, as more than 64 were open in the lane */
    uint64_t cut;            /* 1: the buffer is smaller than its header says */

    uint64_t records; /* slots that are not empty */
    uint64_t spans, instants, heartbeats;
    uint64_t unended;   /* begins without an end, as in a kernel that still ran, or dropped it */
    uint64_t lanes;     /* with a record */
    uint64_t finalized; /* lanes */
    uint64_t full;      /* lanes whose last slot is taken: records may be missing */
    uint64_t dropped;   /* records, where finalize says it */
    uint64_t deepest;   /* begins open at a time in a lane */
    uint64_t absolute;  /* 1: times are the device's own (version 2, or there is an anchor) */
    int64_t first_ns, last_ns; /* of all spans and instants; 0,0 without */
    uint64_t stale;            /* records of other generations: as empty slots */
};
/* How many things are wrong: the sum of those up to cut. 0: the buffer is sound. */
static inline uint64_t rbwp_lanes_damage(const struct rbwp_lanes_stats *stats)
{
    return stats->stray_ends + stats->misplaced + stats->holes + stats->backwards +
           stats->after_finalize + stats->outside + stats->too_deep + stats->cut;
}

/* Takes spans as they end: in a lane by stop, across lanes in no order. False: no more are wanted.
 */
typedef bool (*rbwp_lane_spans_fn)(void *context, const struct rbwp_lane_span *spans, size_t count);

/*
 * Reads a buffer: pairs begins and ends (the last begin of an event in a lane is ended first) and
 * puts times of 32 bits together. Those have no common zero without an anchor: then time 0 is the
 * earliest first record of a lane, which lanes must have made within 2.1 s of each other; with one
 * they must lie within 2.1 s of it; and between two records of a lane there must be less than
 * 2.1 s, too, as half of the 4.29 s that 32 bits hold are for times that run backwards. Times of a
 * clock are converted to ns.
 *
 * wanted as above; take NULL: only count. Reads the buffer once, in its order; memory grows with
 * the number of lanes and what is open in them. RBWP_OK; RBWP_END: take wanted no more; else as
 * rbwp_lanes_find_layout, or RBWP_E_MEMORY (what was found so far has been handed out).
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_lanes_decode_sized(const void *buffer, size_t bytes, const struct rbwp_lanes_layout *wanted,
                        rbwp_lane_spans_fn take, void *context, struct rbwp_lanes_stats *stats_out,
                        size_t stats_bytes, struct rbwp_error *error);
static inline RBWP_MUST_USE enum rbwp_status
rbwp_lanes_decode(const void *buffer, size_t bytes, const struct rbwp_lanes_layout *wanted,
                  rbwp_lane_spans_fn take, void *context, struct rbwp_lanes_stats *stats_out,
                  struct rbwp_error *error)
{
    return rbwp_lanes_decode_sized(buffer, bytes, wanted, take, context, stats_out,
                                   sizeof *stats_out, error);
}

/*
 * The same into an array: *count_out spans, at most room; a buffer has no more of them than
 * records, which are bytes / 8 at most. RBWP_E_LIMIT: there were more.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_lanes_decode_array_sized(const void *buffer, size_t bytes,
                              const struct rbwp_lanes_layout *wanted, struct rbwp_lane_span *spans,
                              size_t room, size_t *count_out, struct rbwp_lanes_stats *stats_out,
                              size_t stats_bytes, struct rbwp_error *error);
static inline RBWP_MUST_USE enum rbwp_status
rbwp_lanes_decode_array(const void *buffer, size_t bytes, const struct rbwp_lanes_layout *wanted,
                        struct rbwp_lane_span *spans, size_t room, size_t *count_out,
                        struct rbwp_lanes_stats *stats_out, struct rbwp_error *error)
{
    return rbwp_lanes_decode_array_sized(buffer, bytes, wanted, spans, room, count_out, stats_out,
                                         sizeof *stats_out, error);
}

RBWP_C_END_
#endif /* RBWP_LANES_H */
