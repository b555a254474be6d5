/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visible.h - any bytes as text that is safe on a terminal.
 *
 * Valid UTF-8 stays as it is; control characters (C0, DEL, C1) and bytes that
 * are not UTF-8 become \xNN, a backslash becomes \\. One to one, so two names
 * that differ never look the same.
 */
#ifndef VISIBLE_H
#define VISIBLE_H

#include <stddef.h>

#define VISIBLE_BYTES_MAX 8 /* most that one character can become: C1 controls, \xC2\x9B */

/* Writes at most room bytes, whole characters only, no terminator. Returns how many. */
size_t visible_text(const char *text, size_t count, char *out, size_t room);

#endif /* VISIBLE_H */
