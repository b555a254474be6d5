/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_text.h - what is said of calls that the recorder refused: how many, why, and what to do. The
 * same words at the end of a session and in every view of its file.
 */
#ifndef LOSS_TEXT_H
#define LOSS_TEXT_H

#include "rbwp_format.h"

enum { LOSS_TEXT_BYTES = 160 };

/* True for causes that are misuse: what they count are calls, not records. */
static inline bool loss_is_refused(uint32_t cause)
{
    return cause >= RBWP_LOSS_NOT_ATTACHED && cause <= RBWP_LOSS_KEPT_EMPTY;
}
/* The cause with that name among those; 0: none has it. */
uint32_t loss_refused_cause(const char *name, size_t bytes);
/* "20 calls not recorded: the thread was not attached; ..." Returns text. */
const char *loss_refused_text(char text[LOSS_TEXT_BYTES], uint32_t cause, uint64_t count);

#endif /* LOSS_TEXT_H */
