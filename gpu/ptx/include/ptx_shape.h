/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_shape.h - the variables of a module with probes, by which a host finds its buffer.
 *
 * With PTX_BIND_VARIABLE a module has two: the address, which the host sets before a launch and 0
 * turns off, and the shape: 8 u64 that say which map the module has and what buffer it needs, for a
 * host that has nothing but the loaded module. Compat cells have a third, what found no room.
 */
#ifndef PTX_SHAPE_H
#define PTX_SHAPE_H

#include <stdint.h>

#define PTX_BUFFER_NAME "rbwp_ptx_buffer"
#define PTX_SHAPE_NAME "rbwp_ptx_shape"
#define PTX_DROPPED_NAME "rbwp_ptx_dropped"

#define PTX_SHAPE_MAGIC UINT64_C(0x3145504148535852) /* "RXSHAPE1" */
#define PTX_SHAPE_WORDS 8

/* As the words stand in the variable, little endian. */
struct ptx_shape {
    uint64_t magic;
    uint64_t hash; /* HASH.map.json, 16 hexadecimal digits, is the map */
    uint64_t buffer_bytes, capacity, lanes;
    uint64_t cells, lane, mode; /* enum ptx_cells, ptx_lane and ptx_mode of ptx_probe.h */
};

#endif /* PTX_SHAPE_H */
