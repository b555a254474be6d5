/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_export.h - the rows of one of a file's own tables as CSV, TSV or NDJSON.
 */
#ifndef TABLE_EXPORT_H
#define TABLE_EXPORT_H

#include "cell_value.h"
#include "filter.h"
#include "input.h"

/* filter: of rows; what a table has no column for cannot be asked of it. */
struct table_export {
    const char *table; /* name or number */
    enum cell_form form;
    uint64_t limit; /* rows at most; 0 all */
    const struct filter_options *filter;
    uint64_t *columns; /* which ones the first line written last tells of, 0 none: not told again */
};

/* EXIT_BAD_DATA with the message given if the file has no such table, the filter asks what the
 * table cannot tell, or there is no memory. *broken_out: blocks left out. */
enum exit_code table_export(struct out *out, struct input *input, const struct table_export *wanted,
                            uint64_t *broken_out);

#endif /* TABLE_EXPORT_H */
