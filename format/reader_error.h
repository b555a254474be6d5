/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_error.h - fill a struct rbwp_error: what happened, where, which rule.
 */
#ifndef READER_ERROR_H
#define READER_ERROR_H

#include "rules.h"

#define NOWHERE UINT64_MAX

/* Where in the file, in words and numbers. section is static text. */
struct place {
    const char *section;
    uint64_t offset;
    enum rule rule;
};

/*
 * Fills error (NULL is fine) with one line and returns status, so that a check is one statement.
 * The rule and the offset are put behind the text.
 */
enum rbwp_status error_set(struct rbwp_error *error, enum rbwp_status status, struct place place,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* RBWP_E_IO from errno, with the name of the operation. */
enum rbwp_status error_set_os(struct rbwp_error *error, const char *section, const char *operation);

enum rbwp_status error_set_memory(struct rbwp_error *error, const char *section);

#endif /* READER_ERROR_H */
