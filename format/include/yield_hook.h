/* SPDX-License-Identifier: Apache-2.0 */
/* yield_hook.h - called by long work between its steps, some ten microseconds apart: its
 * owner may let other threads run there. */
#ifndef YIELD_HOOK_H
#define YIELD_HOOK_H

struct yield_hook {
    void (*run)(struct yield_hook *yield_hook);
};

/* NULL: nothing. */
static inline void yield_hook_run(struct yield_hook *yield_hook)
{
    if (yield_hook)
        yield_hook->run(yield_hook);
}

#endif /* YIELD_HOOK_H */
