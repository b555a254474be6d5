/* SPDX-License-Identifier: Apache-2.0 */
/* json_check.h - is what a tool wrote fit for others to read? */
#ifndef JSON_CHECK_H
#define JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* True when the file is a sequence of valid JSON values (lines of them, or one). */
bool json_file_is_valid(int fd);

/* True when the text is UTF-8 without control characters. */
bool text_is_visible(const char *text, size_t count);

/* True when the file is such text in lines. */
bool text_file_is_visible(int fd);

#endif /* JSON_CHECK_H */
