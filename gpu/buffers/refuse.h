/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refuse.h - why a buffer is not read, in words.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include "rbwp_format.h"

#include <stdarg.h>
#include <stdio.h>

/* Fills error (may be NULL) and returns status. */
__attribute__((format(printf, 3, 4))) static inline enum rbwp_status
refuse(struct rbwp_error *error, enum rbwp_status status, const char *format, ...)
{
    va_list arguments;
    if (!error)
        return status;
    *error = (struct rbwp_error){.status = status, .offset = UINT64_MAX, .section = ""};
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

#endif /* REFUSE_H */
