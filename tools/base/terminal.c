/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"
#include "message.h"
#include "progress.h"
#include "read_clock.h"
#include "terminal_text.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- the progress line ----------------------------------------------------------------------- */

#define FIRST_NS 1000000000
#define NEXT_NS 100000000

static struct {
    bool allowed;
    atomic_bool shown; /* whoever writes takes it away, on any thread */
    int64_t next_ns;   /* not before */
} progress;

static void progress_put(const char *text, size_t count)
{
    ssize_t ignored = write(STDERR_FILENO, text, count);
    (void)ignored; /* nobody is there to read it */
}

void progress_allow(const struct terminal_options *options)
{
    progress.allowed = !options->no_progress && isatty(STDERR_FILENO);
    progress.next_ns = read_clock_ns(CLOCK_MONOTONIC) + FIRST_NS;
}

void progress_at(const char *name, uint64_t done, uint64_t all)
{
    char shown[80], line[160];
    if (message_is_held() || !progress.allowed)
        return;
    int64_t now = read_clock_ns(CLOCK_MONOTONIC);
    if (now < progress.next_ns)
        return;
    progress.next_ns = now + NEXT_NS;
    atomic_store(&progress.shown, true);
    size_t bytes = terminal_text(name, strlen(name), shown, sizeof shown);
    int count = all ? snprintf(line, sizeof line, "\r\033[K%.*s: %" PRIu64 " %%", (int)bytes, shown,
                               (uint64_t)((double)done / (double)all * 100))
                    : snprintf(line, sizeof line, "\r\033[K%.*s: %" PRIu64 " MB", (int)bytes, shown,
                               done / 1000000);
    progress_put(line, (size_t)count);
}

void progress_clear(void)
{
    static const char clear[] = "\r\033[K";
    if (atomic_exchange(&progress.shown, false))
        progress_put(clear, sizeof clear - 1);
}

/* ---- terminals ------------------------------------------------------------------------------- */
/* Colours, width, encoding. */

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
