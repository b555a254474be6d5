/* SPDX-License-Identifier: Apache-2.0 */
/* partition_refuse.h - why a call of this room was refused. */
#ifndef PARTITION_REFUSE_H
#define PARTITION_REFUSE_H

#include "rbwp_format.h"

/* Fills error, which may be NULL, and returns status. */
enum rbwp_status partition_refuse(struct rbwp_error *error, enum rbwp_status status,
                                  const char *reason);

#endif /* PARTITION_REFUSE_H */
