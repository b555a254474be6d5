/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages. A line that is too long is cut: the text comes from our own
 * formats and from names, and 2 KiB of it tell enough.
 */
#include "message.h"
#include "grow.h"
#include "progress.h"
#include "terminal_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program_name = "rbwp";

void message_set_program(const char *program)
{
    program_name = program;
}
const char *message_program(void)
{
    return program_name;
}

static _Thread_local struct message_held *held_here;

void message_hold(struct message_held *held)
{
    held_here = held;
}

bool message_is_held(void)
{
    return held_here != NULL;
}

static void write_bytes(const char *bytes, size_t count)
{
    progress_clear();
    /* Where standard error is gone there is nobody left to read it. */
    ssize_t ignored = write(STDERR_FILENO, bytes, count);
    (void)ignored;
}

void message_tell(struct message_held *held)
{
    if (held->bytes)
        write_bytes(held->text, held->bytes);
    free(held->text);
    *held = (struct message_held){0};
}

static void write_line(const char *text)
{
    char line[4 * 2048 + 1];
    size_t count = terminal_text(text, strlen(text), line, sizeof line - 1);
    line[count++] = '\n';
    if (!held_here) {
        write_bytes(line, count);
    } else if (grow_array(&held_here->text, &held_here->room, held_here->bytes + count, 1)) {
        memcpy(held_here->text + held_here->bytes, line, count);
        held_here->bytes += count;
    }
}

void message(const char *format, ...)
{
    char text[2048];
    int prefix = snprintf(text, sizeof text, "%s: ", program_name);
    va_list arguments;
    va_start(arguments, format);
    if (prefix > 0 && (size_t)prefix < sizeof text)
        vsnprintf(text + prefix, sizeof text - (size_t)prefix, format, arguments);
    va_end(arguments);
    write_line(text);
}

bool message_count(const char *name, uint64_t count, const char *what)
{
    if (count)
        message("%s: %" PRIu64 " %s", name, count, what);
    return count == 0;
}

void message_plain(const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    write_line(text);
}

void message_usage(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    message("%s (see '%s --help')", text, program_name);
}
