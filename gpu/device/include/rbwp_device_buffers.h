/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_device_buffers.h - the host's side of what kernels note with rbwp_device.h: memory for it,
 * the way back, and its place in the profile.
 *
 *     rbwp_device_clock_new(device, 0, &clock, &error);            once per device
 *     rbwp_device_lanes_new(device, &config, &lanes, &error);      once per kernel
 *
 *     rbwp_device_lanes_reset(lanes, 0, &error);                   before each launch
 *     rbwp_device_lanes_mark(lanes, clock, stream, &error);        version 1: when it begins
 *     rbwp_gpu_bracket_begin(&bracket, stream, slot);
 *     kernel<<<...>>>(..., rbwp_device_lanes_buffer(lanes).native);
 *     launch = rbwp_gpu_bracket_launch(&bracket);
 *     rbwp_gpu_bracket_end(&bracket);
 *     ... when the kernel has ended:
 *     rbwp_device_lanes_read(lanes, stream, &error);               one copy
 *     rbwp_device_lanes_record(lanes, clock, launch, &stats, &error);
 *
 * The last call decodes the buffer and writes rows of the table lane_span (device_event for events;
 * SPEC.md, section 9.3) into the session's file, on the time line of its records, with the bound
 * of the clocks' comparison. With their launch they lie below the kernel's GPU_WORK record.
 *
 * CUDA and HIP; with OpenCL, which has no addresses, the calls that make something answer
 * RBWP_E_UNSUPPORTED.
 *
 * Threads: calls for one object one at a time; objects of a device from any threads. Calls that
 * reach the device block until it has answered, so they are not for graph captures.
 */
#ifndef RBWP_DEVICE_BUFFERS_H
#define RBWP_DEVICE_BUFFERS_H

#include "rbwp_events.h"
#include "rbwp_gpu.h"
#include "rbwp_lanes.h"

RBWP_C_BEGIN_

/* Memory of a device: the address that a kernel gets, and how much it is. */
struct rbwp_device_memory {
    void *native;
    uint64_t bytes;
};

/* ---- clocks ---------------------------------------------------------------------- */

/* The device's timer, read between two readings of host clocks. */
struct rbwp_device_clock_sample {
    int64_t before_ns, after_ns; /* rbwp_now_ns's line */
    int64_t monotonic_before_ns,
        monotonic_after_ns; /* CLOCK_MONOTONIC, which processes of a host share */
    int64_t ticks;
};

/* What a device's timer is to the host's clocks: a host's time is the device's, in ns, less its
 * offset, less drift_ppb for each 10^9 ns since from_ticks. */
struct rbwp_device_clock_line {
    size_t size;                 /* sizeof(struct rbwp_device_clock_line) */
    uint64_t hz;                 /* ticks in a second */
    int64_t offset_ns;           /* to rbwp_now_ns's line */
    int64_t monotonic_offset_ns; /* to CLOCK_MONOTONIC */
    uint64_t bound_ns;  /* of both, at the samples; between them it holds if the drift is even */
    int64_t drift_ppb;  /* 0 with one set of samples */
    int64_t from_ticks; /* of the sample that counts */
};

/*
 * The line through the best (quickest) sample of first, and through that of last too, which were
 * taken later (NULL: there are none). hz: 1 to 10^10. line_out's size is set before.
 * RBWP_E_INVALID: no samples, or ones that run backwards.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_device_clock_fit(const struct rbwp_device_clock_sample *first, size_t first_count,
                      const struct rbwp_device_clock_sample *last, size_t last_count, uint64_t hz,
                      struct rbwp_device_clock_line *line_out, struct rbwp_error *error);
/* A time of the device's timer on rbwp_now_ns's line. Saturates. */
RBWP_API int64_t rbwp_device_clock_ns(const struct rbwp_device_clock_line *line, int64_t ticks);

struct rbwp_device_clock; /* opaque */

#define RBWP_DEVICE_CLOCK_SAMPLES 32u /* of a set */

