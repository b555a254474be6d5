/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals: colours, width, encoding. */
#include "terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 100, WIDTH_MIN = 40, WIDTH_MAX = 1000 };

#define NO_PROGRESS                                                                                \
    {                                                                                              \
        "no-progress", 0, NULL, NULL, "no progress on standard error",                             \
            offsetof(struct terminal_options, no_progress), NULL                                   \
    }

const struct option progress_option_table[] = {NO_PROGRESS, {0}};
const struct option terminal_option_table[] = {
    {"color", 0, "WHEN", "auto always never", "colours: auto (on a terminal), always, never",
     offsetof(struct terminal_options, color), NULL},
    NO_PROGRESS,
    {0},
};

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

static bool has_colors(const struct terminal_options *options, int fd)
{
    if (options->color != COLOR_AUTO)
        return options->color == COLOR_ALWAYS;
    return isatty(fd) && !*environment("NO_COLOR") && strcmp(environment("TERM"), "dumb") != 0;
}

struct colors terminal_colors(const struct terminal_options *options, int fd)
{
    if (!has_colors(options, fd))
        return (struct colors){"", "", "", "", false};
    return (struct colors){"\033[1m", "\033[2m", "\033[31m", "\033[0m", true};
}

unsigned terminal_width(int fd)
{
    struct winsize size;
    long columns = ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    if (columns == 0)
        columns = strtol(environment("COLUMNS"), NULL, 10);
    if (columns <= 0)
        return WIDTH_DEFAULT;
    return (unsigned)(columns < WIDTH_MIN ? WIDTH_MIN : columns > WIDTH_MAX ? WIDTH_MAX : columns);
}

bool terminal_is_utf8(void)
{
    const char *locale = environment("LC_ALL");
    if (!*locale)
        locale = environment("LC_CTYPE");
    if (!*locale)
        locale = environment("LANG");
    return strcasestr(locale, "UTF-8") || strcasestr(locale, "utf8");
}
