/* SPDX-License-Identifier: Apache-2.0 */
/* breath.h - what long work does between its steps, some ten microseconds apart: who has it done
 * may let others run there. */
#ifndef BREATH_H
#define BREATH_H

struct breath {
    void (*take)(struct breath *breath);
};

/* NULL: nothing. */
static inline void breath_take(struct breath *breath)
{
    if (breath)
        breath->take(breath);
}

#endif /* BREATH_H */
