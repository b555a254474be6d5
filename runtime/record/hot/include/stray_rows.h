/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stray_rows.h - rows that a thread of ours writes, which is not attached and waits for nobody.
 */
#ifndef STRAY_ROWS_H
#define STRAY_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* Before the first row of these tables, while none is written; allocates. False without memory. */
bool stray_rows_prepare(const unsigned *tables, unsigned count);

/* Between both, rows of those tables and losses. False: others write theirs just now, or nothing is
 * recorded. */
bool stray_rows_begin(void);
void stray_rows_end(void);

/* What finds no room is counted as lost. */
void stray_rows_add(unsigned table, const uint64_t *cells);
void stray_rows_lose(uint64_t count);

#endif /* STRAY_ROWS_H */
