/* SPDX-License-Identifier: Apache-2.0 */
/*
 * importers.h - the files that are read here, listed once: RBWP's, and those of other profilers, a
 * room each with one struct trace_format. A file is tried as each of them, in this order.
 */
#ifndef IMPORTERS_H
#define IMPORTERS_H

#include "trace_source.h"

#define IMPORTERS(IMPORTER) IMPORTER(rbwp) IMPORTER(legion) IMPORTER(chrome) IMPORTER(perfetto)

#define IMPORTER_DECLARE(name) extern const struct trace_format trace_format_##name;
IMPORTERS(IMPORTER_DECLARE)

#endif /* IMPORTERS_H */
