/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.c - failures that have no place in a file, and sizes of public structs.
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

/* ---- sizes of structs ------------------------------------------------------------------------ */

static bool is_zero(const unsigned char *bytes, size_t count)
{
    while (count > 0 && bytes[count - 1] == 0)
        count--;
    return count == 0;
}

enum rbwp_status sized_copy(void *own, size_t own_bytes, const void *given, size_t given_bytes,
                            const char *what, struct rbwp_error *error)
{
    size_t known = given_bytes < own_bytes ? given_bytes : own_bytes;
    if (!is_zero((const unsigned char *)given + known, given_bytes - known))
        return failure(error, RBWP_E_UNSUPPORTED, 0,
                       "struct %s has size %zu: it asks for what librbwp " RBWP_VERSION_STRING
                       " does not know; leave the new fields 0 or use a later library",
                       what, given_bytes);
    memset(own, 0, own_bytes);
    memcpy(own, given, known);
    return RBWP_OK;
}

enum rbwp_status sized_take(void *own, size_t own_bytes, const void *given, const char *what,
                            struct rbwp_error *error)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > SIZED_BYTES_MAX)
        return failure(error, RBWP_E_INVALID, 0, "struct %s has size %zu: set it to its sizeof",
                       what, size);
    return sized_copy(own, own_bytes, given, size, what, error);
}

void sized_give(void *given, size_t given_bytes, const void *own, size_t own_bytes)
{
    size_t known = given_bytes < own_bytes ? given_bytes : own_bytes;
    memcpy(given, own, known);
    memset((unsigned char *)given + known, 0, given_bytes - known);
}
