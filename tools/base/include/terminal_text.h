/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_text.h - any bytes as text that is safe on a terminal.
 *
 * Valid UTF-8 stays as it is; characters that are obeyed instead of shown
 * (utf8.h) and bytes that are not UTF-8 become \xNN for each byte, a backslash
 * becomes \\. One to one, so two names that differ never look the same.
 */
#ifndef TERMINAL_TEXT_H
#define TERMINAL_TEXT_H

#include <stddef.h>

#define TERMINAL_TEXT_BYTES_MAX 12 /* most that one character can become: \xe2\x80\xae */

/* Writes at most room bytes, whole characters only, no terminator. Returns how many. */
size_t terminal_text(const char *text, size_t count, char *out, size_t room);
/* The same of a long text, piece by piece: *text and *count become what is left. room is at least
 * TERMINAL_TEXT_BYTES_MAX. */
size_t terminal_text_piece(const char **text, size_t *count, char *out, size_t room);

#endif /* TERMINAL_TEXT_H */
