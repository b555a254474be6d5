/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_real.h - the ptxas that would have been called, had the stand-in not stood there. */
#ifndef PTX_REAL_H
#define PTX_REAL_H

#include <limits.h>
#include <stdbool.h>

/* By RBWP_PTXAS; else Triton's own, if a process with Triton called us; else that of PATH, else of
 * /usr/local/cuda. argv is what we were called with. */
bool ptx_real_find(char *const *argv, char found[PATH_MAX]);

#endif /* PTX_REAL_H */
