/* SPDX-License-Identifier: Apache-2.0 */
/* why_stack.h - the code that a cause's slow calls were in: of the stacks that looks at them found.
 */
#ifndef WHY_STACK_H
#define WHY_STACK_H

#include "why_split.h"

enum { WHY_FRAMES = 256 };

/* What the program called, the innermost first: without librbwp's frames, without libc's around
 * main or a thread's function and inside of what was called, and each function that calls itself
 * once. C++ names have no argument lists. How many. */
uint32_t why_stack_cut(const struct trace_stack *stack, struct trace_frame kept[WHY_FRAMES]);
void why_stack_take(struct why_calls *calls, const struct trace_stack *stack, uint32_t thread);
void why_stack_finish(struct why_calls *calls);

/* Frames with ; between, the outermost first, and for how long. */
struct why_path {
    struct trace_text frames;
    uint64_t ns;
    struct trace_text left, frame; /* while it is looked through; left: all of them at first */
};
/* From the outermost frame on as long as one has more than half of all time; empty: none has. Uses
 * up the paths. */
struct trace_text why_hot_path(struct why_path *paths, uint32_t count);
/* That of the cause's calls, by looks that fit the cause; or of this thread while they lasted.
 * False without memory. */
bool why_stack_of(const struct why_calls *calls, const struct why_split *split,
                  const struct why_cause *cause, uint32_t thread, struct trace_text *hot_out);

#endif /* WHY_STACK_H */
