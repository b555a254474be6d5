/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_lines.h - a kernel's lines as blocks of one source place each: the compatible division.
 *
 * A .loc ends a block and begins one of its place; a label of the form $L__BB<f>_<n> and each
 * branch is a block of one line. So a label that a .loc follows has the place from before it.
 * Other labels (those of debug sections, those in braces) do not divide.
 */
#ifndef PTX_LINES_H
#define PTX_LINES_H

#include "ptx.h"

struct ptx_line_block {
    uint32_t entry, exit; /* lines, from 1 */
    uint32_t file;
    int64_t loc; /* the source line, -1 before the first .loc */
    bool is_start, is_end;
    bool is_sync;                /* waits for an mbarrier in a loop through labels */
    uint32_t mma, mma_count;     /* lines that are an mma: part of the list of all */
    uint32_t empty, empty_count; /* lines without anything but a comment */
};

struct ptx_numbers {
    uint32_t *lines;
    uint32_t count, room;
};

struct ptx_lines {
    struct ptx_line_block *blocks;
    uint32_t count, room;
    struct ptx_numbers mma, empty;
};

/* False without memory; ptx_lines_free only after true. */
bool ptx_lines(struct ptx_lines *lines, const struct ptx_module *module,
               const struct ptx_function *function);
void ptx_lines_free(struct ptx_lines *lines);

/* Statements that begin in these lines of the module: the first at or behind the line, and the last
 * at or before it. PTX_NONE where there is none. */
uint32_t ptx_line_first(const struct ptx_module *module, uint32_t line);
uint32_t ptx_line_last(const struct ptx_module *module, uint32_t line);

#endif /* PTX_LINES_H */
