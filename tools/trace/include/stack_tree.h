/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_tree.h - spans added up by the stack of spans that they lie in.
 *
 * Spans come outer ones first, so the time that a span spends in others is taken off again as they
 * come. Stacks are nodes of a tree: so many as asked for at most, STACK_DEPTH_MAX deep; beyond,
 * times stay in the stack around. Spans of one lane that overlap partly are not inside each other.
 */
#ifndef STACK_TREE_H
#define STACK_TREE_H

#include "index_map.h"

struct trace_span;

enum { STACK_NONE = 0, STACK_DEPTH_MAX = 256 };

struct stack_node {
    uint32_t parent; /* STACK_NONE: outermost; always below the node's own number */
    uint32_t group, what;
    uint64_t count;
    uint64_t self_ns; /* as int64_t below 0 for what lies in what it is not shorter than */
};
struct stack_tree {
    struct stack_node *nodes; /* the first is not used */
    uint32_t count, most;
    bool failed; /* out of memory */
    bool cut;    /* there were more stacks */
    /* While it is filled. */
    uint32_t room;
    struct index_map places; /* of nodes by what they stand for */
    struct stack_track *tracks;
    uint32_t track_count;
};

/* False without memory. */
bool stack_tree_start(struct stack_tree *tree, uint32_t most);
/* A span that is no point in time. group: stacks of different groups are apart; what: what it is
 * called in its stack. */
void stack_tree_add(struct stack_tree *tree, const struct trace_span *span, uint32_t group,
                    uint32_t what);
void stack_tree_free(struct stack_tree *tree);

#endif /* STACK_TREE_H */
