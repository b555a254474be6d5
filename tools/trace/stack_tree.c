/* SPDX-License-Identifier: Apache-2.0 */
#include "stack_tree.h"

#include "grow.h"
#include "trace_span.h"

#include <stdlib.h>

struct open_stack {
    int64_t stop_ns;
    uint32_t stack;
};
struct stack_lane {
    struct open_stack *open; /* outermost first */
    uint32_t depth, room;
};
struct stack_track {
    uint32_t lane_count;
    struct stack_lane *lanes;
};

/* ---- the tree ------------------------------------------------------------------------ */

/* The number of this stack; its parent's when there is no room. */
static uint32_t node_number(struct stack_tree *tree, struct stack_node wanted)
{
    uint64_t hash = hash_pair((uint64_t)wanted.parent << 32 | wanted.what, wanted.group);
    for (uint32_t step = 0, i; (i = index_map_next(&tree->places, hash, &step)) != INDEX_NONE;) {
        const struct stack_node *node = &tree->nodes[i];
        if (node->parent == wanted.parent && node->group == wanted.group &&
            node->what == wanted.what)
            return i;
    }
    if (tree->count == tree->most) {
        tree->cut = true;
        return wanted.parent;
    }
    if (!GROW_ARRAY(tree->nodes, tree->room, tree->count + 1) ||
        !index_map_add(&tree->places, hash, tree->count)) {
        tree->failed = true;
        return wanted.parent;
    }
    tree->nodes[tree->count] = wanted;
    return tree->count++;
}

/* ---- spans --------------------------------------------------------------------------- */

static struct stack_lane *lane_of(struct stack_tree *tree, const struct trace_span *span)
{
    if (!GROW_ZEROED(tree->tracks, tree->track_count, span->track + 1))
        return NULL;
    struct stack_track *track = &tree->tracks[span->track];
    if (!GROW_ZEROED(track->lanes, track->lane_count, span->row + 1u))
        return NULL;
    return &track->lanes[span->row];
}

void stack_tree_add(struct stack_tree *tree, const struct trace_span *span, uint32_t group,
                    uint32_t what)
{
    struct stack_lane *lane = lane_of(tree, span);
    while (lane && lane->depth && lane->open[lane->depth - 1].stop_ns <= span->start_ns)
        lane->depth--;
    if (lane && lane->depth == STACK_DEPTH_MAX)
        return;
    if (!lane || !GROW_ARRAY(lane->open, lane->room, lane->depth + 1)) {
        tree->failed = true;
        return;
    }
    uint32_t around = lane->depth ? lane->open[lane->depth - 1].stack : STACK_NONE;
    uint32_t number =
        node_number(tree, (struct stack_node){.parent = around, .group = group, .what = what});
    tree->nodes[around].self_ns -= trace_duration_ns(span);
    tree->nodes[number].self_ns += trace_duration_ns(span);
    tree->nodes[number].count += number != around;
    lane->open[lane->depth++] = (struct open_stack){span->stop_ns, number};
}

/* ---- begin and end --------------------------------------------------------------------- */

bool stack_tree_start(struct stack_tree *tree, uint32_t most)
{
    *tree = (struct stack_tree){.most = most, .count = 1};
    return GROW_ZEROED(tree->nodes, tree->room, 1);
}

void stack_tree_free(struct stack_tree *tree)
{
    for (uint32_t i = 0; i < tree->track_count; i++) {
        for (uint32_t lane = 0; lane < tree->tracks[i].lane_count; lane++)
            free(tree->tracks[i].lanes[lane].open);
        free(tree->tracks[i].lanes);
    }
    free(tree->tracks);
    index_map_free(&tree->places);
    free(tree->nodes);
    *tree = (struct stack_tree){0};
}
