/* SPDX-License-Identifier: Apache-2.0 */
/* code_map.h - which file was mapped where, for any kind of unwinding. */
#ifndef CODE_MAP_H
#define CODE_MAP_H

#include "unwind.h"

enum { CODE_FILES_MAX = 4096 };

struct code_range {
    uint64_t start, end, offset;
    char *path;           /* "": none */
    const char *build_id; /* behind it; "": none */
    bool unsure;          /* another file was mapped there at some time */
};

struct code_map {
    struct code_range *ranges; /* ascending, disjoint but for those that are unsure */
    uint32_t count;
};

/* False without memory. */
bool code_map_make(struct code_map *map, const struct code_file *files, uint32_t count);
void code_map_free(struct code_map *map);
/* NULL: none, or that is not known for sure. */
const struct code_range *code_map_find(const struct code_map *map, uint64_t address);
/* What is known of a frame without its file. */
struct unwound_frame code_map_frame(const struct code_map *map, uint64_t address);
/* NULL: it is not there. */
const struct stack_word *stack_word_at(const struct stack_word *words, uint32_t count,
                                       uint64_t place);

#endif /* CODE_MAP_H */
