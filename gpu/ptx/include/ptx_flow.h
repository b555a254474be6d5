/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_flow.h - basic blocks of a function and the edges between them.
 *
 * A block begins at a label that something branches to and behind a branch, ret, exit or trap,
 * guarded or not. Labels in braces are seen in them alone, as PTX has it. Calls do not end a block.
 */
#ifndef PTX_FLOW_H
#define PTX_FLOW_H

#include "ptx.h"

enum ptx_edge_kind { PTX_FALLS, PTX_TAKEN, PTX_INDEXED };

struct ptx_edge {
    uint32_t from, to; /* blocks */
    enum ptx_edge_kind kind;
};

struct ptx_block {
    uint32_t first, last;       /* statements */
    uint32_t begin, end;        /* first and last instruction; PTX_NONE: it has none */
    uint32_t edges, edge_count; /* those that leave it */
    bool leaves;                /* the function may end here */
    struct ptx_loc loc;         /* of its first instruction; line 0: unknown */
};

struct ptx_flow {
    struct ptx_block *blocks;
    uint32_t count;
    struct ptx_edge *edges;
    uint32_t edge_count;
};

/* False with error filled; ptx_flow_free only after true. A function without a body has no block.
 */
bool ptx_flow(struct ptx_flow *flow, const struct ptx_module *module,
              const struct ptx_function *function, struct ptx_error *error);
void ptx_flow_free(struct ptx_flow *flow);

#endif /* PTX_FLOW_H */
