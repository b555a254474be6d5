/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_events.h - device events: what kernels noted of their loads, stores, puts and the like, in
 * the buffers that iris uses, and how to read them.
 *
 * 13 arrays of the same length (one cell of each is one event, 64 bytes in all) and two counters.
 * A kernel finds them by a context: an array of i64, with a rank's number, how many ranks there
 * are, where their heaps are, whether events are on, and where the arrays are. An event's slot is
 * what the first counter was; events beyond the last slot are counted there and not stored.
 *
 * Kernels write them with rbwp_device.h (or Triton's and Gluon's forms of it); this is the host's
 * side, and looks at plain memory only. Thread rules: any thread; calls share nothing.
 */
#ifndef RBWP_EVENTS_H
#define RBWP_EVENTS_H

#include "rbwp_format.h"

RBWP_C_BEGIN_

/* The arrays, in the order of the context. */
enum rbwp_events_column {
    RBWP_EVENTS_EVENT_ID = 0,     /* i32 */
    RBWP_EVENTS_PID = 1,          /* i32: program id along axis 0 */
    RBWP_EVENTS_PID_M = 2,        /* i32 */
    RBWP_EVENTS_PID_N = 3,        /* i32 */
    RBWP_EVENTS_CUR_RANK = 4,     /* i32 */
    RBWP_EVENTS_TARGET_RANK = 5,  /* i32 */
    RBWP_EVENTS_XCC_ID = 6,       /* i32: chiplet */
    RBWP_EVENTS_CU_ID = 7,        /* i32: compute unit; the SM on NVIDIA */
    RBWP_EVENTS_TIMESTAMP = 8,    /* i64: start, in ticks */
    RBWP_EVENTS_ADDRESS = 9,      /* i64: the least of the block's addresses */
    RBWP_EVENTS_END = 10,         /* i64: stop, in ticks; 0 not ended ("duration_cycles") */
    RBWP_EVENTS_OP_INDEX = 11,    /* i32: order of all operations */
    RBWP_EVENTS_PAYLOAD_SIZE = 12 /* i32: bytes, 0 not known */
};
#define RBWP_EVENTS_COLUMNS 13u
#define RBWP_EVENTS_BYTES 64u /* of an event in all arrays together */
/* "event_id", "pid" ... "duration_cycles", "op_index", "payload_size"; NULL for others. */
RBWP_API const char *rbwp_events_column_name(unsigned column);
/* 4 or 8; 0 for others. */
RBWP_API unsigned rbwp_events_column_bytes(unsigned column);

/* The built-in name of an event id ("load", "put", "atomic_max", "fetch", "barrier"); NULL if there
 * is none. */
RBWP_API const char *rbwp_events_name(int32_t id);
#define RBWP_EVENTS_NAME_BYTES 24u
/* The same, and "unknown_<id>" into text if there is none. */
RBWP_API const char *rbwp_events_name_of(int32_t id, char text[RBWP_EVENTS_NAME_BYTES]);

/* In a slot that a kernel asked for in advance (RBWP_DEV_EVENT_AHEAD) and had no event for. */
#define RBWP_EVENTS_UNUSED (-1)

/* Ranges of ids: of a library's operations, and what programs may use. */
#define RBWP_EVENTS_USER_MOVES 1024    /* data movement, to 2047 */
#define RBWP_EVENTS_USER_COMPUTES 2048 /* to 3071 */
#define RBWP_EVENTS_USER_SYNCS 3072    /* synchronisation, to 4095 */

/* ---- the context ---------------------------------------------------------------- */

#define RBWP_EVENTS_RANKS_MAX (1u << 20)
/* Words of a context of so many ranks; the short form, of events that are off, ends behind the
 * flag. */
#define RBWP_EVENTS_CONTEXT_WORDS(ranks) (19u + (ranks))
#define RBWP_EVENTS_SHORT_CONTEXT_WORDS(ranks) (3u + (ranks))

/* A context, taken apart. Addresses are the device's. */
struct rbwp_events_context {
    size_t size; /* sizeof(struct rbwp_events_context) */
    uint32_t rank, ranks;
    const int64_t *heaps; /* ranks of them; when encoding NULL: all 0 */
    int64_t max_events;
    uint64_t counter, op_counter;          /* of u32 (i32), one each */
    uint64_t columns[RBWP_EVENTS_COLUMNS]; /* the arrays */
    bool enabled;
};

/*
 * Writes RBWP_EVENTS_CONTEXT_WORDS(ranks) words, with zeros behind the flag of events that are off.
 * RBWP_E_INVALID: rank not below ranks, no or too many ranks, max_events not in 0 to 2^31 - 1;
 * RBWP_E_LIMIT: room is too small.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_events_encode_context(const struct rbwp_events_context *context, int64_t *words, size_t room,
                           struct rbwp_error *error);

/*
 * Takes one apart, of either length; context_out's size is set before, its heaps point into words.
 * RBWP_E_CORRUPT: numbers that cannot be; RBWP_E_TRUNCATED: too few words.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_events_decode_context(const int64_t *words, size_t count,
                           struct rbwp_events_context *context_out, struct rbwp_error *error);

/* ---- events ------------------------------------------------------------------------ */

