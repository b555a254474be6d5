/* SPDX-License-Identifier: Apache-2.0 */
/* node_clocks.c - see node_clocks.h. The last one makes room for the next, unless its turn is to be
 * kept. */
#include "node_clocks.h"

_Static_assert(NODE_CLOCKS_MAX % 2 == 0, "the last of them all is not kept when they are halved");

static void halve(struct node_clocks *clocks)
{
    for (uint32_t i = 0; i < NODE_CLOCKS_MAX; i += 2)
        clocks->kept[i / 2] = clocks->kept[i];
    clocks->count = NODE_CLOCKS_MAX / 2;
    clocks->stride *= 2;
}

bool node_clocks_add(struct node_clocks *clocks, struct rbwp_node_clock clock)
{
    if (clocks->count && clock.time_ns <= clocks->kept[clocks->count - 1].time_ns)
        return false;
    if (clocks->stride == 0)
        clocks->stride = 1;
    if (clocks->added && (clocks->added - 1) % clocks->stride)
        clocks->count--;
    else if (clocks->count == NODE_CLOCKS_MAX)
        halve(clocks);
    clocks->kept[clocks->count++] = clock;
    clocks->added++;
    return true;
}
