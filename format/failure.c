/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.c - fills a struct rbwp_error for failures that have no place in a file.
 *
 * Texts quote what users wrote, which may hold any bytes, and drivers' own words, which may have
 * several lines: control characters are shown as '?', ends of lines as ' ', so that a text is
 * always one line.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"

static void make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = *text == '\n' || *text == '\r' ? ' ' : '?';
}

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
    make_one_line(error->text);
    if (os_errno != 0) {
        size_t used = strlen(error->text);
        errno = os_errno; /* for %m: strerror_r has two forms, and which one depends on the libc */
        snprintf(error->text + used, sizeof error->text - used, ": %m");
    }
    return status;
}
