/* SPDX-License-Identifier: Apache-2.0 */
/* table_catalog.h - what a catalog knows beyond rbwp_table.h, for who adds to its file. */
#ifndef TABLE_CATALOG_H
#define TABLE_CATALOG_H

#include "rbwp_table.h"

/* The highest number of a row so far, of the index-th table; and of a name. */
uint64_t catalog_last_row(const struct rbwp_catalog *catalog, uint32_t index);
uint64_t catalog_last_name(const struct rbwp_catalog *catalog);

#endif /* TABLE_CATALOG_H */
