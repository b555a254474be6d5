/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_rows.h - what is told of GPUs and their work beside the GPU_WORK records: rows of the tables
 * gpu_device and gpu_activity (SPEC.md, section 9.3).
 */
#ifndef GPU_ROWS_H
#define GPU_ROWS_H

#include "gpu_stream.h"

/* Makes the tables known, and the device's name. Without memory there will be no rows, or no name.
 */
void gpu_rows_prepare(struct rbwp_gpu_device *device);

/* Times of work as they were seen. idle: the stream was free when it was launched. */
struct gpu_times {
    int64_t start_ns, stop_ns;
    int64_t launching_ns; /* before start */
    bool idle;
};
/* A row for work that was recorded, and before the session's first one a row for its device. The
 * reaper's. */
void gpu_rows_activity(struct rbwp_gpu_stream *stream, const struct gpu_node *end,
                       const struct gpu_times *times, uint64_t stop_bound_ns);

/* A row for the device, if a session runs that has none of it yet. Any thread. */
void gpu_rows_device(struct rbwp_gpu_device *device);
/* The session has ended: the next one has none. */
void gpu_rows_session_ended(void);

#endif /* GPU_ROWS_H */
