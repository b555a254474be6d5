/* SPDX-License-Identifier: Apache-2.0 */
/* reader_error.c - see reader_error.h. Texts are one line: what, where, and the broken rule. */
#include "reader_error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void reader_error_append(struct rbwp_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void reader_error_append(struct rbwp_error *error, const char *format, ...)
{
    size_t used = strlen(error->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + used, sizeof(error->text) - used, format, arguments);
    va_end(arguments);
}

enum rbwp_status error_set(struct rbwp_error *error, enum rbwp_status status, struct place place,
                           const char *format, ...)
{
    if (!error)
        return status;
    *error = (struct rbwp_error){.status = status,
                                 .offset = place.offset,
                                 .section = place.section,
                                 .rule = (unsigned)place.rule};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    if (place.offset != NOWHERE)
        reader_error_append(error, ", at file offset %" PRIu64, place.offset);
    if (place.rule)
        reader_error_append(error, " (SPEC.md R%u)", (unsigned)place.rule);
    return status;
}

enum rbwp_status error_set_os(struct rbwp_error *error, const char *section, const char *operation)
{
    int os_errno = errno; /* %m: strerror_r has two forms, and which one depends on the libc */
    error_set(error, RBWP_E_IO, (struct place){section, NOWHERE, 0}, "cannot %s: %m", operation);
    if (error)
        error->os_errno = os_errno;
    return RBWP_E_IO;
}

enum rbwp_status error_set_memory(struct rbwp_error *error, const char *section)
{
    return error_set(error, RBWP_E_MEMORY, (struct place){section, NOWHERE, 0}, "out of memory");
}
