/* SPDX-License-Identifier: Apache-2.0 */
/* node_clocks.h - comparisons with another node's clock (SPEC.md, 10.15), as many as are kept. */
#ifndef NODE_CLOCKS_H
#define NODE_CLOCKS_H

#include "rbwp_format.h"

#define NODE_CLOCKS_MAX 512u

/* Of all that were added: the first, each stride-th after it, and the last. Starts as zeros. */
struct node_clocks {
    struct rbwp_node_clock kept[NODE_CLOCKS_MAX]; /* times ascend */
    uint32_t count;
    uint64_t added, stride; /* stride 0: none was added yet */
};

/* False: it is not behind the last one. */
bool node_clocks_add(struct node_clocks *clocks, struct rbwp_node_clock clock);

#endif /* NODE_CLOCKS_H */