/*
 * Compares a device's timer with the host's clocks, by a kernel that stores it. hz 0: as the driver
 * says (10^9 with CUDA; HIP's "wall clock rate", 10^8 where it does not know). The device must
 * outlive it. RBWP_E_UNSUPPORTED (OpenCL, no compiler with HIP), RBWP_E_MEMORY, RBWP_E_STATE,
 * RBWP_E_IO. *clock_out is NULL then.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_device_clock_new(struct rbwp_gpu_device *device,
                                                              uint64_t hz,
                                                              struct rbwp_device_clock **clock_out,
                                                              struct rbwp_error *error);
/* Compares again: at the end of a capture, so that the drift is known. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_device_clock_again(struct rbwp_device_clock *clock,
                                                                struct rbwp_error *error);
/* line_out's size is set before. */
RBWP_API void rbwp_device_clock_get(const struct rbwp_device_clock *clock,
                                    struct rbwp_device_clock_line *line_out);
/* NULL is fine. */
RBWP_API void rbwp_device_clock_free(struct rbwp_device_clock *clock);

/* ---- names ------------------------------------------------------------------------- */

struct rbwp_device_name {
    int64_t id;
    const char *name; /* terminated; copied */
};

/* ---- lanes --------------------------------------------------------------------------- */

struct rbwp_device_lanes_config {
    size_t size; /* sizeof(struct rbwp_device_lanes_config) */
    union {
        struct rbwp_lanes_layout layout; /* with its own size; dialect V1 or V2, blocks, groups and
                                            max_records are set */
        char room_[256];                 /* for what it may become */
    };
    bool count_drops; /* have a u32 for each lane in which the kernel counts what it drops */
    const struct rbwp_device_name *events, *groups; /* others are event_7, group_0 */
    uint32_t event_count, group_count;
    bool generations; /* a reset does not zero the buffer; for version 2 without RBWP_LANES_SHORT,
                         and kernels of rbwp_device.h */
};

struct rbwp_device_lanes; /* opaque */

/* Memory of the device, zeroed, with its header. RBWP_E_INVALID, RBWP_E_UNSUPPORTED (OpenCL;
 * generations of records of 8 bytes, which have no room for them), RBWP_E_MEMORY, RBWP_E_STATE,
 * RBWP_E_IO; *lanes_out is NULL then. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_device_lanes_new(struct rbwp_gpu_device *device, const struct rbwp_device_lanes_config *config,
                      struct rbwp_device_lanes **lanes_out, struct rbwp_error *error);
/* NULL is fine. No kernel uses the memory any more. */
RBWP_API void rbwp_device_lanes_free(struct rbwp_device_lanes *lanes);

/* For the kernel: the buffer; the drops ({0} unless they are counted); and the word in which a
 * kernel of version 1 may leave the timer's 64 bits (rbwp::lanes::anchor), as it does by itself in
 * version 2. */
RBWP_API struct rbwp_device_memory rbwp_device_lanes_buffer(const struct rbwp_device_lanes *lanes);
RBWP_API struct rbwp_device_memory rbwp_device_lanes_drops(const struct rbwp_device_lanes *lanes);
RBWP_API struct rbwp_device_memory rbwp_device_lanes_anchor(const struct rbwp_device_lanes *lanes);

/*
 * Prepares for another launch: zeroes the buffer and writes its header; blocks must not be more
 * than were configured, 0 as before; no kernel uses it. With generations the header alone is
 * written, whatever the buffer's size, but for each 255th time: what is left of earlier launches is
 * recognised by its records' generation, and counted (stats.stale).
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_device_lanes_reset(struct rbwp_device_lanes *lanes,
                                                                uint32_t num_blocks,
                                                                struct rbwp_error *error);

/*
 * Puts a reading of the device's timer on the stream, behind the reset and before the kernel (NULL:
 * takes it now, and waits for it): the anchor of version 1, whose records have 32 bits of the time.
 * With it a kernel may begin when it likes after the reset, and a lane within 2.1 s of it. For
 * lanes that begin later, or are silent for longer: RBWP_DEV_HEARTBEAT with the anchor's word.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_device_lanes_mark(struct rbwp_device_lanes *lanes, const struct rbwp_device_clock *clock,
                       struct rbwp_gpu_stream *stream, struct rbwp_error *error);

/* Copies the buffer back, behind what is on the stream (NULL: the kernel has ended). */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_device_lanes_read(struct rbwp_device_lanes *lanes,
                                                               struct rbwp_gpu_stream *stream,
                                                               struct rbwp_error *error);
/* What was read, for rbwp_lanes_decode or a file: *bytes_out of it, valid until the next read.
 * Behind rbwp_device_lanes_record its header (version 2) says by the clock when it was, so that
 * `rbwp lanes` places it beside the session's file. */
