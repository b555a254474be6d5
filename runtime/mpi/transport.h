/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - the endpoint's side: rbwp_transport.h by MPI. */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

struct rbwp_mpi;

/* An endpoint's packet has come. False: it has no room now. mpi->polling is held. */
bool transport_take(struct rbwp_mpi *mpi, uint32_t from, const void *packet, uint32_t bytes);

#endif /* TRANSPORT_H */
