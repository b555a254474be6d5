/* SPDX-License-Identifier: Apache-2.0 */
/* Built without libdw. Which words are return addresses nobody can say: the instruction pointer is
 * the one frame. */
#include "code_map.h"

#include <stdlib.h>

struct unwind {
    struct code_map map;
    struct unwound_frame frame;
};

struct unwind *unwind_new(const struct code_file *files, uint32_t count, int64_t time_ns)
{
    struct unwind *unwind = calloc(1, sizeof *unwind);
    (void)time_ns;
    if (unwind && !code_map_make(&unwind->map, files, count)) {
        unwind_free(unwind);
        return NULL;
    }
    return unwind;
}

struct unwound unwind_stack(struct unwind *unwind, const struct stack_word *words, uint32_t count)
{
    const struct stack_word *at = stack_word_at(words, count, PLACE_INSTRUCTION);
    if (!at)
        return (struct unwound){0};
    unwind->frame = code_map_frame(&unwind->map, at->word);
    return (struct unwound){&unwind->frame, 1, false};
}

size_t unwind_object(struct unwind *unwind, uint64_t address, char *text, size_t bytes)
{
    (void)unwind;
    (void)address;
    (void)text;
    (void)bytes;
    return 0;
}

void unwind_free(struct unwind *unwind)
{
    if (unwind)
        code_map_free(&unwind->map);
    free(unwind);
}

char *unwind_function(const struct code_file *file, uint64_t address, int64_t time_ns)
{
    (void)file;
    (void)address;
    (void)time_ns;
    return NULL;
}
