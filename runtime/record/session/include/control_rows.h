/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_rows.h - what was changed while recording, for the file: rows of the table "control"
 * (SPEC.md, section 9.3).
 */
#ifndef CONTROL_ROWS_H
#define CONTROL_ROWS_H

#include <stdint.h>

/* A row, if a session runs. value: of a level its number, of a duration its nanoseconds. */
void control_note(const char *what, unsigned slot, const char *slot_name, uint64_t value);

/* Items of the slot that the limits kept out since the session began, or, without one, the last
 * did. Takes the registry's lock. */
uint64_t control_left_out(unsigned slot);

/* A session begins: counts begin here. When it records, rows for the limits that slots have; when
 * it ends, while it still does, one for each slot that items were left out of. */
void control_count_from_now(void);
void control_note_limits(void);
void control_note_left_out(void);

#endif /* CONTROL_ROWS_H */
