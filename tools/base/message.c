/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages. A line that is too long is cut: the text comes from our own
 * formats and from names, and 2 KiB of it are enough.
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

bool message_held_no_memory(const struct message_held *held)
{
    return !held->bytes || memmem(held->text, held->bytes, "out of memory", 13) ||
           memmem(held->text, held->bytes, "be held in memory", 17);
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

static void write_message(const char *format, va_list arguments)
{
    char text[2048];
    int prefix = snprintf(text, sizeof text, "%s: ", program_name);
    if (prefix > 0 && (size_t)prefix < sizeof text)
        vsnprintf(text + prefix, sizeof text - (size_t)prefix, format, arguments);
    write_line(text);
}

void message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_message(format, arguments);
    va_end(arguments);
}

bool message_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_message(format, arguments);
    va_end(arguments);
    return false;
}

enum exit_code message_bad_data(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_message(format, arguments);
    va_end(arguments);
    return EXIT_BAD_DATA;
}

bool message_once(bool *failed, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!*failed)
        write_message(format, arguments);
    va_end(arguments);
    *failed = true;
    return false;
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

enum exit_code message_usage(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    message("%s (see '%s --help')", text, program_name);
    return EXIT_USAGE;
}
