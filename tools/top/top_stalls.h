/* SPDX-License-Identifier: Apache-2.0 */
/* top_stalls.h - the one line that says who waits for whom. */
#ifndef TOP_STALLS_H
#define TOP_STALLS_H

#include "stalls.h"

/* Behind a pass over a window of the file, with what it saw, finished: the worst wait that is open,
 * as text that the caller frees; NULL: there is none. Looks from before the window lead to a pass
 * from them on. */
char *top_stalls_worst(const struct stalls *seen, const char *file);

#endif /* TOP_STALLS_H */
