/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background.h - the thread that looks at MPI while no worker does.
 *
 * MPI has nothing to wait on, so somebody has to look. A worker does while messages come; when the
 * work item sleeps, this thread looks from time to time, the more seldom the longer nothing has
 * come, and what it finds wakes the item. It also compares clocks and watches the nodes.
 */
#ifndef BACKGROUND_H
#define BACKGROUND_H

#include "rbwp_format.h"

struct rbwp_mpi;

enum rbwp_status background_start(struct rbwp_mpi *mpi, struct rbwp_error *error);
void background_stop(struct rbwp_mpi *mpi);

#endif /* BACKGROUND_H */
