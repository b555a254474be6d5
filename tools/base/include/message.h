/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h - one line to the user on standard error.
 *
 * Knows how the tool was called. Every line is written with one write, and
 * bytes that could move a terminal's cursor are made visible, so a hostile
 * file or file name cannot forge a line.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

/* "rbwp-dump" or "rbwp dump": stands before messages and in hints. Kept, not copied. */
void message_set_program(const char *program);
const char *message_program(void);

/* "PROGRAM: text". */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "text" alone, for reports that begin with the input's name. */
void message_plain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "PROGRAM: text (see 'PROGRAM --help')": a usage error. */
void message_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* MESSAGE_H */
