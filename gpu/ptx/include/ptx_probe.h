/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_probe.h - clock probes put into a kernel's PTX.
 *
 * A probe is a START and an END of one number. START keeps the clock and its number in registers,
 * END stores both with its own into the next cell of its lane, so a branch that is taken gives one
 * record with the START of the branch and the END of the label. Numbers are those of the probes
 * without a list of active ones; a list omits STARTs and ENDs and renumbers nothing.
 *
 * A lane is a thread, or a warp's first thread, that is in the set; all others run the same
 * instructions and store nothing. No probe branches. What the cells look like: ptx_cell.h.
 */
#ifndef PTX_PROBE_H
#define PTX_PROBE_H

#include "ptx.h"

enum ptx_mode {
    PTX_MODE_BLOCK,  /* the blocks of ptx_lines.h */
    PTX_MODE_SINGLE, /* each instruction of them */
    PTX_MODE_ENTIRE, /* all between the first block and the last */
    PTX_MODE_CONFIG, /* no clocks: the launch's shape, as 7 u64 */
    PTX_MODE_CFG,    /* the blocks of ptx_flow.h: who follows whom is an edge */
    PTX_MODE_MMA,    /* runs of instructions of one class (ptx_class) */
    PTX_MODE_WARP    /* block, and a lane is a warp */
};
#define PTX_MODE_COUNT 7
const char *ptx_mode_name(enum ptx_mode mode);

enum ptx_cells {
    PTX_CELLS_MODE,   /* compat for the first four modes, wide for the others */
    PTX_CELLS_COMPAT, /* 16 bytes: 48 bits of the clock, 16 of the number, twice */
    PTX_CELLS_WIDE    /* 32 bytes: 44 and 20, %globaltimer, %smid, %warpid */
};

enum ptx_lane { PTX_LANE_MODE, PTX_LANE_THREAD, PTX_LANE_WARP };

/* Where the probes have the buffer's address from. */
enum ptx_binding {
    PTX_BIND_VARIABLE, /* .global rbwp_ptx_buffer, which the host sets; 0: nothing is stored */
    PTX_BIND_APPEND,   /* a parameter behind the last one */
    PTX_BIND_PARAM     /* a parameter that is there */
};

/* Threads or warps of the launch, numbered over all blocks: first, first + step ... up to last. */
struct ptx_range {
    uint64_t first, last, step;
};
#define PTX_RANGES_MAX 16

/* Numbers in order. */
struct ptx_ids {
    const uint32_t *ids;
    uint32_t count;
};

struct ptx_options {
    enum ptx_mode mode;
    enum ptx_cells cells;
    enum ptx_lane lane;
    enum ptx_binding binding;
    const char *param;  /* of PTX_BIND_PARAM; NULL: the third from last, as Triton adds two */
    const char *kernel; /* NULL: the first, "*": all */
    uint32_t file;      /* of .loc; 0: any */
    uint32_t capacity;  /* cells of a lane, at least 1 */
    struct ptx_range ranges[PTX_RANGES_MAX];
    uint32_t range_count;
    bool active; /* only what these lists have */
    struct ptx_ids active_start, active_end;
    bool unknown_too; /* instructions that are not known go on to the next one */
};

struct ptx_probe {
    uint32_t id, kernel; /* kernel: index of the module's function */
    uint32_t file;
    int64_t loc;                /* the source line, -1: none is known */
    uint32_t entry, exit;       /* lines of the module */
    uint32_t entry_at, exit_at; /* bytes before which START and END stand */
    bool start, end;            /* whether it has them */
    enum ptx_class unit;        /* of PTX_MODE_MMA */
};

struct ptx_probes {
    char *text; /* the module with the probes; ends with a zero byte */
    size_t bytes;
    struct ptx_probe *probes; /* in order of their text; an id may come more than once */
    uint32_t count, room;
    uint32_t ids;         /* numbers, active or not, are below this */
    enum ptx_cells cells; /* what the defaults came to */
    enum ptx_lane lane;
    uint64_t lanes, buffer_bytes;
    uint64_t hash;   /* of the module and of what was asked for: buffers with wide cells have it */
    char param[256]; /* the parameter; empty with PTX_BIND_VARIABLE */
};

/* False with error filled; ptx_probes_free only after true. No probe at all is no error. */
bool ptx_probes(struct ptx_probes *probes, const struct ptx_module *module,
                const struct ptx_options *options, struct ptx_error *error);
void ptx_probes_free(struct ptx_probes *probes);

#endif /* PTX_PROBE_H */
