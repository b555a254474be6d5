/* SPDX-License-Identifier: Apache-2.0 */
/* text_name.h - names from files in text for people: no byte of them moves a cursor. */
#ifndef TEXT_NAME_H
#define TEXT_NAME_H

#include "out.h"

void text_name(struct out *out, const char *text, size_t count);

#endif /* TEXT_NAME_H */
