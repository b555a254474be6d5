/* SPDX-License-Identifier: Apache-2.0 */
/* inject_ptx.h - launches of kernels with probes: which are recorded, and what is said of the
 * others. */
#ifndef INJECT_PTX_H
#define INJECT_PTX_H

#include "inject_sites.h"

/* False with the line said: RBWP_PTX_DIR is no folder. */
bool inject_ptx_open(const char *folder);
/* Around each launch, on its thread. */
void inject_ptx_enter(const struct inject_launch *launch);
void inject_ptx_exit(int result);
/* For programs that load us themselves: from now on so many launches of each kernel, whatever was
 * recorded before. */
void rbwp_inject_ptx_again(unsigned launches);
/* At the end of the process: how many launches were not recorded. */
void inject_ptx_close(void);

#endif /* INJECT_PTX_H */
