/* SPDX-License-Identifier: Apache-2.0 */
/* critical_report.h - the critical path through messages (critical_path.h) of files, as a table or
 * as JSON. */
#ifndef CRITICAL_REPORT_H
#define CRITICAL_REPORT_H

#include "result_table.h"
#include "stats_report.h"

/* The document. Of a path that is there it has all. */
extern const struct result_column critical_columns[];

/* Of options: reading, json and top, which is the number of lines. */
enum exit_code critical_report(const struct stats_report_options *options, struct operands files);

#endif /* CRITICAL_REPORT_H */
