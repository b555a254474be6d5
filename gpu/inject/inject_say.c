/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_say.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *inject_without_cupti = "kernels are not recorded";

static void say(const char *before, const char *format, va_list list)
{
    char line[512];
    size_t used = (size_t)snprintf(line, sizeof line / 2, "rbwp: %s", before);
    vsnprintf(line + used, sizeof line - used - 1, format, list);
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?';
    used = strlen(line);
    line[used] = '\n';
    if (write(STDERR_FILENO, line, used + 1) < 0)
        return; /* nobody to tell */
}

static bool is_first(void)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    return !atomic_flag_test_and_set(&said);
}

void inject_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (is_first())
        say("", format, list);
    va_end(list);
}

void inject_say_too(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("", format, list);
    va_end(list);
}

void inject_say_no_cupti(const char *format, ...)
{
    char before[128];
    va_list list;
    snprintf(before, sizeof before, "%s: ", inject_without_cupti);
    va_start(list, format);
    if (is_first())
        say(before, format, list);
    va_end(list);
}
