/* SPDX-License-Identifier: Apache-2.0 */
/* table_catalog.h - what a catalog knows beyond rbwp_table.h, for who adds to its file. */
#ifndef TABLE_CATALOG_H
#define TABLE_CATALOG_H

#include "catalog_join.h"

/* The highest number of a row so far, of the index-th table. */
uint64_t catalog_last_row(const struct rbwp_catalog *catalog, uint32_t index);

#endif /* TABLE_CATALOG_H */
