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

#include "command.h"

/* "rbwp-dump" or "rbwp dump": stands before messages and in hints. Kept, not copied. */
void message_set_program(const char *program);
const char *message_program(void);

/* "PROGRAM: text". */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same where a function ends without success: false, or EXIT_BAD_DATA. */
bool message_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
enum exit_code message_bad_data(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same unless *failed, which is true then; false. */
bool message_once(bool *failed, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "PROGRAM: NAME: COUNT what", unless that is 0; whether it is. */
bool message_count(const char *name, uint64_t count, const char *what);
/* "text" alone, for reports that begin with the input's name. */
void message_plain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "PROGRAM: text (see 'PROGRAM --help')". EXIT_USAGE. */
enum exit_code message_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Lines that wait: of work on several threads they come in its order. Zero is none. */
struct message_held {
    char *text;
    size_t bytes, room;
};
/* From now on this thread's lines go there; NULL: to the user again. Without memory they are lost.
 */
void message_hold(struct message_held *held);
bool message_is_held(void);
/* Memory ran out in a pass that failed: a line says so, or got none itself. */
bool message_held_no_memory(const struct message_held *held);
/* Writes them, and frees what held has. */
void message_tell(struct message_held *held);

#endif /* MESSAGE_H */
