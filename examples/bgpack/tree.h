/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - walk a directory tree, a bounded step at a time, in a stable order.
 */
#ifndef TREE_H
#define TREE_H

#include <stddef.h>

struct tree; /* opaque */

enum tree_answer {
    TREE_ENTRY,  /* *path_out is the next entry */
    TREE_BUSY,   /* a directory is being read: call again */
    TREE_SKIP,   /* *path_out could not be read; errno says why */
    TREE_END,    /* no more */
    TREE_MEMORY, /* no memory to go on */
};

/* NULL with errno if root is not a directory that can be opened. */
struct tree *tree_open(const char *root);
void tree_close(struct tree *tree);

/* The root's descriptor, for the at-calls. The tree's. */
int tree_root(const struct tree *tree);

/*
 * A directory comes before what is in it, and its entries come by the bytes of their names. Paths
 * begin with "./", the root itself is "."; they are valid until the next call. Whoever gets a
 * directory that should be entered says so with tree_enter before the next call.
 */
enum tree_answer tree_next(struct tree *tree, const char **path_out);
void tree_enter(struct tree *tree);

#endif /* TREE_H */
