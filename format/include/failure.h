/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.h - what public calls begin and end with: the sizes of their structs, and a struct
 * rbwp_error for failures that have no place in a file.
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

/* ---- sizes of structs ------------------------------------------------------------------------ */

/*
 * Structs of public calls that may grow: the one rule for their size (docs/design/abi.md).
 *
 * A struct that a caller gives begins with its size, as the caller was compiled. What the library
 * knows and the caller does not is 0, which is every field's default; what the caller knows and the
 * library does not has to be 0. A struct that a call fills is filled as far as both know it, and
 * the rest of the caller's is 0.
 */

/* No struct is larger: a size beyond it was never set. */
#define SIZED_BYTES_MAX 65536u

/*
 * Copies a caller's struct into the library's own, of own_bytes; its size is the caller's then.
 * RBWP_OK; RBWP_E_INVALID: the size is not set; RBWP_E_UNSUPPORTED: the caller asks for something
 * that this version does not know. error may be NULL; what is the struct's name.
 */
RBWP_MUST_USE enum rbwp_status sized_take(void *own, size_t own_bytes, const void *given,
                                          const char *what, struct rbwp_error *error);

/* The same for a struct without a size of its own, which is given beside it. */
RBWP_MUST_USE enum rbwp_status sized_copy(void *own, size_t own_bytes, const void *given,
                                          size_t given_bytes, const char *what,
                                          struct rbwp_error *error);

/* Gives a caller that has given_bytes the library's own struct. */
void sized_give(void *given, size_t given_bytes, const void *own, size_t own_bytes);

#endif /* FAILURE_H */
