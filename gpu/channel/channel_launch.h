/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_launch.h - puts a planned transfer on a stream, a launch at a time.
 *
 * Knows the driver's calls and how far a transfer has got. Knows nothing of
 * queues, workers and clocks: whoever steps it decides when to stop.
 */
#ifndef RBWP_CHANNEL_LAUNCH_H
#define RBWP_CHANNEL_LAUNCH_H

#include "channel_plan.h"

#include <stdatomic.h>

/* ---- the transfer kernels, loaded once per context ------------------------------------------- */

/* kernels/transfer.cl and transfer.ptx, put into a source file by the build. */
extern const char channel_code_source[], channel_code_ptx[];

struct channel_code {
    struct channel_code *next; /* guarded by the list's lock, as references */
    unsigned references;
    struct gpu_context *context;
    bool compiled; /* from the source */
    struct gpu_module *module;
    struct gpu_kernel *kernel[CHANNEL_KERNELS]; /* NULL: the device cannot run it */
};

/* The kernels for a context, with a reference. Attached; blocks when they have to be compiled.
 * from_source: even where there is PTX. What gpu_backend.module_load answers. */
enum rbwp_status channel_code_acquire(struct gpu_context *context, bool from_source,
                                      struct channel_code **code_out, struct rbwp_error *error);
/* Attached. NULL is fine. in_use: the device may still run it, for ever: then it is left loaded. */
void channel_code_release(struct channel_code *code, bool in_use);

/* ---- channel launch -------------------------------------------------------------------------- */

/* About what one launch moves at most, so that a long transfer shares the device. */
#define CHANNEL_LAUNCH_BYTES (UINT64_C(64) << 20)

/* A side: device memory, or host memory if that has no native handle. */
struct channel_place {
    struct gpu_memory memory;
    const struct gpu_context *peer; /* the memory's, if that is not where the channel launches */
    uint8_t *host;
    uint64_t offset_bytes;
};

/* Where launches go. */
struct channel_target {
    struct gpu_context *context;
    struct rbwp_gpu_stream *stream;
    void *native_stream;
    struct channel_code *code; /* NULL: none */
    struct gpu_memory scratch;
    unsigned slot; /* of the brackets */
    u32 blocks_max;
    _Atomic uint64_t copies, peers,
        kernels; /* launched so far; writer: who launches; reader: anyone */
};

/* A transfer under way. */
struct channel_flight {
    struct channel_plan plan;
    struct channel_place source, target;
    uint8_t *fill; /* plan.fill_bytes of it */
    unsigned stage;
    u64 next; /* index of the stage, or call of the engine */
};

/* True if the transfer is one launch of one kernel, so that others may join it. */
bool channel_flight_is_single(const struct channel_flight *flight);
/* True if b may be a piece of a's launch. */
bool channel_flight_joins(const struct channel_flight *a, const struct channel_flight *b);

/* Launches the next part. Attached. *code_out is the driver's code if that failed; *bytes_out what
 * was launched. RBWP_AGAIN: there is more; RBWP_OK: that was all; RBWP_E_IO: failed. */
enum rbwp_status channel_flight_step(struct channel_target *to, struct channel_flight *flight,
                                     int *code_out, uint64_t *bytes_out);

/* All of several single ones, at most TRANSFER_PIECES, in one launch. Attached. */
int channel_flights_launch(struct channel_target *to, struct channel_flight *const *flights,
                           unsigned count);

#endif /* RBWP_CHANNEL_LAUNCH_H */
