/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_parts.h - a folder of files, one for each that is read, in place of one file of all.
 *
 * FOLDER/node=17/part.SUFFIX is of node 17; what reads data sets (DuckDB, Spark, pyarrow,
 * ClickHouse) makes a column of it, which the files themselves do not have. Of a node with several
 * files the further ones are part-1.SUFFIX and so on. All are on one axis, and ids are those of
 * each file alone.
 */
#ifndef EXPORT_PARTS_H
#define EXPORT_PARTS_H

#include "export.h"

/* Whether the output is a folder: it is one, or its name ends in a slash. */
bool export_parts_wanted(const struct out_options *output);

enum exit_code export_parts(const struct exporter *exporter, const struct export_options *options,
                            struct operands files);

#endif /* EXPORT_PARTS_H */
