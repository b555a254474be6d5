/* SPDX-License-Identifier: Apache-2.0 */
/* text_name.h - names from files in text for people: no byte of them moves a cursor. */
#ifndef TEXT_NAME_H
#define TEXT_NAME_H

#include "out.h"

void text_name(struct out *out, const char *text, size_t count);
/* The same in at most columns (2 to TEXT_COLUMNS_MAX) characters: what does not fit ends in "..".
 * Returns how many it were. */
unsigned text_name_fit(struct out *out, const char *text, size_t count, unsigned columns);
/* Likewise, with blanks behind it up to so many. */
void text_name_column(struct out *out, const char *text, size_t count, unsigned columns);
#define TEXT_COLUMNS_MAX 1000u

#endif /* TEXT_NAME_H */
