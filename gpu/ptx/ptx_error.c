/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: where and why, and the line with a caret. */
#include "ptx.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Counted from the text: the table of lines may not reach so far yet. */
static void ptx_error_place(struct ptx_error *error, const char *text, uint32_t at)
{
    uint32_t begin = 0;
    error->line = 1;
    for (uint32_t i = 0; i < at; i++)
        if (text[i] == '\n') {
            error->line++;
            begin = i + 1;
        }
    error->column = at - begin + 1;
}

bool ptx_fail(struct ptx_error *error, const struct ptx_module *module, uint32_t at,
              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    ptx_error_place(error, module->text, at);
    return false;
}

bool ptx_fail_plain(struct ptx_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    error->line = error->column = 0;
    return false;
}

void ptx_excerpt(const char *text, size_t bytes, const struct ptx_error *error,
                 char line[PTX_EXCERPT_BYTES], char caret[PTX_EXCERPT_BYTES])
{
    const char *at = text, *end = text + bytes;
    line[0] = caret[0] = '\0';
    if (error->line == 0)
        return;
    for (uint32_t i = 1; i < error->line; i++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        if (!next)
            return;
        at = next + 1;
    }
    const size_t width = PTX_EXCERPT_BYTES - 1;
    size_t column = error->column - 1, from = column > width / 2 ? column - width / 2 : 0;
    if (from >= (size_t)(end - at))
        from = 0;
    at += from;
    size_t used = 0;
    while (used < width && at + used < end && at[used] != '\n' && at[used] != '\r') {
        line[used] = at[used] == '\t' ? ' ' : at[used];
        used++;
    }
    line[used] = '\0';
    size_t before = column - from < width - 1 ? column - from : width - 1;
    memset(caret, ' ', before);
    memcpy(caret + before, "^", 2);
}
