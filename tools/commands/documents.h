/* SPDX-License-Identifier: Apache-2.0 */
/* documents.h - what --json of commands prints, by its columns. */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include "result_table.h"

extern const struct result_column check_columns[], repair_columns[];

#endif /* DOCUMENTS_H */
