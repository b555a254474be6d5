/* SPDX-License-Identifier: Apache-2.0 */
/* schemas.h - JSON Schema of what commands print with --json. */
#ifndef SCHEMAS_H
#define SCHEMAS_H

#include "out.h"

/* name: the command's, or critical-path; false: there is none. */
bool schema_write(struct out *out, const char *name);

#endif /* SCHEMAS_H */
