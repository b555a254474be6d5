/* SPDX-License-Identifier: Apache-2.0 */
/* schemas.h - JSON Schema of what commands print with --json. */
#ifndef SCHEMAS_H
#define SCHEMAS_H

#include "out.h"

/* name: check, critical-path, diff, events, lanes, repair, stats; false: it is none of them. */
bool schema_write(struct out *out, const char *name);

#endif /* SCHEMAS_H */
