/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_hooks.h - the driver's calls as a program finds them, where CUPTI does not report them.
 *
 * A library that is preloaded stands before the driver, whichever way a program looks for its
 * functions: by linking with it, by dlsym, by cuGetProcAddress (as the CUDA runtime does). Each
 * function that is looked for here stands in for the driver's, which it calls; unless events are
 * asked for, nothing more.
 */
#ifndef INJECT_HOOKS_H
#define INJECT_HOOKS_H

#include <stdbool.h>

/* What the program's dlsym would be without us: for our own use of the driver. */
void *inject_find(void *library, const char *symbol);

/* Whether the calls of this program come by here: the library is preloaded, or one of its functions
 * was handed out. */
bool inject_hooks_stand(void);

/* RBWP_INJECT_EVENTS: 0 never, 1 whether CUPTI is there or not; without, where it is not. */
enum inject_events_wish { EVENTS_NEVER, EVENTS_WITHOUT_CUPTI, EVENTS_ALWAYS };
enum inject_events_wish inject_events_wish(void);

#endif /* INJECT_HOOKS_H */