/* An event. The layout of this struct does not change. */
struct rbwp_device_event {
    int64_t start_ticks, stop_ticks; /* as stored; stop 0: not ended */
    int64_t start_ns, stop_ns;       /* start <= stop */
    int64_t address;
    int32_t id, program, pid_m, pid_n, rank, target_rank, xcc, cu, op, bytes;
};

/* Buffers in plain memory. */
struct rbwp_events_source {
    size_t size; /* sizeof(struct rbwp_events_source) */
    const void *columns[RBWP_EVENTS_COLUMNS];
    uint64_t max_events; /* slots in each of them */
    uint32_t counter;    /* as the device left it */
    int32_t rank;        /* of whom they should be; negative: any */
    uint64_t clock_hz;   /* ticks in a second: 100000000 on AMD; 0: 1000000000 */
    /* What the rank's clock is ahead of the common one, and how much more of it in each second of
     * the rank's clock since drift_from_ticks; both in ns. */
    int64_t offset_ns, drift_ppb, drift_from_ticks;
};

/* What was found. Those up to `bad_bytes` say that the buffers are damaged or were written wrongly.
 * May grow at its end. */
struct rbwp_events_stats {
    uint64_t unwritten;  /* slots that were given out and have no time */
    uint64_t backwards;  /* stop before start */
    uint64_t other_rank; /* stored by another rank than the buffers' */
    uint64_t bad_bytes;  /* a negative payload, or a negative place */

    uint64_t events;           /* handed out: those with a time */
    uint64_t spans;            /* of them with a stop behind the start */
    uint64_t unended;          /* without a stop */
    uint64_t counted;          /* starts that the device counted */
    uint64_t dropped;          /* of them without a slot */
    int64_t first_ns, last_ns; /* 0,0 without events */
    uint64_t unused;           /* slots with RBWP_EVENTS_UNUSED: dropped, and no damage */
};
/* How many things are wrong. 0: the buffers are sound. */
static inline uint64_t rbwp_events_damage(const struct rbwp_events_stats *stats)
{
    return stats->unwritten + stats->backwards + stats->other_rank + stats->bad_bytes;
}

/* False: no more are wanted. */
typedef bool (*rbwp_device_events_fn)(void *context, const struct rbwp_device_event *events,
                                      size_t count);

/*
 * Reads the events of slots 0 to min(counter, max_events) - 1, in the order of the slots; those
 * whose stop is not behind the start have no length. take NULL: only count. RBWP_OK; RBWP_END: take
 * wanted no more; RBWP_E_INVALID.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_events_decode_sized(const struct rbwp_events_source *source, rbwp_device_events_fn take,
                         void *context, struct rbwp_events_stats *stats_out, size_t stats_bytes,
                         struct rbwp_error *error);
static inline RBWP_MUST_USE enum rbwp_status
rbwp_events_decode(const struct rbwp_events_source *source, rbwp_device_events_fn take,
                   void *context, struct rbwp_events_stats *stats_out, struct rbwp_error *error)
{
    return rbwp_events_decode_sized(source, take, context, stats_out, sizeof *stats_out, error);
}

/* ---- dumps ---------------------------------------------------------------------------- */

/*
 * A file of one rank's buffers: a header of 128 bytes, then the arrays one after another, each of
 * `stored` cells. All little-endian.
 *
 *     0 "RBWPEVT1"      8 u32 version, 1    12 u32 header bytes, 128   16 u32 rank   20 u32 ranks
 *    24 u64 max events  32 u32 counter      36 u32 op counter          40 u64 stored
 *    48 u64 ticks in a second               56 i64 offset, ns          64 u64 its bound, ns
 *    72 i64 drift, ppb  80 i64 the tick that it counts from            88 zeros
 */
#define RBWP_EVENTS_DUMP_MAGIC "RBWPEVT1"
#define RBWP_EVENTS_DUMP_HEADER_BYTES 128u

struct rbwp_events_dump {
    size_t size; /* sizeof(struct rbwp_events_dump) */
    uint32_t rank, ranks;
    uint64_t max_events;
    uint32_t counter, op_counter;
    uint64_t stored; /* at least min(counter, max_events), or the rest is missing */
    uint64_t clock_hz;
    int64_t offset_ns; /* as in struct rbwp_events_source; of unknown ones all are 0 */
    uint64_t offset_bound_ns;
    int64_t drift_ppb, drift_from_ticks;
};
/* RBWP_E_INVALID: numbers that no dump has. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_events_encode_dump(const struct rbwp_events_dump *dump,
                        uint8_t header[RBWP_EVENTS_DUMP_HEADER_BYTES], struct rbwp_error *error);
/*
 * Finds buffers in the bytes of a dump. source_out points into them; the sizes of both outputs are
 * set before. What is cut off is not read: source_out->max_events is what is whole in all arrays.
 * RBWP_E_NOT_RBWP: no such magic; RBWP_E_VERSION; RBWP_E_CORRUPT; RBWP_E_TRUNCATED: not even the
 * header is whole.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_events_decode_dump(const void *bytes, size_t count, struct rbwp_events_dump *dump_out,
                        struct rbwp_events_source *source_out, struct rbwp_error *error);

RBWP_C_END_
#endif /* RBWP_EVENTS_H */
