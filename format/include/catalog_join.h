/* SPDX-License-Identifier: Apache-2.0 */
/* catalog_join.h - one catalog for the files of one recording, which are read one after the other.
 */
#ifndef CATALOG_JOIN_H
#define CATALOG_JOIN_H

#include "rbwp_table.h"

/* What is taken next is of another file. Its schemas and names come again as they were; names that
 * are others break R47. Its rows are numbered by themselves. */
void catalog_next_file(struct rbwp_catalog *catalog);

/* Leaves of the rows that were taken last those from from_ns on and before until_ns: by the latest
 * of a row's times. Rows of tables without times are all left. */
void catalog_keep_rows(struct rbwp_catalog *catalog, struct rbwp_rows *rows, int64_t from_ns,
                       int64_t until_ns);

/* The highest number of a name so far. */
uint64_t catalog_last_name(const struct rbwp_catalog *catalog);

/* ---- table catalog --------------------------------------------------------------------------- */
/* What a catalog knows beyond rbwp_table.h, for who adds to its file. */

/* The highest number of a row so far, of the index-th table. */
uint64_t catalog_last_row(const struct rbwp_catalog *catalog, uint32_t index);

#endif /* CATALOG_JOIN_H */
