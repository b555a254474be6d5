/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table finds the node of a parent, a group and what is in it. */
#include "stack_tree.h"

#include "grow.h"

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

static bool stack_tree_same(const struct stack_node *a, const struct stack_node *b)
{
    return a->parent == b->parent && a->group == b->group && a->what == b->what;
}

static uint32_t *stack_tree_find_cell(const struct stack_tree *tree,
                                      const struct stack_node *wanted)
{
    uint64_t hash = ((uint64_t)wanted->parent << 32 | wanted->what) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ wanted->group) * UINT64_C(0xff51afd7ed558ccd);
    for (uint64_t at = hash >> 24;; at++) {
        uint32_t *cell = &tree->cells[at & (tree->cell_count - 1)];
        if (*cell == 0 || stack_tree_same(&tree->nodes[*cell], wanted))
            return cell;
    }
}

static bool stack_tree_grow_cells(struct stack_tree *tree)
{
    uint32_t count = tree->cell_count ? tree->cell_count * 2 : 1024;
    uint32_t *cells = calloc(count, sizeof *cells);
    if (!cells)
        return false;
    free(tree->cells);
    tree->cells = cells;
    tree->cell_count = count;
    for (uint32_t i = 1; i < tree->count; i++)
        *stack_tree_find_cell(tree, &tree->nodes[i]) = i;
    return true;
}

/* The number of this stack; its parent's when there is no room. */
static uint32_t node_number(struct stack_tree *tree, struct stack_node wanted)
{
    if (tree->count * 2 >= tree->cell_count && !stack_tree_grow_cells(tree)) {
        tree->failed = true;
        return wanted.parent;
    }
    uint32_t *cell = stack_tree_find_cell(tree, &wanted);
    if (*cell)
        return *cell;
    if (tree->count == tree->most) {
        tree->cut = true;
        return wanted.parent;
    }
    if (!grow_array32(&tree->nodes, &tree->room, tree->count + 1, sizeof *tree->nodes)) {
        tree->failed = true;
        return wanted.parent;
    }
    tree->nodes[tree->count] = wanted;
    *cell = tree->count;
    return tree->count++;
}

/* ---- spans --------------------------------------------------------------------------- */

static struct stack_lane *lane_of(struct stack_tree *tree, const struct trace_span *span)
{
    if (!grow_zeroed32(&tree->tracks, &tree->track_count, span->track + 1, sizeof *tree->tracks))
        return NULL;
    struct stack_track *track = &tree->tracks[span->track];
    if (!grow_zeroed32(&track->lanes, &track->lane_count, span->row + 1u, sizeof *track->lanes))
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
    if (!lane || !grow_array32(&lane->open, &lane->room, lane->depth + 1, sizeof *lane->open)) {
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
    return grow_zeroed32(&tree->nodes, &tree->room, 1, sizeof *tree->nodes);
}

void stack_tree_free(struct stack_tree *tree)
{
    for (uint32_t i = 0; i < tree->track_count; i++) {
        for (uint32_t lane = 0; lane < tree->tracks[i].lane_count; lane++)
            free(tree->tracks[i].lanes[lane].open);
        free(tree->tracks[i].lanes);
    }
    free(tree->tracks);
    free(tree->cells);
    free(tree->nodes);
    *tree = (struct stack_tree){0};
}
