/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_words.h - what PyTorch's profiler (Kineto) calls things in its Chrome JSON: shared by who
 * writes such files and who reads them.
 *
 * Files of ours say of each event what of it was made for such readers alone: "made" in its args'
 * "rbwp" is a bit for each of the keys below, and an event with "shadow" there is none of the
 * trace.
 */
#ifndef KINETO_WORDS_H
#define KINETO_WORDS_H

#include "trace_text.h"

enum kineto_made {
    KINETO_EXTERNAL_ID,
    KINETO_DEVICE,
    KINETO_STREAM,
    KINETO_CORRELATION,
    KINETO_FINISHED,
    KINETO_MADE_KEYS
};
extern const char *const kineto_made_key[KINETO_MADE_KEYS];

/* An instant without time or place: where what was recorded ends. */
#define KINETO_WINDOW_END "Record Window End"

/* One of its categories, as "kernel" and "cpu_op". */
bool kineto_is_category(struct trace_text category);
/* Which of ours it is: an enum trace_category. */
uint8_t kineto_category(struct trace_text category);

#endif /* KINETO_WORDS_H */
