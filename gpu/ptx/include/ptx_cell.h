/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_cell.h - what probes leave in their buffer.
 *
 * All is little endian and zero before the launch. A lane has capacity cells; what fires behind
 * them is counted, until the kernel ends, and stored nowhere.
 *
 * Compat: cell s of lane l lies at (s * lanes + l) * 16, in four u32: start low, start high, end
 * low, end high; a high word has bits 32 to 47 of the clock below and the number above. What found
 * no room is counted in the module's variable rbwp_ptx_dropped.
 *
 * Wide: 32 bytes for the buffer: magic, the hash of ptx_probe.h, zeros. Then each lane: 32 bytes
 * for itself, and its cells of 32 bytes: lane   u64 %globaltimer and u64 %clock64 at the kernel's
 * beginning, u32 block of the launch, u32 thread of the block, u32 dropped, u32 cycles of an empty
 * pair cell   u64 start, u64 end (u32 low of the clock; bits 32 to 43 above the 20 of the number),
 * u64 %globaltimer, u32 %smid, u32 %warpid (where the thread began)
 */
#ifndef PTX_CELL_H
#define PTX_CELL_H

#include <stdint.h>

#define PTX_COMPAT_BYTES 16
#define PTX_COMPAT_ID_BITS 16
#define PTX_COMPAT_CLOCK_BITS 48
#define PTX_WIDE_BYTES 32 /* of the buffer's head, of a lane's and of a cell */
#define PTX_WIDE_ID_BITS 20
#define PTX_WIDE_CLOCK_BITS 44
#define PTX_WIDE_MAGIC UINT64_C(0x3158545050574252) /* "RBWPPTX1" */
#define PTX_CONFIG_BYTES 56

struct ptx_cell {
    uint32_t start_id, end_id;
    uint64_t start, end; /* cycles; start 0: nothing is stored */
};

static inline uint32_t ptx_load_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline uint64_t ptx_load_u64(const uint8_t *bytes)
{
    return ptx_load_u32(bytes) | (uint64_t)ptx_load_u32(bytes + 4) << 32;
}

static inline struct ptx_cell ptx_compat_cell(const uint8_t bytes[PTX_COMPAT_BYTES])
{
    uint64_t start = ptx_load_u64(bytes), end = ptx_load_u64(bytes + 8);
    const uint64_t clock = (UINT64_C(1) << PTX_COMPAT_CLOCK_BITS) - 1;
    return (struct ptx_cell){(uint32_t)(start >> PTX_COMPAT_CLOCK_BITS),
                             (uint32_t)(end >> PTX_COMPAT_CLOCK_BITS), start & clock, end & clock};
}

/* A stamp of a wide cell: its number and the clock. */
static inline uint32_t ptx_wide_id(uint64_t stamp)
{
    return (uint32_t)(stamp >> 32) & ((UINT32_C(1) << PTX_WIDE_ID_BITS) - 1);
}
static inline uint64_t ptx_wide_clock(uint64_t stamp)
{
    return (stamp & UINT32_MAX) | (stamp >> (32 + PTX_WIDE_ID_BITS)) << 32;
}

/* The clock nearest at or behind `before`, of which the lower bits are known. */
static inline uint64_t ptx_clock_after(uint64_t before, uint64_t lower, unsigned bits)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    return before + ((lower - before) & mask);
}

#endif /* PTX_CELL_H */