RBWP_API const void *rbwp_device_lanes_memory(const struct rbwp_device_lanes *lanes,
                                              size_t *bytes_out);

/*
 * Decodes what was read and writes it into the session's file. launch: as of the bracket around the
 * kernel, 0 not known. With version 1 and no anchor the kernel began within 2.1 s of the last
 * reset. Without a session it only counts. stats_out: as of rbwp_lanes_decode, drops
 * included. RBWP_OK whatever damage was counted; RBWP_E_STATE: nothing was read;
 * RBWP_E_CORRUPT: no buffer of lanes any more; RBWP_E_MEMORY.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_device_lanes_record_sized(
    struct rbwp_device_lanes *lanes, const struct rbwp_device_clock *clock, uint64_t launch,
    struct rbwp_lanes_stats *stats_out, size_t stats_bytes, struct rbwp_error *error);
static inline RBWP_MUST_USE enum rbwp_status
rbwp_device_lanes_record(struct rbwp_device_lanes *lanes, const struct rbwp_device_clock *clock,
                         uint64_t launch, struct rbwp_lanes_stats *stats_out,
                         struct rbwp_error *error)
{
    return rbwp_device_lanes_record_sized(lanes, clock, launch, stats_out, sizeof *stats_out,
                                          error);
}

/* ---- events ---------------------------------------------------------------------------- */

struct rbwp_device_events_config {
    size_t size;                          /* sizeof(struct rbwp_device_events_config) */
    uint32_t max_events;                  /* 0: 1000000 */
    uint32_t rank, ranks;                 /* ranks 0: one */
    const int64_t *heaps;                 /* where each rank's heap is, of ranks; NULL: 0; copied */
    const struct rbwp_device_name *names; /* of ids that have none, or another */
    uint32_t name_count;
};

struct rbwp_device_events; /* opaque */

/* Arrays, counters and context in the device's memory; on. Answers as rbwp_device_lanes_new. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_device_events_new(struct rbwp_gpu_device *device,
                       const struct rbwp_device_events_config *config,
                       struct rbwp_device_events **events_out, struct rbwp_error *error);
/* NULL is fine. No kernel uses the memory any more. */
RBWP_API void rbwp_device_events_free(struct rbwp_device_events *events);

/* For the kernel: the context (rbwp_events.h), which is a rank's own. */
RBWP_API struct rbwp_device_memory
rbwp_device_events_context(const struct rbwp_device_events *events);

/* Off, a kernel that was compiled with events writes none. Kernels launched afterwards. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_device_events_enable(struct rbwp_device_events *events, bool on, struct rbwp_error *error);
/* Both counters to 0: what was noted is forgotten. No kernel uses them. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_device_events_reset(struct rbwp_device_events *events,
                                                                 struct rbwp_error *error);
/* Copies all back at once, behind what is on the stream (NULL: the kernel has ended). */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_device_events_read(struct rbwp_device_events *events,
                                                                struct rbwp_gpu_stream *stream,
                                                                struct rbwp_error *error);
/*
 * What was read, for rbwp_events_decode: valid until the next read; times on rbwp_now_ns's line
 * (clock NULL: ticks as ns). And the header of its dump, with CLOCK_MONOTONIC's offset; the
 * arrays follow it, stored cells of each. Their sizes are set before.
 */
RBWP_API void rbwp_device_events_source(const struct rbwp_device_events *events,
                                        const struct rbwp_device_clock *clock,
                                        struct rbwp_events_source *source_out);
RBWP_API void rbwp_device_events_dump(const struct rbwp_device_events *events,
                                      const struct rbwp_device_clock *clock,
                                      struct rbwp_events_dump *dump_out);

/* As rbwp_device_lanes_record. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_device_events_record_sized(
    struct rbwp_device_events *events, const struct rbwp_device_clock *clock, uint64_t launch,
    struct rbwp_events_stats *stats_out, size_t stats_bytes, struct rbwp_error *error);
static inline RBWP_MUST_USE enum rbwp_status
rbwp_device_events_record(struct rbwp_device_events *events, const struct rbwp_device_clock *clock,
                          uint64_t launch, struct rbwp_events_stats *stats_out,
                          struct rbwp_error *error)
{
    return rbwp_device_events_record_sized(events, clock, launch, stats_out, sizeof *stats_out,
                                           error);
}

RBWP_C_END_
#endif /* RBWP_DEVICE_BUFFERS_H */
