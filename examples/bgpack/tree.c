/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - walk a directory tree, a bounded step at a time, in a stable order.
 *
 * One frame per directory on the way down holds the names in it, sorted once
 * all are read. Everything is opened by its path from the root, so no more
 * than two descriptors are open however deep the tree is.
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_PER_STEP = 64 };

struct frame {
    struct frame *above;
    char *path;
    DIR *dir; /* while its names are being read */
    char **names;
    size_t count, room, next;
};

struct tree {
    int root;
    struct frame *frame; /* innermost; NULL before the root and at the end */
    char *path;          /* of the last entry */
    bool enter, begun;
};

struct tree *tree_open(const char *root)
{
    const int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct tree *tree = calloc(1, sizeof *tree);
    if (!tree) {
        close(fd);
        return NULL;
    }
    tree->root = fd;
    return tree;
}

static void frame_pop(struct tree *tree)
{
    struct frame *frame = tree->frame;
    tree->frame = frame->above;
    for (size_t i = 0; i < frame->count; i++)
        free(frame->names[i]);
    free(frame->names);
    free(frame->path);
    if (frame->dir)
        closedir(frame->dir);
    free(frame);
}

void tree_close(struct tree *tree)
{
    if (!tree)
        return;
    while (tree->frame)
        frame_pop(tree);
    free(tree->path);
    close(tree->root);
    free(tree);
}

int tree_root(const struct tree *tree)
{
    return tree->root;
}

void tree_enter(struct tree *tree)
{
    tree->enter = true;
}

static enum tree_answer enter_last(struct tree *tree, const char **path_out)
{
    *path_out = tree->path;
    const int fd = openat(tree->root, tree->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return TREE_SKIP;
    struct frame *frame = calloc(1, sizeof *frame);
    DIR *dir = fdopendir(fd);
    if (!frame || !dir) {
        free(frame);
        dir ? (void)closedir(dir) : (void)close(fd);
        return TREE_MEMORY;
    }
    frame->dir = dir;
    frame->path = tree->path;
    tree->path = NULL;
    frame->above = tree->frame;
    tree->frame = frame;
    return TREE_BUSY;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool frame_add(struct frame *frame, const char *name)
{
    if (frame->count == frame->room) {
        const size_t room = frame->room ? 2 * frame->room : 64;
        char **names = realloc(frame->names, room * sizeof *names);
        if (!names)
            return false;
        frame->names = names;
        frame->room = room;
    }
    frame->names[frame->count] = strdup(name);
    return frame->names[frame->count++] != NULL;
}

static enum tree_answer read_names(struct frame *frame, const char **path_out)
{
    for (unsigned i = 0; i < NAMES_PER_STEP; i++) {
        errno = 0;
        const struct dirent *entry = readdir(frame->dir);
        if (!entry) {
            const int reason = errno;
            closedir(frame->dir);
            frame->dir = NULL;
            if (frame->count > 1)
                qsort(frame->names, frame->count, sizeof *frame->names, by_name);
            *path_out = frame->path;
            errno = reason;
            return reason ? TREE_SKIP : TREE_BUSY;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!frame_add(frame, entry->d_name))
            return TREE_MEMORY;
    }
    return TREE_BUSY;
}

enum tree_answer tree_next(struct tree *tree, const char **path_out)
{
    if (tree->enter) {
        tree->enter = false;
        return enter_last(tree, path_out);
    }
    free(tree->path);
    tree->path = NULL;
    if (!tree->begun) {
        tree->begun = true;
        tree->path = strdup(".");
        *path_out = tree->path;
        return tree->path ? TREE_ENTRY : TREE_MEMORY;
    }
    struct frame *frame = tree->frame;
    if (!frame)
        return TREE_END;
    if (frame->dir)
        return read_names(frame, path_out);
    if (frame->next == frame->count) {
        frame_pop(tree);
        return TREE_BUSY;
    }
    if (asprintf(&tree->path, "%s/%s", frame->path, frame->names[frame->next++]) < 0) {
        tree->path = NULL;
        return TREE_MEMORY;
    }
    *path_out = tree->path;
    return TREE_ENTRY;
}
