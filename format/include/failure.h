/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.h - fills a struct rbwp_error for failures that have no place in a file.
 */
#ifndef FAILURE_H
#define FAILURE_H

#include "rbwp_format.h"

/*
 * Fills *error, if there is one, with a line of text (cut if too long) and returns status, so that
 * a caller can end with "return failure(...)". os_errno is 0 or the failed call's errno, whose
 * meaning is then added to the text.
 */
enum rbwp_status failure(struct rbwp_error *error, enum rbwp_status status, int os_errno,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif /* FAILURE_H */
