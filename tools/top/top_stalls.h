/* SPDX-License-Identifier: Apache-2.0 */
/* top_stalls.h - the lines that say who waits for whom, and why calls were slow. */
#ifndef TOP_STALLS_H
#define TOP_STALLS_H

#include "stalls.h"

/* Behind a pass over a window of the file, with what it saw, finished: the worst wait that is open,
 * as text that the caller frees; NULL: there is none. Looks from before the window lead to a pass
 * from them on. */
char *top_stalls_worst(const struct stalls *seen, const char *file);

/* Why calls of that time were slow: the first cause of `rbwp why`, likewise. */
char *top_why(const char *file, int64_t from_ns, int64_t to_ns);

#endif /* TOP_STALLS_H */
