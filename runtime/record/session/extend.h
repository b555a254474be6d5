/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extend.h - the session's side of record_extend.h.
 */
#ifndef EXTEND_H
#define EXTEND_H

#include "record_extend.h"

/* Calls the hooks, outside all locks. */
void extend_tell(enum rbwp_extend_moment moment);

#endif /* EXTEND_H */
