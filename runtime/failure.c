/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.c - fills a struct rbwp_error for failures that have no place in a file.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"

enum rbwp_status failure(struct rbwp_error *error, enum rbwp_status status, int os_errno,
                         const char *format, ...)
{
    if (!error)
        return status;
    *error = (struct rbwp_error){
        .status = status, .offset = UINT64_MAX, .section = "", .os_errno = os_errno};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    if (os_errno != 0) {
        char meaning[80];
        size_t used = strlen(error->text);
        snprintf(error->text + used, sizeof error->text - used, ": %s",
                 strerror_r(os_errno, meaning, sizeof meaning));
    }
    return status;
}
