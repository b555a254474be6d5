/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpscope_json.h - lanes as warpscope's Chrome JSON: a process for each block, a thread for each
 * group, microseconds.
 */
#ifndef WARPSCOPE_JSON_H
#define WARPSCOPE_JSON_H

#include "id_names.h"
#include "out.h"
#include "rbwp_lanes.h"

#include <stdbool.h>

/* Rewrites the spans as they come; those that overlap stay on their thread, as warpscope has it.
 * False: out of memory, and the user was told. */
struct warpscope_json {
    struct out *out;
    const struct id_names *events, *groups;
    int64_t zero_ns;
    struct warpscope_name {
        char *text; /* in quotes */
        uint32_t bytes;
    } names[RBWP_LANES_EVENTS];
    bool any, failed;
};

void warpscope_json_begin(struct warpscope_json *json, uint32_t blocks, uint32_t groups);
/* Of struct warpscope_json: for rbwp_lanes_decode. */
bool warpscope_json_take(void *context, const struct rbwp_lane_span *spans, size_t count);
void warpscope_json_end(struct warpscope_json *json);

#endif /* WARPSCOPE_JSON_H */
