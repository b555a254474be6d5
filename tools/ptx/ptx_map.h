/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_map.h - what instrument writes beside its PTX, so that a buffer can be read: MAP.json.
 *
 * The probes with their lines, and the shape of the buffer. decode and annotate read it, and so
 * does whoever makes the buffer: buffer_bytes and the name of the parameter or variable are in it.
 */
#ifndef PTX_MAP_H
#define PTX_MAP_H

#include "ptx_lists.h"
#include "ptx_probe.h"
#include "ptx_source.h"

#define PTX_MAP_NAME_MAX 1024 /* longer ones are cut */

struct ptx_map_probe {
    uint32_t id, kernel, file, entry, exit;
    int64_t loc;
    char unit[16];
};

/* Files and kernels, by the numbers that probes have. */
struct ptx_map_name {
    uint32_t number;
    char text[PTX_MAP_NAME_MAX];
};
struct ptx_map_names {
    struct ptx_map_name *names;
    uint32_t count, room;
};

struct ptx_map {
    uint64_t hash, buffer_bytes, lanes;
    uint32_t capacity, ids;
    enum ptx_mode mode;
    enum ptx_cells cells;
    enum ptx_lane lane;
    char module[PTX_MAP_NAME_MAX];
    struct ptx_map_probe *probes;
    uint32_t count, room;
    struct ptx_map_names files, kernels;
    struct ptx_range ranges[PTX_RANGES_MAX]; /* threads or warps of the launch that are lanes */
    uint32_t range_count;
};

void ptx_map_write(struct out *out, const struct ptx_source *source,
                   const struct ptx_options *options, const struct ptx_probes *probes);

/* False with the message given; ptx_map_free only after true. */
bool ptx_map_read(struct ptx_map *map, const char *path);
void ptx_map_free(struct ptx_map *map);

/* The lines of its probes. False with the message given; to be freed in any case. */
bool ptx_map_locs(const struct ptx_map *map, struct ptx_loc_map *locs);

/* What a number stands for; "" where it is not known. */
const char *ptx_map_name(const struct ptx_map_names *names, uint32_t number);
/* The kernel of the first probe. */
const char *ptx_map_kernel(const struct ptx_map *map);
/* The number, in the launch, of the thread or warp that is a lane; UINT64_MAX: not known. */
uint64_t ptx_map_lane(const struct ptx_map *map, uint64_t lane);
/* The probe of a number, NULL if there is none. */
const struct ptx_map_probe *ptx_map_find(const struct ptx_map *map, uint32_t id);

#endif /* PTX_MAP_H */
